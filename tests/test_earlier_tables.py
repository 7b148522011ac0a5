"""Recipes of earlier versions: what they make of a table, of any type of column, and what they say.

Model files of then are still read; `tests/test_earlier_files.py` has one of them.
"""

import io

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from dirichletgp import DirichletGPClassifier  # noqa: E402
from dirichletgp._gp.rows.frames import Days, Numbers, Strange, Words  # noqa: E402
from dirichletgp._gp.rows.tables.csv_tables import PeekableStream  # noqa: E402
from dirichletgp._gp.rows.tables.earlier_recipe import Recipe  # noqa: E402
from dirichletgp._gp.rows.tables.errors import TableError  # noqa: E402
from dirichletgp._gp.rows.tables.table import _labels as labels_of_column  # noqa: E402
from dirichletgp._gp.rows.tables.values import (  # noqa: E402
    days_of,
    numbers_of,
    texts_of,
    unread,
    values_of,
)

COLUMNS = [
    {"kind": "number", "name": "size", "median": 2.0, "missing": True},
    {"kind": "number", "name": "height", "median": 0.0, "missing": False},
    {"kind": "category", "name": "colour", "categories": ["red", "blue"], "other": False,
     "missing": True},
    {"kind": "category", "name": "shape", "categories": ["round"], "other": True, "missing": False},
    {"kind": "date", "name": "day", "pattern": "%d.%m.%Y", "parts": ["day"], "median": 3.0,
     "missing": False},
    {"kind": "unused", "name": "id", "reason": "different in every row"},
]  # fmt: skip


@pytest.fixture
def recipe():
    return Recipe.from_json({"target": "y", "columns": COLUMNS})


@pytest.fixture
def told():
    return []


def notify(told):
    return lambda name, words, row: told.append(words)


def test_a_recipe_makes_features_of_a_table(recipe, told):
    table = pa.table(
        {
            "size": [1.5, None, float("inf")],
            "height": ["3", "4,5", "tall"],
            "colour": ["red", None, "green"],
            "shape": ["round", "square", "flat"],
            "day": ["05.01.1970", "", "later"],
        }
    )
    rows = recipe.rows(table, notify(told))
    assert recipe.features == [
        *("size", "size_missing", "height", "colour_red", "colour_blue", "colour_missing"),
        *("shape_other", "day_day"),
    ]
    expected = [
        [1.5, 0, 3, 1, 0, 0, 0, 4],
        [2.0, 1, rows[1, 2], 0, 0, 1, 1, 3],
        [2.0, 1, 0, 0, 0, 0, 1, 3],
    ]
    np.testing.assert_array_equal(rows, expected)
    assert any("'height' holds texts that are not numbers" in words for words in told)
    assert any("'colour' holds categories the model has not seen: 'green'" in w for w in told)
    assert any("'day' holds texts that are not dates" in words for words in told)


def test_a_recipe_says_what_it_does_with_columns(recipe):
    assert [column.treatment for column in recipe.columns] == [
        "number, missing becomes 2 and is marked",
        "number",
        "2 categories, missing is one more",
        "1 categories, rare ones together",
        "date, read as %d.%m.%Y: day",
        "not used: different in every row",
    ]
    assert recipe.columns[-1].values([1, 2, 3], None).shape == (3, 0)


def test_a_table_without_the_columns_that_a_recipe_needs_is_refused(recipe):
    recipe.check(["size", "height", "colour", "shape", "day", "more"], "new.csv")
    with pytest.raises(TableError, match=r"new\.csv has no column 'shape', which the model needs"):
        recipe.check(["size", "height", "colour", "day"], "new.csv")
    with pytest.raises(TableError, match="no column 'size' and 4 more"):
        recipe.check(["id"], "new.csv")


# Columns of Arrow, whatever type they come in


def categories(values):
    return pa.array(values).dictionary_encode()


def test_types_of_arrow_say_what_a_column_holds():
    declared = values_of(categories(["a", "b", "a", None]))
    assert isinstance(declared, Words)
    assert declared.declared
    assert declared.texts.codes.tolist() == [0, 1, 0, -1]
    truths = values_of(pa.array([True, None, False]))
    assert isinstance(truths, Numbers)
    assert truths.as_texts().distinct == ["False", "True"]
    assert values_of(pa.array([[1], [2]])) == Strange("list<item: int64>", 2)
    nothing = values_of(pa.nulls(3))
    assert isinstance(nothing, Words)
    assert nothing.texts.codes.tolist() == [-1, -1, -1]
    days = values_of(pa.array([0, 1], pa.date32()))
    assert isinstance(days, Days)
    assert days.values.tolist() == [0.0, 1.0]
    numbers = values_of(categories([2.0, 0.5, None]))
    assert isinstance(numbers, Words)
    assert sorted(numbers.texts.distinct) == ["0.5", "2"]


def test_categories_of_numbers_dates_and_texts_are_read_as_these():
    np.testing.assert_array_equal(numbers_of(categories([1.0, 2.0, None])), [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(numbers_of(pa.array(["1", "x"])), [1.0, np.nan])
    dates = pa.array([0, 1], pa.timestamp("s"))
    np.testing.assert_allclose(days_of(dates.dictionary_encode(), "iso"), [0.0, 1 / 86_400])
    assert texts_of(categories(["a", "NA"])).distinct == ["a"]
    assert unread(pa.array([1.0]), "number", float) == []


# Tables to learn from


def test_labels_of_a_type_that_is_no_label_are_refused():
    with pytest.raises(ValueError, match="the label column holds date32"):
        labels_of_column(pa.array([0, 1], pa.date32()))
    found = labels_of_column(categories(["b", "a", "b"]))
    assert found.tolist() == ["b", "a", "b"]


def test_weights_that_are_missing_are_refused():
    table = pa.table({"a": [1.0, 2.0, 3.0, 4.0], "y": [0, 1, 0, 1], "w": [1.0, None, 1.0, 1.0]})
    classifier = DirichletGPClassifier("rbf", max_iter=0)
    with pytest.raises(ValueError, match="sample_weight='w': the column holds missing values"):
        classifier.fit(table, "y", sample_weight="w")


def test_a_stream_can_be_looked_into_beyond_its_end():
    stream = PeekableStream(io.BytesIO(b"a,b\n1,2"))
    assert stream.look(1_000) == b"a,b\n1,2"
    assert stream.first_lines() == b"a,b\n1,2"
    assert stream.read() == b"a,b\n1,2"
    assert stream.read() == b""
    assert PeekableStream(io.BytesIO(b"no end")).first_lines() == b"no end"
