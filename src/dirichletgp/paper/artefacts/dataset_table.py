"""The paper's table of datasets, with what was found of each here."""

from ...datasets import dataset_names
from ..dataset import Dataset
from ..page_section import Section, Table
from ..plan import Plan
from ..task import Task

NAME = "dataset_table"
TITLE = "Datasets"
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
    section.text.append(
        "Sizes of this run. Complete datasets have the paper's sizes; a partial one has some of "
        "the rows, split in the paper's proportion, and a result on it is not a result on the "
        "paper's dataset."
    )
    rows = [_row(plan, data) for data in plan.available(*dataset_names())]
    caption = "Datasets, sizes and the paper's settings"
    section.tables.append(Table("datasets", caption, _COLUMNS, rows))
    return section


def _row(plan: Plan, data: Dataset) -> list[str]:
    n_splits = data.n_splits if plan.splits is None else min(plan.splits, data.n_splits)
    return [
        data.label,
        str(data.n_classes),
        f"{data.n_train:,}",
        f"{data.n_test:,}",
        str(data.bunch.X.shape[1]),
        f"{data.n_inducing} ({data.inducing})",
        f"{data.alpha_epsilon:g}",
        str(n_splits),
    ]
