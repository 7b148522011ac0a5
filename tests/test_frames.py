"""Frames as they are: columns of every kind, from every library, with holes."""

import json
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

from dirichletgp import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystromRidgeClassifier,
    VariationalGPClassifier,
)
from dirichletgp._gp.rows.columns import Columns
from dirichletgp._gp.rows.frames import Frame
from dirichletgp._gp.rows.learning import Wishes, learned_columns
from dirichletgp._gp.rows.texts import Texts, date_reading, number_reading
from dirichletgp.report import write_report

pytestmark = pytest.mark.filterwarnings("ignore:Rows left out:RuntimeWarning")

N = 60
LIBRARIES = {"pandas": lambda frame: frame, "polars": pl.from_pandas}


def quick(**parameters):
    settings = {"label_transform": "dirichlet", "alpha_epsilon": 0.1, "random_state": 0}
    return DirichletGPClassifier(**{"n_inducing": 15, "max_iter": 3, **settings, **parameters})


def columns_of(classifier):
    return classifier._fitted.features.columns


def treatments(classifier):
    return dict(columns_of(classifier).described())


@pytest.fixture(scope="module")
def data():
    """A frame with a column of each kind, and labels that depend on two of them."""
    rng = np.random.default_rng(0)
    number = rng.normal(size=N)
    colour = rng.choice(["red", "green", "blue"], N)
    frame = pd.DataFrame(
        {
            "number": number,
            "colour": colour,
            "shape": pd.Categorical(rng.choice(["round", "square"], N)),
            "flag": rng.random(N) > 0.5,
            "count": rng.integers(0, 5, N),
            "day": pd.date_range("2020-01-01", periods=N, freq="36h"),
        }
    )
    y = np.where((number > 0) ^ (colour == "red"), "yes", "no")
    return frame, y


# The kinds of columns


@pytest.mark.parametrize("library", LIBRARIES)
def test_every_kind_of_column_is_taken_and_libraries_agree(data, library):
    frame, y = data
    X = LIBRARIES[library](frame)
    classifier = quick().fit(X, y)
    assert treatments(classifier) == {
        "number": "number",
        "colour": "3 categories",
        "shape": "2 categories",
        "flag": "number",
        "count": "number",
        "day": "date: day, season, weekday, hour",
    }
    columns = columns_of(classifier)
    assert columns.levels.tolist() == [0, 3, 2, 0, 0, 0, 0, 0, 0, 0]
    assert columns.origin.tolist() == [0, 1, 2, 3, 4, 5, 5, 5, 5, 5]
    assert columns.names[-2:] == ["day_weekday", "day_hour"]
    assert not columns.is_plain
    np.testing.assert_array_equal(columns.matrix(X), columns.matrix(frame))
    assert classifier.n_features_in_ == 6
    assert classifier.feature_names_in_.tolist() == list(frame.columns)
    np.testing.assert_array_equal(
        classifier.predict_proba(X), quick().fit(frame, y).predict_proba(frame)
    )


DAYS = ["1970-01-03", None, "1970-01-02"]
PANDAS_COLUMNS = {
    "float": (lambda: pd.Series([0.5, np.nan, 2.0]), [0.5, np.nan, 2.0], 0),
    "float32": (lambda: pd.Series([0.5, np.nan, 2.0], dtype="float32"), [0.5, np.nan, 2.0], 0),
    "nullable int": (lambda: pd.Series([1, None, 3], dtype="Int64"), [1, np.nan, 3], 0),
    "nullable float": (lambda: pd.Series([1.5, None, 3], dtype="Float64"), [1.5, np.nan, 3], 0),
    "nullable bool": (lambda: pd.Series([True, None, False], dtype="boolean"), [1, np.nan, 0], 0),
    "objects that are bools": (lambda: pd.Series([True, None, False]), [1, np.nan, 0], 0),
    "objects that are numbers": (
        lambda: pd.Series([1, None, Decimal("2.5")], dtype=object),
        [1, np.nan, 2.5],
        0,
    ),
    "category": (lambda: pd.Series(["b", None, "a"], dtype="category"), [1, np.nan, 0], 2),
    "category of numbers": (lambda: pd.Series([7, None, 10], dtype="category"), [1, np.nan, 0], 2),
    "object": (lambda: pd.Series(["b", None, "a"], dtype=object), [1, np.nan, 0], 2),
    "object with NaN": (lambda: pd.Series(["b", np.nan, "a"], dtype=object), [1, np.nan, 0], 2),
    "object with NA": (lambda: pd.Series(["b", pd.NA, "a"], dtype=object), [1, np.nan, 0], 2),
    "string": (lambda: pd.Series(["b", None, "a"], dtype="string"), [1, np.nan, 0], 2),
    "empty text": (lambda: pd.Series(["b", " ", "a "]), [1, np.nan, 0], 2),
    "texts and numbers": (lambda: pd.Series(["b", None, 3], dtype=object), [1, np.nan, 0], 2),
    "datetime": (lambda: pd.to_datetime(pd.Series(DAYS)), None, 0),
    "datetime with a zone": (
        lambda: pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC"),
        None,
        0,
    ),
    "objects that are dates": (
        lambda: pd.Series([date(1970, 1, 3), None, date(1970, 1, 2)], dtype=object),
        None,
        0,
    ),
    "period": (lambda: pd.to_datetime(pd.Series(DAYS)).dt.to_period("D"), None, 0),
    "timedelta": (lambda: pd.to_timedelta(pd.Series([2, None, 1]), unit="D"), [2, np.nan, 1], 0),
}


