"""A classifier with the recipe that turns tables into its features, in one model file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .. import persistence
from .._gp.classifier import DirichletGPClassifier
from .._gp.core.arrays import AnyArray, Array
from .._gp.rows.tables.columns import Notify
from .._gp.rows.tables.recipe import Recipe
from ..persistence import ModelFileError

_MEMBER = "table.json"


@dataclass(frozen=True)
class TableModel:
    """What `dirichletgp fit` leaves behind.

    Attributes
    ----------
    classifier : DirichletGPClassifier
        Its classes are texts.
    stored_recipe : Recipe or None
        None for a model saved from Python, which knows nothing of tables.
    facts : dict
        Where the model comes from, and how it did on the rows held out.
    """

    classifier: DirichletGPClassifier
    stored_recipe: Recipe | None
    facts: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the model file."""
        described = {"recipe": self.recipe.as_json(), "facts": self.facts}
        persistence.save(self.classifier, path, {_MEMBER: json.dumps(described).encode()})

    @classmethod
    def load(cls, path: str | Path) -> "TableModel":
        """Read a model file."""
        classifier, extras = persistence.load_with_extras(path, DirichletGPClassifier)
        if _MEMBER not in extras:
            return cls(classifier, None)
        try:
            described = json.loads(extras[_MEMBER])
            recipe = Recipe.from_json(described["recipe"])
            facts = dict(described["facts"])
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"{str(path)!r} holds a recipe for tables that cannot be read: {error!r}"
            ) from error
        if len(recipe.features) != classifier.n_features_in_:
            raise ModelFileError(
                f"{str(path)!r}: recipe and classifier do not agree on the number of features"
            )
        return cls(classifier, recipe, facts)

    @property
    def recipe(self) -> Recipe:
        """The recipe; an error for a model without one."""
        if self.stored_recipe is None:
            raise ModelFileError(
                "the model was saved from Python and does not know a table's columns; "
                "use it from Python"
            )
        return self.stored_recipe

    def features_and_labels(self, table: Any, name: str, notify: Notify) -> tuple[Array, AnyArray]:
        """Features (n, D) and labels (n,) of a table, the labels among the classes."""
        recipe = self.recipe
        recipe.check(table.column_names, name)
        labels = recipe.labels(table, name)
        unknown = sorted(set(labels.tolist()) - set(self.classifier.classes_.tolist()))
        if unknown:
            raise ValueError(
                f"{name}: the target {recipe.target!r} holds {unknown[0]!r}, "
                "a class the model does not know"
            )
        return recipe.rows(table, notify), labels
