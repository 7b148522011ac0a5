"""What cannot be right is refused in words that say what was got and what to do instead."""

import re
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.kernels import KERNELS
from dirichletgp._gp.core.parallel import effective_threads
from dirichletgp._gp.rows.columns import Columns
from dirichletgp._gp.rows.frames import Days, Frame, Numbers, Strange, Words, of_array
from dirichletgp._gp.rows.kinds import Category, Date, Number, Unused
from dirichletgp._gp.rows.learning import Wishes, learned_columns
from dirichletgp._gp.rows.soft_labels import voted_rows, votes_of
from dirichletgp._gp.rows.texts import Texts, as_days, is_date_pattern
from dirichletgp._gp.rows.weights import sample_weights
from dirichletgp.persistence.archive import Archive, ModelFileError, read_archive, write_archive

X = np.random.default_rng(0).normal(size=(30, 3))
y = (X[:, 0] > 0).astype(int)
Y3 = np.arange(30) % 3


def quick(**parameters):
    basis = {"kernel": "rbf", "n_inducing": 8, "max_iter": 0, "random_state": 0, "n_jobs": 1}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{**basis, **labels, **parameters})


class Blocks:
    """Blocks of rows that can be read again and again."""

    def __init__(self, *blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


@pytest.fixture(scope="module")
def two():
    return quick().fit(X, y)


@pytest.fixture(scope="module")
def three():
    return quick().fit(X, Y3)


def refused(reason):
    return pytest.raises((ValueError, TypeError), match=re.escape(reason))


# Arguments


FITS = {
    "class_prior='flat' is not valid": (quick(class_prior="flat"), (X, y)),
    "pass 'empirical', 'uniform', or 2 positive": (quick(class_prior=[1.0, -1.0]), (X, y)),
    "scaler='rank' is not known": (quick(scaler="rank"), (X, y)),
    "scaler=3 is not known": (quick(scaler=3), (X, y)),
    "categorical_features": (quick(categorical_features=[1.5]), (X, y)),
    "block 1 is a str; pass tuples (X, y)": (quick(), (Blocks((X, y), "no"),)),
    "X has no blocks": (quick(), (Blocks(),)),
    "block 0 has 30 rows, but 29 labels": (quick(), (Blocks((X, y[:-1])),)),
    "label_transform='none' is not known": (quick(label_transform="none"), (X, y)),
    "n_regions=3 is not possible with optimize_inducing=True": (
        quick(n_regions=3, optimize_inducing=True),
        (X, y),
    ),
    "n_regions=2 is not possible with given inducing points": (
        quick(n_regions=2, inducing=X[:4]),
        (X, y),
    ),
}


@pytest.mark.parametrize("reason", FITS)
def test_a_fit_is_refused(reason):
    classifier, given = FITS[reason]
    with refused(reason):
        classifier.fit(*given)
    assert not hasattr(classifier, "classes_")


def test_memory_that_does_not_suffice_for_regions_is_said():
    with refused("n_regions=4 needs more than memory_limit=100 bytes"):
        quick(n_regions=4, memory_limit=100).fit(X, y)


def test_questions_about_labels_and_features_name_what_is_wrong(two, three):
    with refused("label=None, but there are 3 classes; pass a label."):
        three.threshold(X, Y3, precision=0.9)
    with refused("label='no' is not among the classes, [0, 1]."):
        two.threshold(X, y, precision=0.9, label="no")
    with refused("name one feature, or two."):
        two.effect(X, 0, 1, 2)


def test_a_single_weight_is_that_of_every_row():
    assert sample_weights(2.0, 3).tolist() == [2.0, 2.0, 2.0]
    with refused("sample_weight has shape (2,), but X has 3 rows"):
        sample_weights([1.0, 2.0], 3)


def test_weights_of_one_number_change_nothing_but_how_much_is_known():
    once, thrice = quick().fit(X, y), quick().fit(X, y, 3.0)
    assert thrice.class_count_.sum() == pytest.approx(3 * once.class_count_.sum())


# Columns


def test_an_array_of_dates_or_durations_is_read_in_days():
    days = of_array(np.array(["1970-01-03", "NaT"], dtype="datetime64[h]"))
    assert isinstance(days, Days)
    np.testing.assert_array_equal(days.values, [2.0, np.nan])
    spans = of_array(np.array([36], dtype="timedelta64[h]"))
    assert isinstance(spans, Numbers)
    assert spans.values.tolist() == [1.5]
    assert of_array(np.zeros(2, dtype=complex)) == Strange("complex128", 0)


def test_moments_with_a_zone_are_those_of_the_world():
    noon = datetime(1970, 1, 2, 12, tzinfo=UTC)
    frame = Frame(np.array([[noon, Decimal(2)], [None, 3]], dtype=object))
    days = frame.values(0)
    assert isinstance(days, Days)
    np.testing.assert_array_equal(days.values, [1.5, np.nan])
    assert as_days("1970-01-02T12:00:00+00:00", "iso") == 1.5
    assert frame.values(1).values.tolist() == [2.0, 3.0]


def test_a_pattern_too_long_to_be_one_is_none():
    assert not is_date_pattern("%Y" + "-" * 1_000)


def test_a_column_of_another_kind_than_in_training_is_refused():
    days = Days(np.zeros(2))
    with refused("column 'age' holds dates, but numbers in the rows that the model"):
        Number("age").matrix(days, None)
    with refused("column 'colour' holds dates, but categories"):
        Category("colour", ["red"]).matrix(days, None)
    with refused("column 'day' holds values of type list, but dates"):
        Date("day", "iso", ["day"]).matrix(Strange("list", 2), None)


def test_columns_that_are_all_numbers_are_described_and_found_again():
    for names in (None, ["a", "b"]):
        columns = Columns(2, names)
        assert Columns.from_json(columns.as_json()) == columns
        assert [what for _, what in columns.described()] == ["number", "number"]


def test_holes_that_were_not_there_in_training_are_taken_by_every_kind():
    kinds = {
        "number": [1.0, 2.0, 3.5, 4.0],
        "category": ["a", "b", "a", "b"],
        "date": np.array(["2024-01-01", "2024-02-01", "2024-03-05", "2024-04-01"], dtype="M8[D]"),
    }
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(kinds)
    columns = learned_columns(Frame(frame), Wishes(), np.array([0, 1, 0, 1]))
    width = len(columns.levels)
    holes = columns.with_missing(np.ones(width, dtype=bool))
    assert [kind.missing for kind in holes.kinds] == [True, True, True]
    assert not any(kind.missing for kind in columns.kinds)


def test_a_column_without_meaning_is_left_out_and_said_why():
    pd = pytest.importorskip("pandas")
    same = pd.to_datetime(["2024-01-01"] * 4)
    nothing = pd.to_datetime([None] * 4)
    frame = pd.DataFrame({"same": same, "none": nothing, "size": [1.0, 2.0, 4.0, 9.0]})
    kinds = learned_columns(Frame(frame), Wishes(drops=True), None).kinds
    assert kinds[0] == Unused("same", "always the same date")
    assert kinds[1] == Unused("none", "empty")


def test_objects_that_are_neither_numbers_nor_texts_are_refused_by_column():
    rows = np.array([[{1}, "a"], [{2}, "b"]] * 5, dtype=object)
    with refused("X holds a set in column 'x0'"):
        learned_columns(Frame(rows), Wishes(drops=False), None)
    assert learned_columns(Frame(rows), Wishes(), None).kinds[0] == Unused(
        "x0", "values of type set"
    )


def test_votes_are_those_of_the_rows():
    with refused("X has 30 rows, but y has 29; pass one per row"):
        voted_rows(X, votes_of(np.ones((29, 2))), None)


def test_truths_are_written_as_such():
    truths = Numbers(np.array([1.0, 0.0, np.nan]), truths=True)
    assert truths.as_texts().distinct == ["False", "True"]
    assert Numbers(np.array([0.5, 2.0])).as_texts().distinct == ["0.5", "2"]


def test_texts_where_numbers_are_read_as_numbers_or_missing():
    read = Number("a", mistakes=["none"]).matrix(
        Words(Texts(["1", "none"], np.array([0, 1]))), None
    )
    np.testing.assert_array_equal(read, [[1.0], [np.nan]])


# Files


def test_an_array_that_no_file_can_hold_is_refused(tmp_path):
    with refused("complex"):
        write_archive(tmp_path / "a.dgp", "kind", Archive({}, {"z": np.zeros(1, dtype=complex)}))
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_more_than_it_should_have_is_refused(tmp_path):
    path = tmp_path / "a.dgp"
    write_archive(path, "kind", Archive({}, {"a": np.zeros(2), "b": np.array([True, False])}))
    saved = path.read_bytes()
    path.write_bytes(saved + b"x")
    with pytest.raises(ModelFileError, match="longer than it should be"):
        read_archive(path, "kind")
    path.write_bytes(saved)
    with pytest.raises(ModelFileError, match="holds a 'kind', not a 'classifier'"):
        read_archive(path, "classifier")


def test_truths_in_a_file_are_zero_or_one(tmp_path):
    path = tmp_path / "a.dgp"
    odd = np.array([0, 2], dtype=np.uint8).view(bool)
    write_archive(path, "kind", Archive({}, {"b": odd}))
    with pytest.raises(ModelFileError, match="truths that are neither 0 nor 1"):
        read_archive(path, "kind")


def test_a_model_that_a_file_cannot_hold_says_so(tmp_path):
    from sklearn.preprocessing import StandardScaler

    path = tmp_path / "model.dgp"
    with refused("cannot be saved: only the scalers"):
        quick(scaler=StandardScaler()).fit(X, y).save(path)
    days = np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]")[y]
    with refused("cannot be saved; use numbers or strings as labels"):
        quick().fit(X, days).save(path)
    assert list(tmp_path.iterdir()) == []


def test_a_number_of_cores_may_be_left_free():
    cores = effective_threads(-1)
    assert effective_threads(-2) == max(1, cores - 1)
    assert effective_threads(-1_000) == 1
    with refused("n_jobs=0 is not valid"):
        effective_threads(0)


def test_kernels_of_another_kind_are_no_beginning():
    rbf = KERNELS["rbf"](np.ones(3), 1.0)
    product = KERNELS["product"].starting(X, None, 1.0, True)
    assert KERNELS["matern32"].continuing(product, True) is None
    assert KERNELS["product"].continuing(rbf, True) is None
    assert product.beginning_at(rbf) is product
    assert KERNELS["matern32"].continuing(rbf, False).lengthscale.tolist() == [1.0, 1.0, 1.0]
