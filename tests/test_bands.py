"""Columns of texts such as "<1", "50-99", "65 and over" are numbers in their order."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows.bands import BANDS, Band, as_band, as_banded_number, band_reading
from dirichletgp._gp.rows.columns import Columns
from dirichletgp._gp.rows.frames import Frame
from dirichletgp._gp.rows.kinds import Category, Number
from dirichletgp._gp.rows.learning import Wishes, learned_columns
from dirichletgp._gp.rows.texts import Texts

OPTIONS = {"kernel": "rbf", "n_inducing": 20, "max_iter": 0, "random_state": 0}
YEARS = ["< 1 year", "1 year", "2 years", "3-5 years", "6-9 years", "10+ years"]


def reading(texts, missing=False):
    codes = np.arange(len(texts)).tolist() + [-1] * missing
    return band_reading(Texts(list(texts), np.array(codes, dtype=np.intp)))


def kind_of(column, **wishes):
    frame = pd.DataFrame({"band": column, "size": np.arange(len(column)) % 7 / 3})
    return learned_columns(Frame(frame), Wishes(**wishes)).kinds[0]


@pytest.mark.parametrize(
    ("text", "low", "high", "unit"),
    [
        ("50-99", 50, 99, ""),
        ("18\u201325", 18, 25, ""),
        ("0..5", 0, 5, ""),
        ("<1", -np.inf, 1, ""),
        ("<= 18.5", -np.inf, 18.5, ""),
        (">20", 20, np.inf, ""),
        ("10000+", 10_000, np.inf, ""),
        ("65 and over", 65, np.inf, ""),
        ("5 or more", 5, np.inf, ""),
        ("Under 18", -np.inf, 18, ""),
        ("less than 5", -np.inf, 5, ""),
        ("1 - 4 yrs", 1, 4, "yr"),
        ("10 years - 20 years", 10, 20, "year"),
        ("$1,000 to $2,000", 1_000, 2_000, ""),
        ("$25K+", 25_000, np.inf, ""),
        ("500k-1m", 500_000, 1_000_000, ""),
        ("between 5 and 10 km", 5, 10, "km"),
        ("[20, 30)", 20, 30, ""),
        ("(-0.5, 1.2]", -0.5, 1.2, ""),
        ("-10 to -5", -10, -5, ""),
        ("> -3", -3, np.inf, ""),
        ("50%-60%", 50, 60, "%"),
        ("7", 7, 7, ""),
        ("Oct-49", 10, 49, "of a spreadsheet"),
        ("9-May", 5, 9, "of a spreadsheet"),
    ],
)
def test_bands_are_read(text, low, high, unit):
    assert as_band(text) == Band(low, high, unit)


@pytest.mark.parametrize(
    "text", ["unknown", "", "2-1", "A/5 21171", "1990-01-02", "+49 30 1234", "Q1 2020", "<5>"]
)
def test_other_texts_are_no_bands(text):
    assert as_band(text) is None
    assert np.isnan(as_banded_number(text))


@settings(deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_band_of_finite_number_or_none(text):
    band = as_band(text)
    assert band is None or (band.low <= band.high and not np.isnan(band.number))


@given(st.lists(st.integers(-1_000, 1_000), min_size=3, max_size=12, unique=True))
def test_numbers_follow_the_order_of_bands(edges):
    edges = sorted(edges)
    inner = [f"[{low}, {high})" for low, high in pairwise(edges)]
    texts = [f"< {edges[0]}", *inner, f">= {edges[-1]}"]
    assert reading(texts) is not None
    assert np.all(np.diff([as_banded_number(text) for text in texts]) > 0)


def test_a_column_of_bands_is_a_number():
    kind = kind_of(np.array(YEARS)[np.arange(60) % 6])
    assert kind == Number("band", False, BANDS, [])
    assert kind.treatment == "number, read from ranges"


def test_with_a_word_among_them_they_stay_categories():
    """The word may mean something, which words that are met later must not inherit."""
    assert isinstance(kind_of(np.array([*YEARS, "unemployed"])[np.arange(70) % 7]), Category)


def test_missing_values_are_missing():
    column = np.array([*YEARS, None], dtype=object)[np.arange(70) % 7]
    assert kind_of(column) == Number("band", True, BANDS, [])


@pytest.mark.parametrize(
    "texts",
    [
        ["<5", "5 or more"],  # two categories have no order that matters
        ["1", "2", "3"],  # nothing is a range: codes, perhaps
        ["555-1234", "555-2345", "555-3456"],
        ["0-1", "0-2", "1-2", "1-3"],  # results of matches
        ["1-5 km", "5-9 miles", "over 9 km"],
        ["<5", "5-9", "10+", "never", "not said"],
        ["<5", "5-9", "10+", "type 3"],
        ["65+", "over 65", "<65"],  # the same twice
        ["route 1", "route 2", "route 3"],
        ["Jan-05", "Jun-10", "Dec-20", "21+"],  # months
        [],
    ],
)
def test_other_columns_stay_what_they_are(texts):
    assert reading(texts) is None


def test_a_word_is_none_with_missing_values_and_without():
    texts = ["never", "<5", "5-9", "10+"]
    assert reading(texts) is None
    assert reading(texts, missing=True) is None
    assert reading(texts[1:], missing=True) is not None


def test_what_spreadsheets_made_of_a_range_is_repaired():
    assert reading(["<10", "Oct-49", "50-99", "100-500"]) is not None


def test_who_says_category_gets_one():
    column = np.array(YEARS)[np.arange(60) % 6]
    assert isinstance(kind_of(column, named_categories=frozenset(["band"])), Category)
    assert isinstance(kind_of(pd.Categorical(column)), Category)


def test_they_go_through_a_file():
    columns = learned_columns(Frame(pd.DataFrame({"band": YEARS * 5})), Wishes())
    again = Columns.from_json(columns.as_json())
    assert again == columns
    frame = pd.DataFrame({"band": ["2 years", "6-9 years", None]})
    np.testing.assert_array_equal(again.matrix(frame)[:, 0], [2.0, 7.5, np.nan])


def test_a_new_band_is_read_and_a_new_word_is_missing():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 6, 200)
    X = pd.DataFrame({"tenure": np.array(YEARS)[place], "size": rng.normal(size=200)})
    classifier = DirichletGPClassifier(**OPTIONS).fit(X, place > 2)
    assert classifier.columns_["tenure"] == "number, read from ranges"
    new = pd.DataFrame({"tenure": ["4 years", "nobody knows", None], "size": [0.0, 0.0, 0.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p = classifier.predict_proba(new)
    assert np.all(np.isfinite(p))
    np.testing.assert_array_equal(p[1], p[2])
    p = classifier.predict_proba(pd.DataFrame({"tenure": YEARS, "size": 0.0}))[:, 1]
    assert p[:3].max() < 0.1 < 0.9 < p[3:].min()
