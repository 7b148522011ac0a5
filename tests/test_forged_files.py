"""A file whose checksums are right may still hold anything: it is refused, or it predicts."""

import copy
import json

import mutations
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from originals import CHUNK, checkpointed
from originals import originals as make_originals

from dirichletgp import DirichletGPClassifier
from dirichletgp._gp.core.fields import NOT_NEGATIVE, Numbers, check_arrays, increasing
from dirichletgp._gp.rows import chunks
from dirichletgp.persistence import ModelFileError, read_extras
from dirichletgp.persistence.archive import Archive, write_archive


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    pytest.importorskip("pandas")
    return make_originals(tmp_path_factory.mktemp("originals"))


# The corpus: what once hurt, by name. Each line changes the content (JSON) or the arrays of a file.


def _state(position, keys=None, rest=(0, 0.0)):
    def forge(content, arrays):
        whole = np.zeros(624, dtype=np.uint32)
        arrays["parameters/random_state"] = whole if keys is None else keys
        described = {"random_state": "parameters/random_state", "rest": [position, *rest]}
        content["parameters"]["random_state"] = described

    return forge


def _json(path, value):
    def forge(content, arrays):
        *folders, last = path.split("/")
        for folder in folders:
            content = content[folder]
        content[last] = value

    return forge


def _array(name, change):
    def forge(content, arrays):
        arrays[name] = change(arrays[name].copy())

    return forge


def _with(value, at=0):
    def change(array):
        array.flat[at] = value
        return array

    return change


def _negative(grams):
    return -grams


HURT = {
    # a random state that had NumPy read beyond its keys, until the process died
    "position beyond the keys": ("two classes", _state(10**9)),
    "position before the keys": ("two classes", _state(-5)),
    "position of another type": ("two classes", _state(3.5)),
    "too few keys": ("two classes", _state(600, np.zeros(600, dtype=np.uint32))),
    "keys of another type": ("two classes", _state(600, np.zeros(624))),
    # numbers that made predictions NaN
    "scale of nothing": ("three classes", _array("scaler/scale_", _with(0.0))),
    "scale that is none": ("three classes", _array("scaler/scale_", _with(np.nan))),
    "infinite mean": ("three classes", _array("scaler/mean_", _with(np.inf))),
    "knots in disorder": ("two classes", _array("scaler/knots", lambda a: a[::-1].copy())),
    "huge points": ("two classes", _array("points", lambda a: a * 1e300)),
    "huge lengthscale": ("two classes", _array("lengthscale", lambda a: a * 1e300)),
    "tiny lengthscale": ("two classes", _array("lengthscale", lambda a: a * 1e-300)),
    "huge variance": ("two classes", _json("kernel/variance", 1e300)),
    "no noise": ("two classes", _json("transform/noise_in", 5e-324)),
    "infinite target": ("two classes", _json("transform/target_in", float("inf"))),
    "target that is none": ("three classes", _json("transform/target_out", float("nan"))),
    "prior of nothing": ("two classes", _array("prior", _with(0.0))),
    "prior above one": ("two classes", _array("prior", lambda a: a * 3.0)),
    "negative counts": ("two classes", _array("counts", lambda a: -a)),
    "Grams of no rows": ("two classes", _array("grams", _negative)),
    "shares of one": ("table", _array("shares", _with(1.0))),
    "levels in disorder": ("table", _array("levels", lambda a: a[::-1].copy())),
    "half a level": ("table", _array("level_counts", _with(1.5))),
    # errors that were not the library's own
    "threads at prediction": ("two classes", _json("parameters/n_jobs", 0)),
    "threads as a text": ("two classes", _json("parameters/n_jobs", "2")),
    "a scaler of another kind": ("two classes", _json("scaler", "standard")),
    "a kernel that is none": ("two classes", _json("parameters/kernel", "linear")),
    "number of columns": ("two classes", _json("n_features_in", 10**12)),
    "a huge whole number": ("two classes", _json("n_iter", 10**400)),
    "targets as texts": ("two classes", _json("transform/target_in", "1e3")),
    "history of texts": ("two classes", _json("history", [{"stage": 1}])),
    "columns of another number": ("table", _json("columns/n_in", 2)),
    "a pattern of dates twice": (
        "table",
        lambda content, arrays: [
            kind.update(pattern="%Y%Y")
            for kind in content["columns"]["kinds"]
            if kind["kind"] == "date"
        ],
    ),
    "no kinds of columns": ("table", _json("columns/kinds", [])),
    "labels in disorder": ("three classes", _json("classes/strings", ["c", "b", "a"])),
    "labels of another number": ("three classes", _json("classes/strings", ["a", "b"])),
    "codes beyond the classes": ("stream", _array("warm_up/codes", _with(9))),
    "infinite first rows": ("stream", _array("warm_up/X", _with(np.inf))),
    "left-out rows in disorder": ("left out", _array("left_out/keys", lambda a: a[::-1].copy())),
    "negative left-out variance": ("left out", _array("left_out/variance", _with(-1.0))),
    "a compact model without beliefs": (
        "compact, three classes",
        lambda content, arrays: arrays.pop("beliefs"),
    ),
    "frequencies of columns": ("frequencies of values", _array("scaler/target/columns", _with(7))),
    "frequencies of many": ("frequencies of values", _array("scaler/target/counts", _with(2**50))),
}


