"""Files that lie: small models and checkpoints, changed inside, with checksums that are right.

`originals` makes one file of every kind, `mutated` changes one at random, and `judge_model` and
`judge_checkpoint` say what is wrong with the way it is taken: nothing, if it is refused with the
library's own error, or if it loads and predicts finite probabilities that sum to one. The tests try
a few hundred; `tools/fuzz.py` tries as many as there is time for.
"""

import copy
import json
import warnings
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_classification

from dirichletgp import DirichletGPClassifier, persistence
from dirichletgp._gp.rows import chunks
from dirichletgp.persistence import ModelFileError, archive
from dirichletgp.persistence.archive import Archive, read_archive, write_archive

CHUNK = 32
EXTREMES = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e300, -1e300, 1e-300, 5e-324, 1e16, 0.5]
VALUES = [
    *(None, True, False, 0, 1, -1, 2, 624, 625, 2**31, 2**63, -(2**63), 10**40, 1e300, -1e300),
    *(float("nan"), float("inf"), 5e-324, 0.5, "", "rbf", "product", "auto", "quantile", "\ud800"),
    *("%", "%Y%Y", "O", "array", [], [[]], {}, {"array": "points"}, {"pairs": [[1, 2]]}, [1, 2, 3]),
    *({"list": [1]}, {"random_state": "points", "rest": [10**6, 0, 0.0]}),
]
DTYPES = ["|b1", "|i1", "<i8", "|u1", "<u4", "<u8", "<f2", "<f4", "<f8"]


class Original(NamedTuple):
    """A file as it should be: its kind, what it holds, and rows to predict."""

    kind: str
    archive: Archive
    rows: object


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    basis = {"kernel": "rbf", "n_inducing": 6, "max_iter": 1, "random_state": 0, "n_jobs": 1}
    return DirichletGPClassifier(**{**basis, **labels, **parameters})


def checkpointed():
    """A fit that writes checkpoints, quick enough to be repeated thousands of times."""
    return quick(inducing="random", max_iter=0, scaler="standard")


