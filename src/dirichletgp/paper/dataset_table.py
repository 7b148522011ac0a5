"""The paper's table of datasets, with what was found of each here."""

from ..datasets import dataset_names
from .plan import Plan
from .section import Section, Table
from .task import Task

NAME, TITLE = "dataset_table", "Datasets"
_COLUMNS = [
    "dataset",
    "classes",
    "training rows",
    "test rows",
    "features",
    "inducing points",
    "alpha",
    "splits",
]


def tasks(plan: Plan) -> list[Task]:
    """Nothing to compute."""
    return []


def render(plan: Plan) -> Section:
    """The table."""
    section = Section(NAME, TITLE)
    found = plan.available(*dataset_names())
    rows = [
        [
            data.label,
            str(data.n_classes),
            f"{data.n_train:,}",
            f"{data.n_test:,}",
            str(data.bunch.X.shape[1]),
            f"{data.n_inducing} ({data.inducing})",
            f"{data.alpha_epsilon:g}",
            str(data.n_splits if plan.splits is None else min(plan.splits, data.n_splits)),
        ]
        for data in found
    ]
    section.text.append(
        "Sizes of this run. Complete datasets have the paper's sizes; a partial one has some of the rows, split in the "
        "paper's proportion, and a result on it is not a result on the paper's dataset."
    )
    section.tables.append(
        Table("datasets", "Datasets, sizes and the paper's settings", _COLUMNS, rows)
    )
    return section


if __name__ == "__main__":
    from .run import main

    main(NAME)
