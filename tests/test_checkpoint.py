"""A fit that is killed goes on where it was, and ends with the same model."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from interruptions import interrupt_the_pass
from sklearn.datasets import make_classification
from sklearn.preprocessing import FunctionTransformer

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import chunks
from dirichletgp.persistence import checkpoint as checkpoints
from dirichletgp.persistence.archive import ModelFileError, read_archive, write_archive

SCRIPT = """
import sys
import numpy as np
from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import chunks
from dirichletgp.persistence import checkpoint

checkpoint._SECONDS, checkpoint._SHARE = 0.0, 1e9  # write after every chunk
chunks._MOST_ROWS = 1_024
rng = np.random.default_rng(0)
X = rng.normal(size=(30_000, 5))
y = (X[:, 0] * X[:, 1] + rng.normal(size=30_000) > 0).astype(int)
print("go", flush=True)
classifier = DirichletGPClassifier(
    "product", n_inducing=60, max_iter=4, n_subsample=1_000, alpha_epsilon=0.05, random_state=0
)
classifier.fit(X, y, checkpoint=sys.argv[1])
classifier.save(sys.argv[2])
"""


@pytest.fixture(scope="module")
def data():
    return make_classification(1_500, 4, n_informative=4, n_redundant=0, random_state=0)


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(chunks, "_MOST_ROWS", 256)
    monkeypatch.setattr(chunks, "_FEWEST_ROWS", 256)
    monkeypatch.setattr(checkpoints, "_SECONDS", 0.0)
    monkeypatch.setattr(checkpoints, "_SHARE", 1e9)


def quick(**parameters):
    return DirichletGPClassifier(
        **{"kernel": "rbf", "n_inducing": 20, "max_iter": 2, "random_state": 0, **parameters}
    )


def run(checkpoint, model, seconds=None):
    """A fit in a process of its own: whether it was killed after so many seconds, and how long."""
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, checkpoint, model], stdout=subprocess.PIPE
    ) as process:
        process.stdout.readline()
        begin = time.monotonic()
        try:
            assert process.wait(timeout=seconds) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return True, seconds
    return False, time.monotonic() - begin


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_killing_at_random_moments_changes_nothing(tmp_path):
    _, duration = run(tmp_path / "whole.ckpt", tmp_path / "whole.dgp")
    expected = read_archive(tmp_path / "whole.dgp", "classifier").arrays
    assert not (tmp_path / "whole.ckpt").exists()
    checkpoint = tmp_path / "fit.ckpt"
    model = tmp_path / "fit.dgp"
    kills = 0
    rng = np.random.default_rng(int.from_bytes(os.urandom(4), "little"))
    while kills < 3 or not model.exists():
        model.unlink(missing_ok=True)
        seconds = None if kills == 3 else rng.uniform(0.05, 0.6) * duration
        killed, _ = run(checkpoint, model, seconds)
        kills += killed
        if checkpoint.exists():
            read_archive(checkpoint, "checkpoint")  # whole, whenever the process died
    found = read_archive(model, "classifier").arrays
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)
    assert not checkpoint.exists()


@pytest.mark.parametrize(("stop_at", "random_state"), [(0, 0), (1, 0), (4, 0), (4, None)])
def test_an_interrupted_fit_goes_on(
    data, tmp_path, small_chunks, monkeypatch, stop_at, random_state
):
    X, y = data
    path = tmp_path / "fit.ckpt"
    classifier = quick(random_state=random_state)
    with monkeypatch.context() as patch:
        interrupt_the_pass(patch, stop_at)
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(X, y, checkpoint=path)
    assert not hasattr(classifier, "classes_")
    assert path.exists()
    first = read_archive(path, "checkpoint")
    assert first.content.get("done", 0) == 256 * stop_at

    after = []
    keep = checkpoints.Checkpoint.keep_statistics

    def kept(self, statistics, done):
        after.append(done)
        keep(self, statistics, done)

    monkeypatch.setattr(checkpoints.Checkpoint, "keep_statistics", kept)
    classifier.fit(X, y, checkpoint=path)
    assert not path.exists()
    assert after == [*range(256 * (stop_at + 1), 1_500, 256), 1_500]
    if random_state == 0:
        whole = quick().fit(X, y, checkpoint=tmp_path / "other.ckpt")
        np.testing.assert_array_equal(classifier.predict_proba(X), whole.predict_proba(X))
        np.testing.assert_array_equal(classifier.loo_proba(X, y), whole.loo_proba(X, y))


def test_a_checkpointed_fit_is_the_fit(data, tmp_path):
    X, y = data
    kept, plain = quick().fit(X, y, checkpoint=tmp_path / "fit.ckpt"), quick().fit(X, y)
    np.testing.assert_allclose(kept.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_of_another_fit_is_refused(data, tmp_path, monkeypatch):
    X, y = data
    path = tmp_path / "fit.ckpt"

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chunks.ChunkedRows, "class_statistics", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quick().fit(X, y, checkpoint=path)
    with pytest.raises(ValueError, match=r"that of a fit to other rows; .* delete the file"):
        quick().fit(X[1:], y[1:], checkpoint=path)
    with pytest.raises(ValueError, match="that of a fit with other parameters"):
        quick(kernel="matern32").fit(X, y, checkpoint=path)
    assert path.exists()
    quick(n_jobs=1, verbose=0).fit(X, y, checkpoint=path)
    assert not path.exists()


def test_a_checkpoint_with_a_kernel_that_is_not_known_is_refused(data, tmp_path, monkeypatch):
    path = tmp_path / "fit.ckpt"

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chunks.ChunkedRows, "class_statistics", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quick().fit(*data, checkpoint=path)
    archive = read_archive(path, "checkpoint")
    archive.content["state"]["family"] = "linear"
    write_archive(path, "checkpoint", archive)
    with pytest.raises(ModelFileError, match="kernel='linear' is not known"):
        quick().fit(*data, checkpoint=path)


@pytest.fixture
def stopped(data, tmp_path, small_chunks, monkeypatch):
    """The checkpoint of a fit that was stopped, with a sample that is not all rows."""
    monkeypatch.setattr("dirichletgp._gp.rows.door._SAMPLE_ROWS", 200)
    monkeypatch.setattr("dirichletgp._gp.classifier.POOL_ROWS", 200)

    def interrupt(*_):
        raise KeyboardInterrupt

    path = tmp_path / "fit.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(chunks.ChunkedRows, "class_statistics", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quick().fit(*data, checkpoint=path)
    return path


def test_a_checkpoint_knows_rows_that_are_not_in_the_sample(data, stopped):
    X, y = data
    for place in (0, 700, 1_499):
        other = X.copy()
        other[place] = np.nextafter(other[place], 9.0)
        with pytest.raises(ValueError, match="that of a fit to other rows"):
            quick().fit(other, y, checkpoint=stopped)
    quick().fit(X, y, checkpoint=stopped)
    assert not stopped.exists()


def test_a_checkpoint_knows_labels_with_the_same_totals(data, stopped):
    X, y = data
    swapped = y.copy()
    one, other = np.flatnonzero(y == 0)[-1], np.flatnonzero(y == 1)[-1]
    swapped[[one, other]] = swapped[[other, one]]
    for labels in (swapped, np.array(["a", "b"])[y]):
        with pytest.raises(ValueError, match="that of a fit to other rows"):
            quick().fit(X, labels, checkpoint=stopped)
    with pytest.raises(ValueError, match="that of a fit to other rows"):
        quick().fit(X, y, np.where(np.arange(len(y)) == 5, 2.0, 1.0), checkpoint=stopped)


def test_a_checkpoint_knows_the_rows_of_a_file(data, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X, y = data
    colour = np.where(X[:, 2] > 0, "red", "green")

    def write(words):
        columns = {"a": X[:, 0], "b": X[:, 1], "colour": words, "y": y}
        parquet.write_table(pa.table(columns), tmp_path / "rows.parquet")

    def interrupt(*_):
        raise KeyboardInterrupt

    write(colour)
    path = tmp_path / "fit.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr(chunks.ChunkedRows, "class_statistics", interrupt)
        with pytest.raises(KeyboardInterrupt):
            quick().fit(tmp_path / "rows.parquet", y="y", checkpoint=path)
    write(np.where(X[:, 2] > 0, "rot", "green"))
    with pytest.raises(ValueError, match="that of a fit to other rows"):
        quick().fit(tmp_path / "rows.parquet", y="y", checkpoint=path)
    write(colour)
    quick().fit(tmp_path / "rows.parquet", y="y", checkpoint=path)
    assert not path.exists()


def test_parameters_are_told_apart_by_all_their_numbers_and_not_by_their_place_in_memory():
    points = np.zeros((600, 3))
    other = points.copy()
    other[300] = 1.0
    described = checkpoints._described
    assert repr(points) == repr(other)
    assert repr(described({"inducing": points})) != repr(described({"inducing": other}))
    assert repr(described({"inducing": points})) == repr(described({"inducing": points.copy()}))
    scalers = [
        FunctionTransformer(np.log1p),
        FunctionTransformer(np.log1p),
        FunctionTransformer(np.sqrt),
    ]
    one, same, different = (repr(described({"scaler": scaler})) for scaler in scalers)
    assert one == same != different
    assert " at 0x" not in repr(described({"scaler": FunctionTransformer(lambda X: X)}))


def test_what_is_not_a_checkpoint_is_refused(data, tmp_path):
    path = tmp_path / "fit.ckpt"
    path.write_bytes(b"something else")
    with pytest.raises(ModelFileError, match="not a file of this library"):
        quick().fit(*data, checkpoint=path)
    assert path.read_bytes() == b"something else"
    quick().fit(*data).save(path, overwrite=True)
    with pytest.raises(ModelFileError, match="not a 'checkpoint'"):
        quick().fit(*data, checkpoint=path)


def test_progress_shows_speed_and_time_left(data, tmp_path, small_chunks, monkeypatch, capsys):
    monkeypatch.setattr("dirichletgp._gp.training.settings._SECONDS_BETWEEN_LINES", 0.0)
    quick(verbose=1).fit(*data, checkpoint=tmp_path / "fit.ckpt")
    printed = capsys.readouterr().out
    assert "rows/s" in printed
    assert "s left" in printed
    assert "1,500 rows, 2 classes" in printed


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_stops_within_a_block(monkeypatch):
    """A span has up to 16,384 rows, a block about a thousand: no more than a block is finished."""
    monkeypatch.setattr("dirichletgp._gp.training.schedule.FEW_POINTS", 1_000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400_000, 3))
    y = (X[:, 0] > 0).astype(int)
    classifier = DirichletGPClassifier(
        inducing=X[:1_000],
        lengthscale=1.0,
        variance=1.0,
        max_iter=0,
        alpha_epsilon=0.1,
        n_jobs=2,
        scaler=None,
    )
    pressed = []

    def press():
        while not pressed:
            time.sleep(0.02)
            if any("add_rows" in _functions(frame) for frame in sys._current_frames().values()):
                time.sleep(0.3)
                pressed.append(time.process_time())
                os.kill(os.getpid(), signal.SIGINT)

    # Background jobs of a shell start with SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    presser = threading.Thread(target=press)
    presser.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            classifier.fit(X, y)
        stopped = time.process_time()
    finally:
        pressed.append(0.0)
        presser.join()
        signal.signal(signal.SIGINT, before)
    assert stopped - pressed[0] < 1.0
    assert not hasattr(classifier, "classes_")


def _functions(frame):
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back