@pytest.mark.parametrize("kind", PANDAS_COLUMNS)
def test_a_pandas_column_with_a_hole(kind):
    make, expected, levels = PANDAS_COLUMNS[kind]
    check_column(pd.DataFrame({"x": make()}), expected, levels)


POLARS_COLUMNS = {
    "float": (pl.Series([0.5, None, 2.0]), [0.5, np.nan, 2.0], 0),
    "NaN": (pl.Series([0.5, float("nan"), 2.0]), [0.5, np.nan, 2.0], 0),
    "int": (pl.Series([1, None, 3]), [1, np.nan, 3], 0),
    "decimal": (pl.Series([Decimal("1.5"), None, Decimal("3")]), [1.5, np.nan, 3], 0),
    "bool": (pl.Series([True, None, False]), [1, np.nan, 0], 0),
    "string": (pl.Series(["b", None, "a"]), [1, np.nan, 0], 2),
    "categorical": (pl.Series(["b", None, "a"], dtype=pl.Categorical), [1, np.nan, 0], 2),
    "enum": (pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "a", "c"])), [1, np.nan, 0], 2),
    "object": (pl.Series(["b", None, "a"], dtype=pl.Object), [1, np.nan, 0], 2),
    "date": (pl.Series([date(1970, 1, 3), None, date(1970, 1, 2)]), None, 0),
    "datetime": (pl.Series([date(1970, 1, 3), None, date(1970, 1, 2)]).cast(pl.Datetime), None, 0),
    "duration": ((pl.Series([2, None, 1]) * 86_400_000).cast(pl.Duration("ms")), [2, np.nan, 1], 0),
}


@pytest.mark.parametrize("kind", POLARS_COLUMNS)
def test_a_polars_column_with_a_hole(kind):
    column, expected, levels = POLARS_COLUMNS[kind]
    check_column(pl.DataFrame({"x": column}), expected, levels)


def check_column(frame, expected, levels):
    """Dates are days 2 and 1 with a hole between."""
    columns = learned_columns(Frame(frame), Wishes())
    found = columns.matrix(frame)
    expected = [2, np.nan, 1] if expected is None else expected
    np.testing.assert_array_equal(found[:, 0], expected)
    assert columns.levels[0] == levels
    assert columns.kinds[0].missing
    again = Columns.from_json(json.loads(json.dumps(columns.as_json())))
    assert again == columns


def test_columns_of_strange_things_are_left_out(data):
    _, y = data
    frame = pd.DataFrame({"x": np.arange(N) % 7 / 3, "lists": [[1]] * N})
    assert treatments(quick().fit(frame, y))["lists"] == "not used: values of type list"
    nested = pl.DataFrame({"x": np.arange(N) % 7 / 3, "lists": [[1]] * N})
    assert "List" in treatments(quick().fit(nested, y))["lists"]