def training_rows(n=80, n_classes=2):
    return make_classification(
        n, 3, n_informative=3, n_redundant=0, n_classes=n_classes, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip


def originals(folder):
    """One file of every kind, by name."""
    X, y = training_rows()
    X3, y3 = training_rows(90, 3)
    words = np.array(["a", "b", "c"])
    found = {}

    def keep(name, classifier, rows, extras=None):
        persistence.save(classifier, folder / "model.dgp", extras)
        found[name] = Original("classifier", read_archive(folder / "model.dgp", "classifier"), rows)

    keep("two classes", quick().fit(X, y), X[:5])
    state = np.random.RandomState(3)
    weights = {"a": 2.0, "b": 1.0, "c": 0.5}
    keep(
        "three classes",
        quick(kernel="matern32", scaler="standard", random_state=state, class_weight=weights).fit(
            X3, words[y3]
        ),
        X3[:5],
    )
    keep("compact", quick().fit(X, y).compact(), X[:5])
    keep("compact, three classes", quick(kernel="product").fit(X3, words[y3]).compact(), X3[:5])
    keep("left out", quick(label_transform="learned", alpha_epsilon="auto").fit(X, y), X[:5])
    points = {"inducing": X[:5], "scaler": None, "lengthscale": [1.0, 2.0, 3.0]}
    keep("given points", quick(**points).fit(X, y, np.linspace(0.5, 2, len(y))), X[:5])
    keep("stream", quick(scaler="minmax", ard=False).partial_fit(X, y), X[:5])
    facts = {"source": "a.csv", "training_rows": 80, "tested_on": "held out"}
    table = {"table.json": json.dumps({"target": "y", "facts": facts}).encode()}
    frame, rows = _frame(X)
    keep("table", quick(kernel="product").fit(frame, words[y]), rows, table)
    keep("table of distances", quick().fit(frame, words[y]), rows)
    tied = np.random.default_rng(0).integers(0, 15, size=(1_000, 2)).astype(float)
    codes = np.random.default_rng(1).permutation(15)[tied[:, 0].astype(int)] % 2
    keep("frequencies of values", quick(kernel="product").fit(tied, codes), tied[:5])
    found["checkpoint"] = Original("checkpoint", _checkpoint(folder, X, y), (X, y))
    return found


def _frame(X):
    import pandas as pd

    days = pd.date_range("2024-01-01", periods=len(X), freq="9h").strftime("%d.%m.%Y %H:%M")
    colours = np.where(X[:, 0] > 0, "red", np.where(X[:, 1] > 0, "green", None))
    numbers = np.where(X[:, 2] > 1, np.nan, X[:, 2])
    frame = pd.DataFrame({"number": numbers, "colour": colours, "day": days, "plain": X[:, 1]})
    return frame, frame[:5]


def _checkpoint(folder, X, y):
    """What a fit leaves that was stopped in the middle of its last pass."""
    from dirichletgp.persistence.checkpoint import Checkpoint

    class Stopped(Checkpoint):
        def keep_statistics(self, statistics, done):
            self._next = 1e-9
            super().keep_statistics(statistics, done)
            raise KeyboardInterrupt

    from dirichletgp._gp import classifier

    path = folder / "fit.ckpt"
    small, before = chunks._FEWEST_ROWS, classifier.Checkpoint
    most = chunks._MOST_ROWS
    chunks._FEWEST_ROWS = chunks._MOST_ROWS = CHUNK
    classifier.Checkpoint = Stopped
    try:
        checkpointed().fit(X, y, checkpoint=path)
    except KeyboardInterrupt:
        return read_archive(path, "checkpoint")
    finally:
        chunks._FEWEST_ROWS, chunks._MOST_ROWS = small, most
        classifier.Checkpoint = before
    raise AssertionError("the fit was not stopped")


# Mutations: each changes an archive in place, given a random generator.


def _places(value):
    """Every (container, key) inside a JSON value."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from _places(value[key])


def _value(rng, before):
    """Something in the place of a JSON value."""
    if isinstance(before, int | float) and rng.random() < 0.3:
        return before * float(rng.choice([-1.0, 0.5, 1e3, 1e30, 1e-30, 1.0 + 1e-9])) + rng.integers(
            2
        )
    if isinstance(before, str) and rng.random() < 0.3:
        return before + "x" if rng.random() < 0.5 else before[:-1]
    return copy.deepcopy(VALUES[rng.integers(len(VALUES))])


def change_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    container[key] = _value(rng, container[key])


def remove_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    del container[key]


def add_json(rng, content, arrays):
    container, key = _pick(rng, list(_places(content)))
    if isinstance(container, list):
        container.insert(int(rng.integers(len(container) + 1)), _value(rng, container[key]))
    else:
        container[str(rng.choice(["warm_up", "columns", "ard", "kinds", "n", "done"]))] = _value(
            rng, None
        )


def swap_json(rng, content, arrays):
    found = list(_places(content))
    (one, a), (other, b) = _pick(rng, found), _pick(rng, found)
    one[a] = copy.deepcopy(other[b])


def change_numbers(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name].copy()
    places = rng.integers(array.size, size=int(rng.choice([1, 1, 2, 5])))
    extreme = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            choices = [limits.min, limits.max, 0, 1, int(array.flat[places[0]]) + 1]
            array.flat[places] = np.array(choices[rng.integers(5)]).astype(array.dtype)
        else:
            array.flat[places] = np.array(extreme).astype(array.dtype)
    arrays[name] = array


def change_all_numbers(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    extreme = EXTREMES[rng.integers(len(EXTREMES))]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changed = array * extreme if rng.random() < 0.5 else np.full(array.shape, extreme)
        arrays[name] = changed.astype(array.dtype)


def change_a_little(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    if array.dtype.kind == "f":
        arrays[name] = array * (1.0 + 10.0 ** rng.uniform(-12, 1) * rng.normal(size=array.shape))
        arrays[name] = arrays[name].astype(array.dtype)
    else:
        arrays[name] = array[rng.permutation(len(array))] if array.ndim else array


def change_shape(rng, content, arrays):
    name = _name(rng, arrays)
    array = arrays[name]
    made = [
        lambda: array[:-1],
        lambda: array[:0],
        lambda: np.concatenate([array, array]),
        lambda: array.T,
        lambda: array.ravel(),
        lambda: array[None],
        lambda: array[..., :-1],
        lambda: np.zeros((0, 3)),
        lambda: np.array(1.0),
        lambda: array.reshape(-1, 1),
    ]
    if array.ndim:
        arrays[name] = made[rng.integers(len(made))]()


def change_type(rng, content, arrays):
    name = _name(rng, arrays)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays[name] = arrays[name].astype(DTYPES[rng.integers(len(DTYPES))])


def remove_array(rng, content, arrays):
    del arrays[_name(rng, arrays)]


def swap_arrays(rng, content, arrays):
    one, other = _name(rng, arrays), _name(rng, arrays)
    arrays[one], arrays[other] = arrays[other], arrays[one]


def change_bytes(rng, content, arrays):
    """Any bits: of an array of texts inside the file too."""
    name = _name(rng, arrays)
    raw = np.frombuffer(bytearray(arrays[name].tobytes()), dtype=np.uint8)
    if len(raw):
        places = rng.integers(len(raw), size=int(rng.integers(1, 9)))
        raw[places] = rng.integers(256, size=len(places))
        arrays[name] = raw.view(arrays[name].dtype).reshape(arrays[name].shape)


def _name(rng, arrays):
    if not arrays:
        return _nothing(arrays)
    return list(arrays)[rng.integers(len(arrays))]


def _nothing(arrays):
    arrays["nothing"] = np.zeros(1)
    return "nothing"


def _pick(rng, items):
    return items[rng.integers(len(items))]


MUTATIONS = [
    *(change_json, change_json, change_json, remove_json, add_json, swap_json),
    *(change_numbers, change_numbers, change_numbers, change_all_numbers, change_a_little),
    *(change_shape, change_type, remove_array, swap_arrays, change_bytes),
]


def write_mutated(rng, original, path):
    """Write a changed file with right checksums."""
    content = copy.deepcopy(original.archive.content)
    arrays = dict(original.archive.arrays)
    n = int(rng.choice([1, 1, 1, 2, 3]))
    while n:
        # Not every change is possible after others: an empty array has no numbers to change.
        with suppress(ValueError, TypeError, IndexError, OverflowError):
            _pick(rng, MUTATIONS)(rng, content, arrays)
            n -= 1
    write_archive(path, original.kind, Archive(content, arrays))
    if rng.random() < 0.15:
        path.write_bytes(_with_changed_header(rng, path.read_bytes()))


def _with_changed_header(rng, saved):
    """A saved file with any value of its header changed, types and shapes of arrays among them."""
    start = 56 + int.from_bytes(saved[16:24], "little")
    header = json.loads(saved[56:start])
    part = header["members"] if rng.random() < 0.7 and header["members"] else header
    container, key = _pick(rng, list(_places(part)))
    with suppress(OverflowError):
        container[key] = _value(rng, container[key])
    text = json.dumps(header).encode()
    length = len(text).to_bytes(8, "little")
    return archive.MAGIC + length + sha256(text).digest() + text + saved[start:]


# Judges: what is wrong with the way a file is taken, or None.


def judge(original, path):
    """What is wrong with the way a changed file is taken; None if nothing is."""
    check = _wrong_with_checkpoint if original.kind == "checkpoint" else _wrong_with_model
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return check(original, path)
    except ModelFileError:
        return None


def _wrong_with_model(original, path):
    from dirichletgp.cli import info
    from dirichletgp.cli.table_model import TableModel

    classifier = DirichletGPClassifier.load(path)
    if any(name.startswith("extras/") for name in original.archive.arrays):
        model = TableModel.load(path)
        info._lines(info._content(path))
        model.needed  # noqa: B018
    try:
        probabilities = classifier.predict_proba(original.rows)
    except ValueError as error:
        # A model may have other columns than the rows, and say so.
        return None if "X" in str(error) else repr(error)
    bounds = classifier.predict_interval(original.rows)
    if not np.all(np.isfinite(bounds)) or np.any(bounds[0] > bounds[1] + 1e-9):
        return f"interval {bounds[0][:1].tolist()} to {bounds[1][:1].tolist()}"
    return _wrong_with_probabilities(probabilities) or _wrong_with_logs(
        classifier.predict_log_proba(original.rows)
    )


def _wrong_with_checkpoint(original, path):
    X, y = original.rows
    before = chunks._FEWEST_ROWS, chunks._MOST_ROWS
    chunks._FEWEST_ROWS = chunks._MOST_ROWS = CHUNK
    try:
        classifier = checkpointed().fit(X, y, checkpoint=path)
    except ModelFileError:
        raise
    except ValueError as error:
        return None if "is that of a fit" in str(error) else repr(error)
    finally:
        chunks._FEWEST_ROWS, chunks._MOST_ROWS = before
    return _wrong_with_probabilities(classifier.predict_proba(X[:5]))


def _wrong_with_probabilities(p):
    if not np.all(np.isfinite(p)) or np.any(p < 0) or np.any(np.abs(p.sum(axis=1) - 1) > 1e-6):
        return f"probabilities {p[:2].tolist()}"
    return None


def _wrong_with_logs(logs):
    return None if np.all(np.isfinite(logs) & (logs <= 1e-9)) else f"logs {logs[:2].tolist()}"