@pytest.mark.parametrize("name", HURT)
def test_what_once_hurt_is_refused(originals, name, tmp_path):
    base, forge = HURT[name]
    content, arrays = copy.deepcopy(originals[base].archive)
    forge(content, arrays)
    path = tmp_path / "model.dgp"
    write_archive(path, "classifier", Archive(content, arrays))
    with pytest.raises(ModelFileError, match=r"model\.dgp' does not describe a classifier"):
        DirichletGPClassifier.load(path)


HURT_CHECKPOINTS = {
    "position beyond the keys": _json("start", [10**9, 0, 0.0]),
    "position beyond the keys later": _json("trained", [10**9, 0, 0.0]),
    "rows done": _json("done", -1),
    "rows done in the middle of a chunk": _json("done", 7),
    "more rows done than there are": _json("done", 10**6),
    "a number of another type": _json("state/n_iter", "many"),
    "jitter": _json("state/jitter", 0.0),
    "alpha": _json("state/alpha_epsilon", float("inf")),
    "a kernel of another kind": _json("state/family", "matern12"),
    "points of other features": _array("points", lambda a: a[:, :2].copy()),
    "points that are none": _array("points", _with(np.nan)),
    "sums of other points": _array("sums", lambda a: a[:, :3].copy()),
    "Grams of no rows": _array("grams", _negative),
    "counts of more classes": _array("counts", lambda a: np.append(a, 1.0)),
}


@pytest.mark.parametrize("name", HURT_CHECKPOINTS)
def test_a_forged_checkpoint_is_refused(originals, name, tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "_FEWEST_ROWS", CHUNK)
    monkeypatch.setattr(chunks, "_MOST_ROWS", CHUNK)
    original = originals["checkpoint"]
    content, arrays = copy.deepcopy(original.archive)
    HURT_CHECKPOINTS[name](content, arrays)
    path = tmp_path / "fit.ckpt"
    write_archive(path, "checkpoint", Archive(content, arrays))
    classifier = checkpointed()
    with pytest.raises(ModelFileError, match="is not one that a fit wrote"):
        classifier.fit(*original.rows, checkpoint=path)
    assert path.exists()
    assert not hasattr(classifier, "classes_")


def test_the_originals_are_taken(originals, tmp_path):
    for original in originals.values():
        path = tmp_path / "original.dgp"
        write_archive(path, original.kind, original.archive)
        assert mutations.judge(original, path) is None


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 2**63 - 1))
def test_a_changed_file_is_refused_or_predicts(originals, tmp_path, seed):
    """`make fuzz` tries this for an hour, in processes of their own."""
    rng = np.random.default_rng(seed)
    name = list(originals)[rng.integers(len(originals))]
    path = tmp_path / "mutated.dgp"
    mutations.write_mutated(rng, originals[name], path)
    assert mutations.judge(originals[name], path) is None