def test_frames_of_numbers_are_what_they_were(data):
    frame, y = data
    numbers = frame[["number", "count", "flag"]]
    classifier = quick().fit(numbers, y)
    assert columns_of(classifier).is_plain
    plain = quick().fit(numbers.to_numpy(dtype=float), y)
    np.testing.assert_array_equal(
        classifier.predict_proba(numbers), plain.predict_proba(numbers.to_numpy(dtype=float))
    )
    single = numbers.to_numpy(dtype=np.float32)
    assert quick().partial_fit(single, y)._result.first_rows.X.dtype == np.float32


def test_texts_are_read_where_they_are_fractions_or_dates():
    frame = pd.DataFrame(
        {
            "price": [f"${1000 + i / 4:,.2f}" for i in range(N)],
            "when": [f"{1 + i % 28}-{1 + i % 12:02d}-2020" for i in range(N)],
            "charge": [" " if i == 5 else f"{i / 8}" for i in range(N)],
            "code": [str(i % 3) for i in range(N)],
        }
    )
    columns = learned_columns(Frame(frame), Wishes())
    described = dict(columns.described())
    assert described["price"] == "number"
    assert described["when"].startswith("date, read as %d-%m-%Y")
    assert described["charge"] == "number, missing is a value of its own"
    assert described["code"] == "3 categories"  # somebody made texts of whole numbers
    assert columns.matrix(frame)[5, 0] == 1001.25


@pytest.mark.parametrize(
    ("texts", "how"),
    [
        (["$1,200.50", "$3"], "point"),
        (["1.234,5", "7,25"], "comma"),
        (["45 %", "7 %"], "point"),
        (["-1e3", "2"], "plain"),
        (["1,234", "999"], "point"),
        (["€ 5", "-€ 6.5"], "point"),
        (["01234", "94110"], None),
        (["3+", "2"], None),
    ],
)
def test_numbers_written_as_texts(texts, how):
    found = number_reading(Texts(texts, np.arange(len(texts))))
    assert (found and found.how) == how


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("31-12-2024", "%d-%m-%Y"),
        ("12/31/24", "%m/%d/%y"),
        ("12/31/2024 10:29", "%m/%d/%Y %H:%M"),
        ("19 August 2019", "%d %B %Y"),
        ("2024-12-31T10:29:00", "iso"),
        ("31.12.2024", "%d.%m.%Y"),
        ("Dec 31, 2024", "%b %d, %Y"),
        ("31-Dec-2024", "%d-%b-%Y"),
        ("31/12/2024 10:29:11", "%d/%m/%Y %H:%M:%S"),
        ("12/31/2024 10:29 PM", "%m/%d/%Y %I:%M %p"),
        ("tomorrow", None),
    ],
)
def test_dates_written_as_texts(text, pattern):
    found = date_reading(Texts([text], np.zeros(1, dtype=np.intp)))
    assert (found and found.how) == pattern


def test_one_dirty_cell_does_not_spoil_a_column_of_numbers():
    values = [f"{i / 2}" for i in range(N)]
    frame = pd.DataFrame({"x": ["unknown", *values[1:]]})
    columns = learned_columns(Frame(frame), Wishes())
    assert columns.described() == [
        ("x", "number, missing is a value of its own, 'unknown' taken as missing")
    ]
    assert np.isnan(columns.matrix(frame)[0, 0])
    marked = pd.DataFrame({"x": ["?"] * 30 + [str(i) for i in range(30)]})
    assert columns_kind(marked) == "number"
    often = pd.DataFrame({"x": ["3+"] * 20 + ["0", "1", "2", "4", "5.5", "6"] * 5})
    assert columns_kind(often) == "category"


def columns_kind(frame):
    return learned_columns(Frame(frame), Wishes()).as_json()["kinds"][0]["kind"]


# What is missing


def test_arrays_with_missing_values_are_taken(data):
    _, y = data
    X = np.random.default_rng(1).normal(size=(N, 3))
    X[::5, 1] = np.nan
    classifier = quick().fit(X, y)
    columns = columns_of(classifier)
    assert [kind.missing for kind in columns.kinds] == [False, True, False]
    np.testing.assert_array_equal(columns.matrix(X), X)
    assert np.isfinite(classifier.predict_proba(X)).all()
    assert np.isfinite(classifier.loo_proba(X, y)).all()
    np.testing.assert_array_equal(
        classifier.predict_proba(X), quick().fit(X.tolist(), y).predict_proba(X)
    )
    assert classifier.__sklearn_tags__().input_tags.allow_nan


