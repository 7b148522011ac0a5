"""A classifier with the recipe that turns tables into its features, in one model file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import persistence
from .._gp.classifier import DirichletGPClassifier
from .._gp.rows.tables import Recipe
from .._gp.rows.tables.columns import Complain
from ..persistence import ModelFileError

Array = NDArray[np.float64]

_MEMBER = "table.json"


@dataclass(frozen=True)
class TabularModel:
    """What `dirichletgp fit` leaves behind.

    Attributes
    ----------
    classifier : DirichletGPClassifier
        Its classes are texts.
    recipe : Recipe or None
        None for a model saved from Python, which knows nothing of tables.
    facts : dict
        Where the model comes from, and how it did on the rows held out.
    """

    classifier: DirichletGPClassifier
    recipe: Recipe | None
    facts: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | Path) -> None:
        """Write the model file."""
        described = {"recipe": self.recipe.as_json() if self.recipe else None, "facts": self.facts}
        persistence.save(self.classifier, path, {_MEMBER: json.dumps(described).encode()})

    @classmethod
    def load(cls, path: str | Path) -> "TabularModel":
        """Read a model file."""
        classifier = persistence.load(path, DirichletGPClassifier)
        member = persistence.read_extras(path).get(_MEMBER)
        if member is None:
            return cls(classifier, None)
        try:
            described = json.loads(member)
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
    def table_recipe(self) -> Recipe:
        """The recipe; an error for a model without one."""
        if self.recipe is None:
            raise ModelFileError(
                "the model was saved from Python and does not know a table's columns; use it from Python"
            )
        return self.recipe

    def labelled(self, table: Any, name: str, complain: Complain) -> tuple[Array, NDArray[Any]]:
        """Features (n, D) and labels (n,) of a table, the labels among the classes."""
        recipe = self.table_recipe
        recipe.check(table.column_names, name)
        labels = recipe.labels(table, name)
        unknown = sorted(set(labels.tolist()) - set(self.classifier.classes_.tolist()))
        if unknown:
            raise ValueError(
                f"{name}: the target {recipe.target!r} holds {unknown[0]!r}, a class the model does not know"
            )
        return recipe.rows(table, complain), labels


class ShownRows:
    """The columns of a table as people know them, for the rows of a report.

    Parameters
    ----------
    table : pyarrow.Table
    leave_out : str
        The target.
    source : str
        Where the table comes from.
    numbers : ndarray of shape (n,), default=None
        Which rows of the source these are, counted from one; None: all of them.
    """

    def __init__(
        self, table: Any, leave_out: str, source: str, numbers: NDArray[np.intp] | None = None
    ):
        self.source = source
        self.numbers = np.arange(1, table.num_rows + 1) if numbers is None else numbers
        self.columns = [name for name in table.column_names if name != leave_out]
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __getitem__(self, number: int) -> list[Any]:
        return [self._table.column(name)[number].as_py() for name in self.columns]
