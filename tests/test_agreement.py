"""All ways to a prediction agree: whatever rows come in, whatever the model went through."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.rows import chunks
from dirichletgp.persistence import checkpoint as checkpoints

NAMES = ["a", "b", "c"]
EXACT, SUMS, ONNX = 0.0, 1e-10, 1e-6


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        400, 3, n_informative=3, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    return X[:300], np.array(["x", "y", "z"])[y[:300]], X[300:]


def empty(X):
    """Kernel, points, scaling and labels are given: every way sums up the same rows."""
    given = {"inducing": X[:20], "lengthscale": 1.5, "variance": 5.0, "max_iter": 0, "scaler": None}
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02, "tolerance": 0.0}
    return DirichletGPClassifier("rbf", n_subsample=50, random_state=0, **given, **labels)


@pytest.fixture(scope="module")
def fitted(data):
    X, y, _ = data
    return empty(X).fit(X, y)


@pytest.fixture(scope="module")
def expected(data, fitted):
    return fitted.predict_proba(data[2])


# Ways to predict: functions of a fitted classifier, new rows and a folder.


def one_by_one(classifier, new, folder):
    return np.concatenate([classifier.predict_proba(row[None]) for row in new])


def in_batches(classifier, new, folder):
    return np.concatenate([classifier.predict_proba(part) for part in np.array_split(new, 7)])


def fortran_order(classifier, new, folder):
    return classifier.predict_proba(np.asfortranarray(new))


def lists(classifier, new, folder):
    return classifier.predict_proba(new.tolist())


def logarithms(classifier, new, folder):
    return np.exp(classifier.predict_log_proba(new))


def one_thread(classifier, new, folder):
    return copy.deepcopy(classifier).set_params(n_jobs=1).predict_proba(new)


def four_threads(classifier, new, folder):
    return copy.deepcopy(classifier).set_params(n_jobs=4).predict_proba(new)


def saved_and_loaded(classifier, new, folder):
    classifier.save(folder / "model.dgp")
    return DirichletGPClassifier.load(folder / "model.dgp").predict_proba(new)


def pickled(classifier, new, folder):
    return pickle.loads(pickle.dumps(classifier)).predict_proba(new)


def copied(classifier, new, folder):
    return copy.deepcopy(classifier).predict_proba(new)


def pandas_frame(classifier, new, folder):
    pd = pytest.importorskip("pandas")
    return classifier.predict_proba(pd.DataFrame(new, columns=NAMES).to_numpy())


def dask_array(classifier, new, folder):
    da = pytest.importorskip("dask.array")
    return classifier.predict_proba(da.from_array(new, chunks=(30, 3))).compute()


def tensor(classifier, new, folder):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    return classifier.predict_proba(torch.from_numpy(new))


def onnx_graph(classifier, new, folder):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from dirichletgp.export import onnx_rows, to_onnx

    graph = to_onnx(classifier).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    rows = {session.get_inputs()[0].name: onnx_rows(classifier, new)}
    return next(part for part in session.run(None, rows) if part.ndim == 2)


def compact(classifier, new, folder):
    if not hasattr(classifier, "compact"):
        pytest.skip("models of one size only")
    return classifier.compact().predict_proba(new)


PREDICTIONS = {
    one_by_one: EXACT,
    in_batches: EXACT,
    fortran_order: EXACT,
    lists: EXACT,
    logarithms: 1e-7,
    one_thread: EXACT,
    four_threads: EXACT,
    saved_and_loaded: EXACT,
    pickled: EXACT,
    copied: EXACT,
    pandas_frame: EXACT,
    dask_array: EXACT,
    tensor: SUMS,
    onnx_graph: ONNX,
    compact: 1e-3,
}


@pytest.mark.parametrize("way", PREDICTIONS, ids=lambda way: way.__name__)
def test_every_way_to_predict_agrees(way, data, fitted, expected, tmp_path):
    found = way(fitted, data[2], tmp_path)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=PREDICTIONS[way])


# Ways to fit: functions of rows, labels and a folder.


def frame(X, y, folder):
    pd = pytest.importorskip("pandas")
    return empty(X).fit(pd.DataFrame(X, columns=NAMES), y)


def polars_frame(X, y, folder):
    pl = pytest.importorskip("polars")
    return empty(X).fit(pl.DataFrame(X, schema=NAMES), y)


def parquet_file(X, y, folder):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.table({**dict(zip(NAMES, X.T, strict=True)), "label": y})
    parquet.write_table(table, folder / "rows.parquet")
    return empty(X).fit(folder / "rows.parquet", y="label")


def csv_file(X, y, folder):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pd.DataFrame(X, columns=NAMES).assign(label=y).to_csv(folder / "rows.csv", index=False)
    return empty(X).fit(folder / "rows.csv", y="label")


def arrow_table(X, y, folder):
    pa = pytest.importorskip("pyarrow")
    columns = {**dict(zip(NAMES, X.T, strict=True)), "label": y}
    return empty(X).fit(pa.table(columns), y="label")


def blocks(X, y, folder):
    places = np.array_split(np.arange(len(y)), 5)
    return empty(X).fit([(X[place], y[place]) for place in places])


def memory_map(X, y, folder):
    mapped = np.memmap(folder / "rows.bin", dtype=np.float64, mode="w+", shape=X.shape)
    mapped[:] = X
    return empty(X).fit(mapped, y)


def dask_rows(X, y, folder):
    da = pytest.importorskip("dask.array")
    return empty(X).fit(da.from_array(X, chunks=(100, 3)), da.from_array(y, chunks=100))


def tensor_rows(X, y, folder):
    torch = pytest.importorskip("torch")
    pytest.importorskip("array_api_compat")
    return empty(X).fit(torch.from_numpy(X), y)


def stream(X, y, folder):
    found = empty(X)
    for place in np.array_split(np.arange(len(y)), 9):
        found.partial_fit(X[place], y[place], classes=["x", "y", "z"])
    return found


def stream_that_forgot(X, y, folder):
    found = empty(X).fit(np.concatenate([X, X + 0.1]), np.concatenate([y, y]))
    return found.forget(X + 0.1, y)


def merged_parts(X, y, folder):
    first, second = (empty(X).fit(X[place::2], y[place::2]) for place in (0, 1))
    return first.merge(second)


def weights(X, y, folder):
    twice = np.repeat(np.arange(len(y)), 2)
    return empty(X).fit(X[twice], y[twice], np.tile([0.25, 0.75], len(y)))


def sent_out_and_back(X, y, folder):
    found = empty(X).fit(X[:150], y[:150])
    found.save(folder / "half.dgp")
    other = DirichletGPClassifier.load(folder / "half.dgp").decay(0).partial_fit(X[150:], y[150:])
    return found.merge(pickle.loads(pickle.dumps(other)))


def stopped_and_resumed(X, y, folder):
    patch = pytest.MonkeyPatch()
    patch.setattr(chunks, "_MOST_ROWS", 64)
    patch.setattr(chunks, "_FEWEST_ROWS", 64)
    patch.setattr(checkpoints, "_SECONDS", 0.0)
    patch.setattr(checkpoints, "_SHARE", 1e9)
    keep = checkpoints.Checkpoint.keep_statistics

    def keep_and_stop(self, statistics, done):
        keep(self, statistics, done)
        if done == 192:
            raise KeyboardInterrupt

    with patch.context() as stopping:
        stopping.setattr(checkpoints.Checkpoint, "keep_statistics", keep_and_stop)
        with pytest.raises(KeyboardInterrupt):
            empty(X).fit(X, y, checkpoint=folder / "fit.ckpt")
    found = empty(X).fit(X, y, checkpoint=folder / "fit.ckpt")
    patch.undo()
    assert not (folder / "fit.ckpt").exists()
    return found


FITS = [
    *(frame, polars_frame, parquet_file, csv_file, arrow_table, blocks, memory_map, dask_rows),
    *(tensor_rows, stream, stream_that_forgot, merged_parts, weights, sent_out_and_back),
    stopped_and_resumed,
]


@pytest.mark.parametrize("way", FITS, ids=lambda way: way.__name__)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_every_way_to_fit_agrees(way, data, expected, tmp_path):
    X, y, new = data
    found = way(X, y, tmp_path).predict_proba(new)
    np.testing.assert_allclose(np.asarray(found), expected, rtol=0, atol=SUMS)


def test_the_command_line_agrees(data, tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("typer")
    csv = pytest.importorskip("pyarrow.csv")
    from dirichletgp.cli import main

    X, y, new = data
    frame = pd.DataFrame(X, columns=NAMES)
    classifier = empty(X).fit(frame, y)
    classifier.save(tmp_path / "model.dgp")
    later = pd.DataFrame(new, columns=NAMES)
    later.to_csv(tmp_path / "new.csv", index=False)
    words = ["predict", tmp_path / "model.dgp", tmp_path / "new.csv", "-o", tmp_path / "out.csv"]
    monkeypatch.setattr("sys.argv", ["dirichletgp", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    written = csv.read_csv(tmp_path / "out.csv")
    found = np.column_stack([written[f"probability_{label}"] for label in "xyz"])
    np.testing.assert_allclose(found, classifier.predict_proba(later), rtol=0, atol=1e-12)