def test_what_is_missing_at_prediction_only_is_taken_as_typical(data):
    _, y = data
    X = np.random.default_rng(1).normal(size=(N, 3))
    classifier = quick().fit(X, y)
    new = X[:4].copy()
    new[1, 2] = np.nan
    found = classifier.predict_proba(new)
    assert np.isfinite(found).all()
    np.testing.assert_array_equal(found[[0, 2, 3]], classifier.predict_proba(X[[0, 2, 3]]))


def test_missing_at_prediction_only_in_a_column_of_a_frame(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    new = frame.head(4).copy()
    new.loc[0, "number"] = np.nan
    new.loc[1, "colour"] = None
    new["day"] = pd.NaT
    assert np.isfinite(classifier.predict_proba(new)).all()


def test_columns_that_carry_nothing_are_left_out(data):
    frame, y = data
    more = frame.assign(
        nothing=np.nan,
        none=None,
        constant=3,
        unit="mg",
        row=np.random.default_rng(0).permutation(N),
        name=[f"person {i}" for i in range(N)],
    )
    said = treatments(quick().fit(more, y))
    assert said["nothing"] == said["none"] == "not used: empty"
    assert said["constant"] == "not used: always 3"
    assert said["unit"] == "not used: always 'mg'"
    assert said["row"] == "not used: an id, different in every row"
    assert said["name"].startswith("not used: 60 different texts, nearly one per row")
    np.testing.assert_array_equal(
        quick().fit(more, y).predict_proba(more), quick().fit(frame, y).predict_proba(frame)
    )


def test_nothing_is_left_out_of_arrays(data):
    _, y = data
    X = np.column_stack([np.arange(N), np.full(N, 2.0), np.random.default_rng(0).normal(size=N)])
    classifier = quick().fit(X, y)
    assert columns_of(classifier).is_plain
    X[3, 0] = np.nan
    assert columns_of(quick().fit(X, y)).levels.tolist() == [0, 0, 0]


def test_measurements_that_happen_to_differ_are_not_ids():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"price": rng.permutation(400)[:25], "x": rng.normal(size=25)})
    assert columns_of(quick().fit(frame, np.arange(25) % 2)).is_plain
    named = frame.rename(columns={"price": "customer_id"})
    assert "customer_id" not in columns_of(quick().fit(named, np.arange(25) % 2)).names


def test_if_all_columns_would_be_left_out_that_is_said():
    frame = pd.DataFrame({"id": np.arange(N), "unit": ["mg"] * N})
    with pytest.raises(ValueError, match="no column of X can be used: id: not used: an id"):
        quick().fit(frame, np.arange(N) % 2)


@pytest.mark.parametrize("library", LIBRARIES)
def test_infinities_are_refused_by_name(data, library):
    frame, y = data
    bad = frame.assign(number=np.where(np.arange(N) == 4, -np.inf, frame["number"]))
    with pytest.raises(ValueError, match="infinity in column 'number', first in row 4"):
        quick().fit(LIBRARIES[library](bad), y)
    with pytest.raises(ValueError, match="infinity in column 'number', first in row 4"):
        quick().fit(LIBRARIES[library](bad[["number", "flag"]]), y)
    with pytest.raises(ValueError, match="infinity in column 'number'"):
        quick().fit(frame, y).predict(LIBRARIES[library](bad))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_rows_without_a_label_are_counted(data, missing):
    frame, y = data
    labels = pd.Series([missing, missing, *y[2:]], dtype=object)
    for X in (frame, frame[["number"]], frame[["number"]].to_numpy()):
        with pytest.raises(ValueError, match=r"no label in 2 of 60 rows.*Drop those rows"):
            quick().fit(X, labels)
    with pytest.raises(ValueError, match="no label in 1 of 60 rows"):
        quick().fit(frame, np.array([np.nan] + [1.0, 2.0] * 29 + [1.0]))
    with pytest.raises(ValueError, match="no label in 2 of 60 rows"):
        quick().partial_fit(frame, labels)
    with pytest.raises(ValueError, match="no label in 2 of 60 rows"):
        quick().fit(frame, labels.tolist())
    with pytest.raises(ValueError, match="no label in 2 of 60 rows"):
        quick().fit(pl.from_pandas(frame), pl.Series([None, None, *y[2:]]))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
