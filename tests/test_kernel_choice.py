"""kernel="auto" takes the kernel that predicts rows it was not learned from, and says so."""

import copy
import re

import numpy as np
import pandas as pd
import pytest

from dirichletgp import DirichletGPClassifier

pytestmark = pytest.mark.filterwarnings("ignore:Rows left out:RuntimeWarning")

N = 300


def auto(**parameters):
    """A model of few steps: what is looked at is the choice that comes before them."""
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(
        **{"n_inducing": 20, "max_iter": 1, "random_state": 0, **labels, **parameters}
    )


def choice(classifier):
    """What the fit says of its choice: the name, and the loss of every family."""
    (stage,) = [each for each in classifier.history_ if each["stage"] == "choice of the kernel"]
    name, losses = re.fullmatch(r"(.*) \((.*)\)", stage["note"]).groups()
    pairs = [part.rsplit(" ", 1) for part in losses.split("; ")]
    return name, {family: float(loss) for family, loss in pairs}


def one_category_among_noise(n=N, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 5)), columns=list("abcde"))
    frame["kind"] = rng.choice(list("pqrstu"), n)
    y = np.isin(frame["kind"], ["p", "r", "u"]) ^ (rng.random(n) < 0.1)
    return frame, y.astype(int)


def ripples(n=N, seed=0):
    """Classes that depend on the distance from the middle: no feature says anything by itself."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (np.sin(2.5 * np.linalg.norm(X, axis=1)) > 0).astype(int)


@pytest.fixture(scope="module")
def table():
    return auto().fit(*one_category_among_noise())


@pytest.fixture(scope="module")
def smooth():
    return auto().fit(*ripples())


def test_a_category_among_noise_wants_the_product_kernel(table):
    name, losses = choice(table)
    assert table.kernel_ == name == "product"
    assert set(losses) == {"product", "rbf", "rbf, one lengthscale"}
    assert losses["product"] == min(losses.values())


def test_a_smooth_function_of_distances_wants_a_kernel_of_distances(smooth):
    name, losses = choice(smooth)
    assert smooth.kernel_ == "rbf"
    assert name.startswith("rbf")
    assert losses[name] == min(losses.values())
    assert losses[name] < losses["product"]


def test_it_is_printed(capsys):
    auto(verbose=1).fit(*ripples(60))
    (line,) = [
        line for line in capsys.readouterr().out.splitlines() if "choice of the kernel" in line
    ]
    assert re.search(r"product \d\.\d+; rbf \d\.\d+; rbf, one lengthscale \d\.\d+", line)


def test_neither_the_random_state_nor_threads_nor_the_order_of_rows_nor_names_of_classes_matter():
    frame, y = one_category_among_noise(80)
    _, expected = choice(auto().fit(frame, y))
    order = np.random.default_rng(1).permutation(80)
    for other in (
        auto().fit(frame, y),
        auto(random_state=7, n_jobs=1).fit(frame, y),
        auto(random_state=None, n_jobs=2).fit(frame, y),
        auto().fit(frame.iloc[order], y[order]),
        auto().fit(frame, np.where(y == 1, "a", "b")),
    ):
        _, losses = choice(other)
        assert losses == pytest.approx(expected, abs=2e-4)


def test_a_weight_is_a_repetition():
    frame, y = one_category_among_noise(60)
    twice = np.arange(60) % 3 == 0
    _, weighted = choice(auto().fit(frame, y, np.where(twice, 2.0, 1.0)))
    _, repeated = choice(
        auto().fit(pd.concat([frame, frame[twice]]), np.concatenate([y, y[twice]]))
    )
    assert weighted == pytest.approx(repeated, abs=2e-4)


def test_it_does_not_fall_for_sixty_lengthscales():
    """Every feature says a little; learning what each says takes more rows than there are."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 60))
    y = (X.sum(axis=1) / 4 + rng.normal(size=300) > 0).astype(int)
    name, losses = choice(auto().fit(X, y))
    assert name == "rbf, one lengthscale"
    assert losses[name] == min(losses.values())


@pytest.mark.parametrize("kernel", ["product", "rbf", "matern32"])
def test_a_kernel_that_is_named_is_taken(kernel):
    classifier = auto(kernel=kernel).fit(*ripples(60))
    assert classifier.kernel_ == kernel
    assert not any(each["stage"] == "choice of the kernel" for each in classifier.history_)


def test_one_lengthscale_for_all_may_be_asked_for():
    classifier = auto(ard=False).fit(*ripples(60))
    _, losses = choice(classifier)
    assert set(losses) == {"product, one lengthscale", "rbf, one lengthscale"}
    assert np.ndim(classifier.lengthscale_) == 0


def test_starting_values_and_no_iterations_are_those_of_a_kernel_of_distances():
    X, y = ripples(60)
    for parameters in ({"lengthscale": 0.7}, {"max_iter": 0}):
        classifier = auto(**parameters).fit(X, y)
        assert classifier.kernel_ == "rbf"
        assert not any(each["stage"] == "choice of the kernel" for each in classifier.history_)


def test_a_handful_of_rows_cannot_judge():
    X, y = ripples(19)
    classifier = auto().fit(X, y)
    (stage,) = [each for each in classifier.history_ if each["stage"] == "choice of the kernel"]
    assert stage["note"] == "rbf, one lengthscale (too few rows to compare)"
    assert np.ndim(classifier.lengthscale_) == 0


@pytest.mark.parametrize("seed", range(6))
def test_rare_classes_repeated_rows_and_constant_columns_do_no_harm(seed):
    rng = np.random.default_rng(seed)
    n, n_classes = int(rng.integers(20, 45)), int(rng.integers(2, 15))
    X = np.round(rng.normal(size=(n, 2)), int(rng.integers(0, 3)))
    X[:, 1] *= rng.integers(0, 2)
    y = np.where(rng.random(n) < 0.6, 0, rng.integers(0, n_classes, n))
    y[:2] = 0, 1
    classifier = auto(max_iter=3).fit(X, y)
    assert np.isfinite(classifier.predict_proba(X)).all()


def test_a_stream_keeps_its_kernel_when_it_learns_anew(table):
    again = copy.deepcopy(table).refresh(*one_category_among_noise(60, seed=1))
    assert again.kernel_ == "product"
    assert not any(each["stage"] == "choice of the kernel" for each in again.history_)


def test_names_that_are_not_known_are_told_the_others():
    with pytest.raises(ValueError, match=r"kernel='trees' is not known; pass one of \('auto', "):
        auto(kernel="trees").fit(*ripples(30))


@pytest.mark.parametrize(
    ("n", "n_columns", "is_tried"), [(1_400, 2, True), (1_700, 2, False), (1_700, 40, True)]
)
def test_one_lengthscale_for_all_is_tried_where_rows_are_few_or_columns_many(
    n, n_columns, is_tried
):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, n_columns))
    _, losses = choice(auto().fit(X, X[:, 0] > 0))
    assert ("rbf, one lengthscale" in losses) is is_tried
    assert "rbf" in losses