def test_grams_that_round_to_less_than_nothing_still_predict(originals, tmp_path):
    """Within the slack of rounding: the regressions have a solution, so there is a prediction."""
    content, arrays = copy.deepcopy(originals["two classes"].archive)
    arrays["grams"] = np.zeros_like(arrays["grams"])
    arrays["grams"][:, 0] = -1e-3
    arrays["sums"] = np.zeros_like(arrays["sums"])
    path = tmp_path / "model.dgp"
    write_archive(path, "classifier", Archive(content, arrays))
    p = DirichletGPClassifier.load(path).predict_proba(originals["two classes"].rows)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


def test_an_array_of_nothing_is_not_believed_to_be_long(originals, tmp_path):
    content, arrays = copy.deepcopy(originals["two classes"].archive)
    path = tmp_path / "model.dgp"
    write_archive(path, "classifier", Archive(content, {**arrays, "more": np.zeros((0, 3))}))
    DirichletGPClassifier.load(path)
    saved = path.read_bytes()
    start = 56 + int.from_bytes(saved[16:24], "little")
    header = json.loads(saved[56:start])
    header["members"][-1]["shape"] = [0, 2**47]
    text = json.dumps(header).encode()
    from hashlib import sha256

    length = len(text).to_bytes(8, "little")
    path.write_bytes(saved[:16] + length + sha256(text).digest() + text + saved[start:])
    for read in (DirichletGPClassifier.load, read_extras):
        with pytest.raises(ModelFileError, match="truncated or damaged"):
            read(path)


def test_the_facts_of_a_table_are_checked(originals, tmp_path):
    pytest.importorskip("typer")
    from dirichletgp.cli.table_model import TableModel

    content, arrays = copy.deepcopy(originals["table"].archive)
    path = tmp_path / "model.dgp"
    for described in (
        [],
        {"target": "y"},
        {"target": 3, "facts": {}},
        {"target": "y", "facts": {"test": {}}},
        {"target": "y", "facts": {"test": {"metrics": {"ece": 1}}}},
        {"target": "y", "facts": {"tested_on": ["x"]}},
        {"recipe": {"target": "y", "columns": [{"kind": "number", "name": "a"}]}, "facts": {}},
        {"recipe": {"target": "y", "columns": [{"kind": "none"}]}, "facts": {}},
    ):
        text = np.frombuffer(json.dumps(described).encode(), dtype=np.uint8)
        forged = {**arrays, "extras/table.json": text}
        write_archive(path, "classifier", Archive(content, forged))
        with pytest.raises(ModelFileError):
            TableModel.load(path)


# The fields themselves


def test_a_letter_is_one_number_wherever_it_stands():
    fields = {"a": Numbers("M D"), "b": Numbers("D 2", NOT_NEGATIVE)}
    arrays = {"a": np.zeros((5, 3)), "b": np.ones((3, 2))}
    assert check_arrays(fields, arrays) == {"M": 5, "D": 3}
    for wrong, why in (
        (np.ones((4, 2)), "shape of b"),
        (np.ones((3, 3)), "shape of b"),
        (np.ones(3), "shape of b"),
        (np.ones((3, 2), dtype=np.float32), "type of b"),
        (-np.ones((3, 2)), "numbers in b"),
        (np.full((3, 2), np.nan), "numbers in b"),
    ):
        with pytest.raises(ValueError, match=why):
            check_arrays(fields, {**arrays, "b": wrong})
    with pytest.raises(ValueError, match="absence of a"):
        check_arrays(fields, {})


def test_numbers_increase_within_each_part():
    values = np.array([1.0, 2.0, 0.0, 0.0, 3.0])
    increasing(values, np.array([2, 3, 5]), "numbers")
    increasing(values, np.array([2, 5]), "numbers", strictly=False)
    with pytest.raises(ValueError, match="order of numbers"):
        increasing(values, np.array([2, 5]), "numbers")
    increasing(np.empty(0), np.array([0, 0]), "numbers")