@pytest.mark.parametrize("classifier", [quick(), NystromRidgeClassifier(n_inducing=5)])
def test_rows_without_a_label_cannot_be_judged(data, tmp_path, classifier, missing):
    pytest.importorskip("jinja2", reason="a report needs jinja2")
    frame, y = data
    X = frame[["flag"]].astype(float)
    labels = pd.Series([missing, missing, *y[2:]], dtype=object)
    told = r"y has no label in 2 of 60 rows.*Drop those rows from X and y"
    with pytest.raises(ValueError, match=told):
        clone(classifier).fit(X, labels)
    model = clone(classifier).fit(X, y)
    with pytest.raises(ValueError, match=told):
        model.score(X, labels)
    with pytest.raises(ValueError, match=told):
        write_report(tmp_path / "report.html", model, X, labels)
    assert not list(tmp_path.iterdir())
    assert model.score(X, y) == pytest.approx(np.mean(model.predict(X) == y))


def test_no_rows_are_refused_in_the_words_of_scikit_learn(data):
    frame, y = data
    for X in (frame, frame[["number"]].fillna(0.0), frame[["number"]].fillna(0.0).to_numpy()):
        told = rf"0 sample\(s\) \(shape=\(0, {X.shape[1]}\)\) while a minimum of 1 is required"
        with pytest.raises(ValueError, match=told):
            quick().fit(X, y).predict(X[:0])


# New rows


