"""A fit with regions that is stopped, at any stage, ends with the model of one that was not."""

import numpy as np
import pytest

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.regional import RegionalBasis
from dirichletgp._gp.core.regressions import Basis
from dirichletgp._gp.rows import chunks
from dirichletgp._gp.training import cutting, schedule
from dirichletgp.persistence import checkpoint as checkpoints
from dirichletgp.persistence.archive import ModelFileError, read_archive, write_archive

N = 1_500


@pytest.fixture(scope="module")
def data():
    """Classes that change from square to square."""
    X = np.random.default_rng(0).uniform(0, 4, size=(N, 2))
    return X, np.floor(X).sum(axis=1).astype(int) % 2


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "_MOST_ROWS", 256)
    monkeypatch.setattr(chunks, "_FEWEST_ROWS", 256)
    monkeypatch.setattr(checkpoints, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_SHARE", 1e9)
    monkeypatch.setattr(schedule, "SOME_ROWS", 1_000)
    monkeypatch.setattr(schedule, "MANY_ROWS", 1_000)


def quick(**parameters):
    few = {"kernel": "rbf", "n_inducing": 20, "max_iter": 2, "random_state": 0, "n_jobs": 1}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.1}
    return DirichletGPClassifier(**{**few, **labels, "n_regions": 4, **parameters})


def compared_in_full(monkeypatch):
    """Let "auto" finish the model without regions before it decides for regions."""
    monkeypatch.setattr(cutting, "_FAR_BETTER", 0.0)


def arrays_of(classifier, folder):
    classifier.save(folder / "model.dgp")
    return read_archive(folder / "model.dgp", "classifier").arrays


def assert_same_bits(one, other, folder):
    mine, theirs = arrays_of(one, folder), arrays_of(other, folder)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        np.testing.assert_array_equal(array, theirs[name])


def stop_in_pass(patch, of, chunk):
    """Interrupt the pass with a kind of basis before so many of its chunks were summed up."""
    add_rows, passed = of.add_rows, []

    def interrupted(self, total, rows, workers):
        is_the_pass = total is not None and len(rows) <= 256
        if is_the_pass and len(passed) == chunk:
            raise KeyboardInterrupt
        passed.extend(["a chunk"] if is_the_pass else [])
        add_rows(self, total, rows, workers)

    patch.setattr(of, "add_rows", interrupted)


def stop_in(patch, owner, name):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    patch.setattr(owner, name, interrupted)


STAGES = {
    "before regions are proposed": lambda patch: stop_in(patch, cutting.Cutter, "propose"),
    "before the points of regions": lambda patch: stop_in(patch, cutting.Cutter, "basis"),
    "at the first chunk": lambda patch: stop_in_pass(patch, RegionalBasis, 0),
    "at the fourth chunk": lambda patch: stop_in_pass(patch, RegionalBasis, 3),
}


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("n_regions", [4, "auto"])
def test_a_stopped_fit_goes_on(data, tmp_path, monkeypatch, stage, n_regions):
    if n_regions == "auto":
        compared_in_full(monkeypatch)
    path = tmp_path / "fit.ckpt"
    classifier = quick(n_regions=n_regions)
    with monkeypatch.context() as patch:
        STAGES[stage](patch)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(*data, checkpoint=path)
    assert path.exists()
    proposed = []
    propose = cutting.Cutter.propose
    monkeypatch.setattr(
        cutting.Cutter,
        "propose",
        lambda *given, **more: proposed.append(1) or propose(*given, **more),
    )
    classifier.fit(*data, checkpoint=path)
    assert not path.exists()
    assert classifier.n_regions_ > 1
    assert bool(proposed) == (stage == "before regions are proposed")
    whole = quick(n_regions=n_regions).fit(*data, checkpoint=tmp_path / "other.ckpt")
    assert_same_bits(classifier, whole, tmp_path)


def test_a_fit_that_is_stopped_before_it_is_compared_with_regions_goes_on(
    data, tmp_path, monkeypatch
):
    compared_in_full(monkeypatch)
    path = tmp_path / "fit.ckpt"
    classifier = quick(n_regions="auto")
    with monkeypatch.context() as patch:
        stop_in_pass(patch, Basis, 2)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(*data, checkpoint=path)
    assert read_archive(path, "checkpoint").content["regions_taken"] is False
    classifier.fit(*data, checkpoint=path)
    whole = quick(n_regions="auto").fit(*data, checkpoint=tmp_path / "other.ckpt")
    assert classifier.n_regions_ > 1
    assert_same_bits(classifier, whole, tmp_path)


def test_a_checkpointed_fit_is_the_fit(data, tmp_path):
    kept, plain = quick().fit(*data, checkpoint=tmp_path / "fit.ckpt"), quick().fit(*data)
    np.testing.assert_allclose(kept.predict_proba(data[0]), plain.predict_proba(data[0]), atol=1e-9)
    assert kept.n_regions_ == 4


@pytest.fixture
def stopped(data, tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"
    with monkeypatch.context() as patch:
        stop_in_pass(patch, RegionalBasis, 3)
        with pytest.raises(KeyboardInterrupt):
            quick().fit(*data, checkpoint=path)
    return path


def test_a_checkpoint_of_other_rows_or_regions_is_refused(data, stopped):
    X, y = data
    with pytest.raises(ValueError, match="to other rows"):
        quick().fit(X[::-1], y[::-1], checkpoint=stopped)
    with pytest.raises(ValueError, match="with other parameters"):
        quick(n_regions=5).fit(X, y, checkpoint=stopped)
    quick(n_jobs=2).fit(X, y, checkpoint=stopped)
    assert not stopped.exists()


def shorter(name):
    def change(archive):
        archive.arrays[name] = archive.arrays[name][:-1]

    return change


def said(name, value):
    def change(archive):
        archive.content["proposal"][name] = value

    return change


def far_rows(archive):
    archive.arrays["proposal/judged"][-1] = 10**9


def other_points(archive):
    archive.content["proposal"]["most_points"] = 3


@pytest.mark.parametrize(
    "change",
    [
        shorter("regions/sums"),
        shorter("regions/thresholds"),
        shorter("proposal/judged"),
        said("seed", -1),
        said("kernel", {"family": "linear"}),
        far_rows,
        other_points,
    ],
)
def test_what_no_fit_wrote_is_refused(data, stopped, change):
    archive = read_archive(stopped, "checkpoint")
    change(archive)
    write_archive(stopped, "checkpoint", archive)
    with pytest.raises(ModelFileError, match="not one that a fit wrote"):
        quick().fit(*data, checkpoint=stopped)
    assert stopped.exists()
