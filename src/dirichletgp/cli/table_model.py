"""A classifier that knows the columns of a table, in one model file."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import persistence
from .._gp.classifier import DirichletGPClassifier
from .._gp.core.arrays import AnyArray, Array
from .._gp.core.fields import text
from .._gp.rows.columns import Columns, Matrix
from .._gp.rows.kinds import Notify
from .._gp.rows.tables.earlier_recipe import Recipe
from ..persistence import ModelFileError
from .absent_columns import available_columns
from .class_names import codes_of
from .labelled_table import LabelledTable, Target
from .new_values import NewValues
from .table_facts import checked_facts

_MEMBER = "table.json"


@dataclass(frozen=True)
class TableModel:
    """What `dirichletgp fit` leaves behind.

    Attributes
    ----------
    classifier : DirichletGPClassifier
        Its classes are texts, if `dirichletgp fit` made it.
    known_target : str, tuple of str or None
        The column that is predicted, or those of votes; None for a model saved from Python.
    facts : dict
        Where the model comes from, and how it did on the rows held out.
    recipe : Recipe or None
        How a table becomes features, in a file of an earlier version; None: the columns of the
        classifier say it.
    """

    classifier: DirichletGPClassifier
    known_target: Target | None
    facts: dict[str, Any] = field(default_factory=dict)
    recipe: Recipe | None = None

    def save(self, path: str | Path) -> None:
        """Write the model file, over whatever is there: destinations were checked before."""
        described: dict[str, Any] = {"target": self.target, "facts": self.facts}
        extras = {_MEMBER: json.dumps(described).encode()}
        persistence.save(self.classifier, path, extras, overwrite=True)

    @classmethod
    def load(cls, path: str | Path, target: Target | None = None) -> "TableModel":
        """Read a model file; the target, if it is given, is called so in the tables to come."""
        classifier, extras = persistence.load_with_extras(path, DirichletGPClassifier)
        if _MEMBER not in extras:
            return cls(classifier, target)
        try:
            described = json.loads(extras[_MEMBER])
            recipe = Recipe.from_json(described["recipe"]) if "recipe" in described else None
            known = _target(described["target"]) if recipe is None else recipe.target
            facts = checked_facts(described["facts"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise ModelFileError(
                f"{str(path)!r} holds a description of a table that cannot be read: {error!r}"
            ) from error
        if recipe is not None and len(recipe.features) != classifier.n_features_in_:
            raise ModelFileError(
                f"{str(path)!r}: recipe and classifier do not agree on the number of features"
            )
        return cls(classifier, known if target is None else target, facts, recipe)

    @property
    def columns(self) -> Columns:
        """What the columns of X are; an error if they have no names to find them by."""
        columns = self.classifier.fitted_columns()
        if columns.names_in is None:
            raise ModelFileError(
                "the model was saved from Python and does not know a table's columns; "
                "use it from Python, or fit it to a frame with names"
            )
        return columns

    @property
    def target(self) -> Target:
        """The column that is predicted, or those of votes; an error if that is not known."""
        if self.known_target is None:
            raise ModelFileError(
                "the model was saved from Python and does not know which column holds the labels; "
                "pass --target with its name"
            )
        return self.known_target

    @property
    def target_in_words(self) -> str:
        """What the model predicts."""
        target = self.target
        return target if isinstance(target, str) else f"a vote for {', '.join(sorted(target))}"

    def described(self) -> list[tuple[str, str]]:
        """The name of each column, and what is done with it, in words."""
        if self.recipe is not None:
            return [(column.name, column.treatment) for column in self.recipe.columns]
        columns = self.classifier.fitted_columns()
        return [] if columns.names_in is None else columns.described()

    @property
    def needed(self) -> list[str]:
        """Columns that a table must have."""
        return self.recipe.needed if self.recipe is not None else used_columns(self.columns)

    def available(self, columns: list[str], name: str, new_values: NewValues) -> list[str]:
        """The needed columns among those of a table; an error or a warning if some are absent."""
        target = self.known_target
        known = [column for column, _ in self.described()]
        known += [target] if isinstance(target, str) else target or ()
        strict = self.recipe is not None
        return available_columns(self.needed, columns, name, new_values, known, strict)

    def rows(self, table: Any, notify: Notify) -> Array:
        """Rows of a table or batch, as the classifier takes them."""
        if self.recipe is not None:
            return self.recipe.rows(table, notify)
        return Matrix.of(self.columns.matrix(table, notify, quiet=True))

    def rows_and_labels(
        self, rows: LabelledTable, name: str, new_values: NewValues
    ) -> tuple[Array, AnyArray]:
        """Rows as the classifier takes them, and their labels, which are among the classes."""
        self.available(rows.table.column_names, name, new_values)
        classes = self.classifier.classes_
        codes = codes_of(rows.texts, classes, f"{name}: the target {self.target_in_words!r}")
        return self.rows(rows.table, new_values), classes[codes]

    def warnings(self, X: AnyArray, y: AnyArray) -> list[str]:
        """What to know before scores on rows (n, D) with labels (n,) are believed."""
        said = self.classifier.rows_seen_in(X, y)
        return [] if said is None else [said]


def _target(value: Any) -> Target:
    """The target in a model file: a text, or several."""
    if not isinstance(value, list):
        return text(value, "target")
    return tuple(text(each, "target") for each in value)


def used_columns(columns: Columns) -> list[str]:
    """Names of the columns that a model uses."""
    names = columns.names_in or []
    return [names[j] for j in np.unique(columns.origin).tolist()]