def test_columns_may_come_in_any_order_and_others_are_ignored(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    expected = classifier.predict_proba(frame)
    shuffled = frame[frame.columns[::-1]].assign(other="x")
    for library in LIBRARIES.values():
        np.testing.assert_array_equal(classifier.predict_proba(library(shuffled)), expected)


def test_a_column_that_is_not_there_counts_as_missing_with_a_warning(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    with pytest.warns(UserWarning, match="X has no column 'colour'; all values there") as caught:
        found = classifier.predict_proba(frame.drop(columns="colour"))
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, classifier.predict_proba(frame.assign(colour=None)))
    with pytest.raises(ValueError, match="none of the columns"):
        classifier.predict_proba(frame[[]].assign(other=1))


def test_unseen_categories_are_a_level_of_their_own(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    new = frame.head(3).assign(colour="mauve")
    assert columns_of(classifier).matrix(new)[:, 1].tolist() == [3.0, 3.0, 3.0]
    assert np.isfinite(classifier.predict_proba(new)).all()
    known = pd.Categorical(["oval"] * 3, categories=["oval", "round", "square"])
    assert columns_of(classifier).matrix(frame.head(3).assign(shape=known))[0, 2] == 2.0


def test_texts_in_a_column_of_numbers_are_refused_by_name_and_value(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    with pytest.raises(
        ValueError, match="column 'number' holds texts that are not numbers: 'a lot'"
    ):
        classifier.predict(frame.assign(number=["a lot", *["1.5"] * (N - 1)]))
    as_texts = frame.assign(number=frame["number"].map(repr))
    np.testing.assert_array_equal(
        classifier.predict_proba(as_texts), classifier.predict_proba(frame)
    )
    with pytest.raises(ValueError, match="column 'day' holds numbers, but dates in the rows"):
        classifier.predict(frame.assign(day=1))
    dates = frame.assign(day=frame["day"].astype(str))
    np.testing.assert_array_equal(classifier.predict_proba(dates), classifier.predict_proba(frame))


def test_arrays_are_taken_by_position_with_a_warning(data):
    frame, y = data
    classifier = quick().fit(frame, y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = classifier.predict_proba(frame.to_numpy(dtype=object))
    np.testing.assert_array_equal(found, classifier.predict_proba(frame))
    with pytest.raises(ValueError, match=r"X has 2 features, but .* expecting 6 features"):
        classifier.predict(np.zeros((3, 2)))


def test_high_cardinality_is_one_column_of_the_categories_seen_twice(data):
    n = 1_000
    rng = np.random.default_rng(0)
    city = [f"city {i}" for i in rng.integers(0, 600, n)]
    frame = pd.DataFrame({"city": city, "x": rng.normal(size=n)})
    columns = learned_columns(Frame(frame), Wishes())
    counts = frame["city"].value_counts()
    assert columns.levels.tolist() == [int((counts > 1).sum()), 0]
    unseen = columns.matrix(frame)[:, 0] == columns.levels[0]
    np.testing.assert_array_equal(unseen, frame["city"].map(counts) == 1)
    assert "rare ones together" in columns.described()[0][1]


# Which columns are categories


@pytest.mark.parametrize(
    "chosen",
    [
        ["count", "colour", "shape"],
        [1, 2, 4],
        [False, True, True, False, True, False],
        np.array([1, 2, 4]),
    ],
)
def test_categories_are_named_numbered_or_masked(data, chosen):
    frame, y = data
    classifier = quick(categorical_features=chosen).fit(frame, y)
    assert columns_of(classifier).levels[:5].tolist() == [0, 3, 2, 0, 5]
    assert treatments(classifier)["count"] == "5 categories"


def test_columns_of_arrays_can_be_categories(data):
    frame, y = data
    numbers = frame[["number", "count"]].to_numpy()
    classifier = quick(categorical_features=[1]).fit(numbers, y)
    assert columns_of(classifier).levels.tolist() == [0, 5]
    objects = frame[["number", "colour"]].to_numpy(dtype=object)
    assert columns_of(quick(categorical_features=[1]).fit(objects, y)).levels.tolist() == [0, 3]


def test_none_and_names_leave_no_room_for_other_texts(data):
    frame, y = data
    for chosen in (None, ["shape"]):
        with pytest.raises(ValueError, match="texts in column 'colour', such as 'blue'"):
            quick(categorical_features=chosen).fit(frame, y)
    numbers = frame.assign(count=frame["count"].astype("category"))[["number", "count"]]
    assert columns_of(quick(categorical_features=None).fit(numbers, y)).levels.tolist() == [0, 0]
    assert columns_of(quick().fit(numbers, y)).levels.tolist() == [0, 5]


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("all", "categorical_features='all' is not valid"),
        (["colours"], "names 'colours', which is no column of X"),
        ([9], "position 9, but X has 6 columns"),
        ([True, False], "a mask of 2 columns, but X has 6"),
        ([1.5], "is not valid"),
        ([[1]], "is not valid"),
    ],
)
def test_wrong_choices_are_named(data, chosen, message):
    frame, y = data
    with pytest.raises(ValueError, match=message):
        quick(categorical_features=chosen).fit(frame, y)
    with pytest.raises(ValueError, match="X has no names"):
        quick(categorical_features=["a"]).fit(np.eye(4), [0, 1, 0, 1])


# Everything else that a model does


def test_streams_take_frames(data):
    frame, y = data
    whole = quick().fit(frame, y)
    stream = quick().fit(frame, y).forget(frame.head(20), y[:20])
    stream.partial_fit(frame.head(20)[frame.columns[::-1]], y[:20])
    np.testing.assert_allclose(stream.predict_proba(frame), whole.predict_proba(frame), atol=1e-6)
    assert np.isfinite(stream.refresh(frame, y).predict_proba(frame)).all()
    begun = quick().partial_fit(frame.head(30), y[:30]).partial_fit(frame.tail(30), y[30:])
    assert np.isfinite(begun.predict_proba(frame)).all()
    assert np.isfinite(whole.loo_proba(frame, y)).all()


def test_a_stream_may_meet_its_first_hole_late(data):
    frame, y = data
    X = frame[["number", "count"]].to_numpy(dtype=float)
    stream = quick().partial_fit(X[:40], y[:40])
    later = X[40:].copy()
    later[0, 0] = np.nan
    stream.partial_fit(later, y[40:])
    assert not columns_of(stream).is_plain
    assert np.isfinite(stream.predict_proba(later)).all()
    settled = quick().fit(X, y)
    expected = settled.predict_proba(X)
    settled.partial_fit(later, y[40:]).forget(later, y[40:])
    np.testing.assert_allclose(settled.predict_proba(X), expected, atol=1e-6)


def test_models_of_other_columns_are_not_merged(data):
    frame, y = data
    one, other = quick().fit(frame, y), quick().fit(frame.drop(columns="day"), y)
    with pytest.raises(ValueError, match="columns"):
        one.merge(other)


def test_rows_of_weight_zero_teach_nothing(data):
    frame, y = data
    more = pd.concat([frame, frame.head(5).assign(colour="mauve")], ignore_index=True)
    weights = np.r_[np.ones(N), np.zeros(5)]
    classifier = quick().fit(more, np.r_[y, y[:5]], weights)
    assert columns_of(classifier).levels[1] == 3


def test_a_checkpoint_may_be_of_frames(data, tmp_path):
    frame, y = data
    kept = quick().fit(frame, y, checkpoint=tmp_path / "fit.ckpt")
    assert columns_of(kept) == columns_of(quick().fit(frame, y))


def test_columns_are_saved_with_the_model(data, tmp_path):
    frame, y = data
    X = frame.assign(number=frame["number"].where(frame["number"] < 1))
    mask = np.array([False, True, True, False, False, False])
    for chosen in ("from_dtype", ["colour", "shape"], [1, 2], mask):
        classifier = quick(categorical_features=chosen).fit(X, y)
        classifier.save(tmp_path / "model.dgp")
        loaded = DirichletGPClassifier.load(tmp_path / "model.dgp")
        assert columns_of(loaded) == columns_of(classifier)
        new = X[X.columns[::-1]]
        np.testing.assert_array_equal(loaded.predict_proba(new), classifier.predict_proba(X))
        np.testing.assert_array_equal(loaded.categorical_features, chosen)


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "spell"},
        {"style": "binary"},
        {"name": 3},
        {"mistakes": "all"},
        {"missing": 1},
        {"surplus": 1},
    ],
)
def test_columns_that_make_no_sense_are_not_loaded(change):
    content = learned_columns(Frame(pd.DataFrame({"x": [0.5, np.nan]})), Wishes()).as_json()
    content["kinds"][0] |= change
    with pytest.raises((ValueError, KeyError, TypeError)):
        Columns.from_json(content)


@pytest.mark.parametrize(
    "rival", [GPRegressionClassifier, NystromRidgeClassifier, VariationalGPClassifier]
)
def test_rivals_say_in_which_column_they_want_numbers_and_who_takes_others(data, rival):
    frame, y = data
    numbers = pd.DataFrame({"a": np.arange(N) % 7.0, "b": np.arange(N) % 5.0})
    holes = numbers.assign(b=np.where(np.arange(N) == 4, np.nan, 1.0))
    ours = "DirichletGPClassifier takes texts, categories and missing values as they are"
    with pytest.raises(ValueError, match=f"texts in column 'colour', such as .*{ours}"):
        rival(n_inducing=5).fit(frame[["colour"]], y)
    with pytest.raises(ValueError, match=rf"NaN .* in column 'b', first in row 4\..*{ours}"):
        rival(n_inducing=5).fit(holes, y)


def test_fitted_rivals_name_the_column_too(data):
    _, y = data
    numbers = pd.DataFrame({"a": np.arange(N) % 7.0, "b": np.arange(N) % 5.0})
    rival = NystromRidgeClassifier(n_inducing=5).fit(numbers, y)
    with pytest.raises(ValueError, match=r"NaN .* in column 'b', first in row 0"):
        rival.predict(numbers.assign(b=np.nan))
    with pytest.raises(ValueError, match="texts in column 'a', such as 'x'"):
        rival.predict(numbers.assign(a="x"))


def test_texts_in_an_array_are_refused_by_the_name_of_their_column():
    X = np.array([[1.0, "red"], [2.0, "blue"]] * 5, dtype=object)
    with pytest.raises(ValueError, match=r"texts in column 1, such as .* categorical_features"):
        DirichletGPClassifier().fit(X, np.arange(10) % 2)


@pytest.mark.parametrize("kernel", ["rbf", "product"])
def test_neither_of_two_values_is_not_the_frequent_one(kernel):
    rng = np.random.default_rng(0)
    values = np.where(rng.uniform(size=300) < 0.7, "male", "female")
    y = np.where(values == "male", rng.uniform(size=300) < 0.1, rng.uniform(size=300) < 0.9)
    frame = pd.DataFrame({"sex": values, "age": rng.normal(size=300)})
    classifier = DirichletGPClassifier(kernel, n_inducing=30, max_iter=5, random_state=0)
    classifier.fit(frame, y)

    def probability(value):
        rows = pd.DataFrame({"sex": pd.Series([value], dtype=object), "age": [0.0]})
        return classifier.predict_proba(rows)[0, 1]

    male, female = probability("male"), probability("female")
    assert male < 0.3 < 0.7 < female
    for strange in ("robot", None):
        assert male + 0.1 < probability(strange) < female - 0.1
