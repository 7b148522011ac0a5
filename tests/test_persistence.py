"""A saved model is the model, and a file that is anything else is refused."""

import json
import os
import pickle
import stat
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification, make_moons
from sklearn.preprocessing import StandardScaler

from dirichletgp import DirichletGPClassifier, persistence
from dirichletgp.persistence import ModelFileError, archive, atomic_write
from dirichletgp.persistence.archive import Archive, read_archive, write_archive

LABELS = {
    "ints": np.array([-3, 7, 11]),
    "small ints": np.array([1, 2, 3], dtype=np.uint8),
    "floats": np.array([0.0, 1.0, 2.0]),
    "strings": np.array(["a", "bb", "\ud800ccc"]),
    "objects": np.array(["a", "bb", "é"], dtype=object),
}


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(200, 4, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


def quick(**parameters):
    labels = {"label_transform": "dirichlet", "alpha_epsilon": 0.02}
    return DirichletGPClassifier(
        **{
            "kernel": "rbf",
            "n_inducing": 12,
            "max_iter": 2,
            "random_state": 0,
            **labels,
            **parameters,
        }
    )


@pytest.fixture(scope="module")
def fitted(three_classes):
    X, y = three_classes
    learned = quick(label_transform="learned", alpha_epsilon="auto")
    return learned.fit(X, LABELS["strings"][y])


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.dgp"
    fitted.save(path)
    return path.read_bytes()


def again(classifier, folder):
    classifier.save(folder / "model.dgp")
    return DirichletGPClassifier.load(folder / "model.dgp")


def assert_same(one, other, X, y=None):
    for method in ("predict_proba", "predict_log_proba", "predict"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    for name in ("classes_", "inducing_points_", "lengthscale_", "class_prior_"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for name in (
        "variance_",
        "alpha_epsilon_",
        "label_transform_",
        "bound_",
        "n_iter_",
        "n_features_in_",
    ):
        assert getattr(one, name) == getattr(other, name)
    if y is not None:
        np.testing.assert_array_equal(one.loo_proba(X, y), other.loo_proba(X, y))


@pytest.mark.parametrize("labels", LABELS)
def test_a_loaded_model_is_bitwise_the_saved_one(three_classes, labels, tmp_path):
    X, y = three_classes
    names = LABELS[labels][y]
    classifier = quick().fit(X, names)
    loaded = again(classifier, tmp_path)
    assert_same(classifier, loaded, X, names)
    assert loaded.classes_.dtype == classifier.classes_.dtype


def test_boolean_labels_are_kept(tmp_path):
    X, y = make_moons(60, random_state=0)
    classifier = quick().fit(X, y.astype(bool))
    assert again(classifier, tmp_path).classes_.tolist() == [False, True]


@pytest.mark.parametrize("scaler", ["quantile", "standard", "minmax", None])
@pytest.mark.parametrize("weighted", [True, False])
def test_every_scaler_of_the_library_is_kept(three_classes, scaler, weighted, tmp_path):
    X, y = three_classes
    classifier = quick(scaler=scaler).fit(X, y, np.linspace(0.5, 2, len(y)) if weighted else None)
    assert_same(classifier, again(classifier, tmp_path), 3 * X)


def test_every_parameter_is_kept(three_classes, tmp_path):
    X, y = three_classes
    classifier = quick(
        kernel="matern32",
        label_transform="learned",
        alpha_epsilon="auto",
        lengthscale=np.array([1.0, 2.0, 3.0, 4.0]),
        variance=np.float64(2.0),
        inducing=X[:12],
        class_prior=[0.2, 0.3, 0.5],
        class_weight={0: 2.0, 1: 1.0},
        random_state=np.random.RandomState(3),
        verbose=np.int64(0),
    ).fit(X, y)
    loaded = again(classifier, tmp_path)
    assert_same(classifier, loaded, X, y)
    ours, theirs = classifier.get_params(), loaded.get_params()
    assert theirs.pop("random_state").randint(10**6) == ours.pop("random_state").randint(10**6)
    for name, value in ours.items():
        np.testing.assert_equal(theirs[name], value)
    loaded.fit(X, y)  # all it needs to be fitted again is there


def test_feature_names_are_kept(three_classes, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = three_classes
    frame = pd.DataFrame(X, columns=["a", "b", "c", "é"])
    loaded = again(quick().fit(frame, y), tmp_path)
    assert loaded.feature_names_in_.tolist() == ["a", "b", "c", "é"]
    loaded.predict(frame)


def test_pickle_gives_the_same_model(fitted, three_classes):
    assert_same(fitted, pickle.loads(pickle.dumps(fitted)), three_classes[0])


def test_files_and_pickles_do_not_grow_with_the_rows(three_classes, tmp_path):
    sizes = []
    for n in (3_000, 6_000):  # of fewer, other things are kept: left-out predictions, no moves
        X, y = make_classification(n, 4, n_informative=4, n_redundant=0, random_state=0)
        classifier = quick(scaler="standard").fit(X, y)
        classifier.save(tmp_path / "model.dgp")
        sizes.append([(tmp_path / "model.dgp").stat().st_size, len(pickle.dumps(classifier))])
    np.testing.assert_allclose(sizes[0], sizes[1], atol=100)


def test_a_foreign_scaler_and_odd_labels_are_refused_with_advice(three_classes, tmp_path):
    X, y = three_classes
    with pytest.raises(
        TypeError, match=r"scaler=StandardScaler\(\) cannot be saved.*[Pp]ickle.*skops"
    ):
        quick(scaler=StandardScaler()).fit(X, y).save(tmp_path / "model.dgp")
    assert list(tmp_path.iterdir()) == []


def test_extras_travel_with_the_model(fitted, three_classes, tmp_path):
    extras = {"columns.json": json.dumps({"a": 1}).encode(), "empty": b""}
    persistence.save(fitted, tmp_path / "model.dgp", extras)
    assert persistence.read_extras(tmp_path / "model.dgp") == extras
    assert_same(fitted, DirichletGPClassifier.load(tmp_path / "model.dgp"), three_classes[0])


def test_a_model_does_not_replace_a_file_of_another_kind(fitted, three_classes, tmp_path):
    table = tmp_path / "rows.csv"
    table.write_text("age,label")
    with pytest.raises(FileExistsError, match=r"rows.csv' exists and is no model.*overwrite=True"):
        fitted.save(table)
    with pytest.raises(FileExistsError, match="exists and is no model"):
        persistence.save(fitted, table)
    assert table.read_text() == "age,label"
    fitted.save(table, overwrite=True)
    fitted.save(table)  # a model replaces a model
    (tmp_path / "empty.dgp").touch()
    fitted.save(tmp_path / "empty.dgp")
    assert_same(fitted, DirichletGPClassifier.load(table), three_classes[0])


# Writing


def test_a_full_disk_leaves_the_old_file_and_nothing_else(fitted, saved, tmp_path, monkeypatch):
    path = tmp_path / "model.dgp"
    path.write_bytes(saved)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_write.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        quick().fit(*make_moons(60, random_state=0)).save(path)
    assert path.read_bytes() == saved
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(
    not os.path.exists("/dev/full"), reason="this system has no device that is always full"
)
def test_a_disk_that_is_really_full_is_reported(fitted):
    with pytest.raises(OSError, match="No space left"):
        fitted.save("/dev/full")


def test_a_device_is_written_to_and_not_replaced(fitted):
    fitted.save(os.devnull)
    assert not os.path.isfile(os.devnull)


def test_a_replaced_file_keeps_its_permissions(fitted, tmp_path):
    path = tmp_path / "model.dgp"
    path.touch()
    path.chmod(0o600)
    fitted.save(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_is_not_there_is_named(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        fitted.save(tmp_path / "missing" / "model.dgp")


@pytest.mark.skipif(os.name != "posix", reason="permissions and links of POSIX")
def test_links_and_permissions_are_those_of_any_other_file(fitted, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link.dgp").symlink_to(tmp_path / "real" / "model.dgp")
    fitted.save(tmp_path / "link.dgp")
    assert (tmp_path / "link.dgp").is_symlink()
    other = tmp_path / "other"
    other.touch()
    assert stat.S_IMODE((tmp_path / "real" / "model.dgp").stat().st_mode) == stat.S_IMODE(
        other.stat().st_mode
    )


# Reading


def test_files_that_are_no_models_are_refused(tmp_path):
    path = tmp_path / "model.dgp"
    for content in (
        b"",
        b"PK\x03\x04",
        pickle.dumps({"a": 1}),
        b"\0" * 10_000,
        archive.MAGIC,
        os.urandom(500),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=r"model\.dgp' cannot be loaded"):
            DirichletGPClassifier.load(path)
    write_archive(path, "checkpoint", Archive({}, {}))
    with pytest.raises(ModelFileError, match="holds a 'checkpoint'"):
        DirichletGPClassifier.load(path)


def test_every_truncation_is_refused(saved, tmp_path):
    path = tmp_path / "model.dgp"
    for length in range(0, len(saved), 23):
        path.write_bytes(saved[:length])
        with pytest.raises(ModelFileError):
            DirichletGPClassifier.load(path)


@settings(
    max_examples=600, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_mutated_file_is_refused(saved, tmp_path, data):
    """Bytes changed, cut out, put in and moved: everything has a checksum, so it is noticed."""
    mutated = bytearray(saved)
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(mutated)) | st.integers(0, 200))
        stop = start + data.draw(st.integers(0, 40))
        mutated[start:stop] = data.draw(st.binary(max_size=40))
    path = tmp_path / "model.dgp"
    path.write_bytes(mutated)
    if bytes(mutated) == saved:
        DirichletGPClassifier.load(path)
        return
    with pytest.raises(ModelFileError):
        DirichletGPClassifier.load(path)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value):
    """Every (container, key) inside a JSON value."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in list(keys):
        yield value, key
        yield from places(value[key])


def with_header(saved, header):
    """A saved file with another header, its checksum right."""
    start, text = 56 + int.from_bytes(saved[16:24], "little"), json.dumps(header).encode()
    return (
        saved[:16] + len(text).to_bytes(8, "little") + sha256(text).digest() + text + saved[start:]
    )


@settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_a_forged_header_is_refused_or_harmless(saved, tmp_path, data):
    """Values of the header replaced, its checksum made right: our error, or a classifier."""
    header = json.loads(saved[56 : 56 + int.from_bytes(saved[16:24], "little")])
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(list(places(header))))
        container[key] = data.draw(JSON)
    path = tmp_path / "model.dgp"
    path.write_bytes(with_header(saved, header))
    try:
        loaded = DirichletGPClassifier.load(path)
    except ModelFileError:
        return
    assert isinstance(loaded, DirichletGPClassifier)


def test_a_newer_format_asks_for_an_upgrade(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_FORMAT_VERSION", 0)
    path = tmp_path / "model.dgp"
    path.write_bytes(saved)
    with pytest.raises(ModelFileError, match=r"newer format.*pip install --upgrade"):
        DirichletGPClassifier.load(path)


def test_huge_sizes_are_not_believed(tmp_path):
    path = tmp_path / "model.dgp"
    member = {"name": "points", "dtype": "<f8", "shape": [2**40, 2**40], "sha256": ""}
    for header in (
        {"members": [member]},
        {"members": [{**member, "dtype": "|O"}]},
        {"members": [{**member, "shape": [-1]}]},
        {"members": [[]] * 5},
    ):
        base = {"format": "dirichletgp", "kind": "classifier", "format_version": 1, "content": {}}
        text = json.dumps({**base, **header}).encode()
        path.write_bytes(
            archive.MAGIC + len(text).to_bytes(8, "little") + sha256(text).digest() + text
        )
        with pytest.raises(ModelFileError):
            DirichletGPClassifier.load(path)
    text = b"[" * 200_000
    path.write_bytes(archive.MAGIC + len(text).to_bytes(8, "little") + sha256(text).digest() + text)
    with pytest.raises(ModelFileError):
        DirichletGPClassifier.load(path)


@pytest.mark.parametrize(
    "name", ["points", "sums", "grams", "prior", "scaler/knots", "lengthscale"]
)
def test_arrays_that_do_not_fit_together_are_refused(saved, name, tmp_path):
    path = tmp_path / "model.dgp"
    path.write_bytes(saved)
    content, arrays = read_archive(path, "classifier")
    for wrong in (arrays[name][:-1], arrays[name] * np.nan, arrays[name].astype(np.float32)):
        write_archive(path, "classifier", Archive(content, {**arrays, name: wrong}))
        with pytest.raises(ModelFileError, match="does not describe a classifier"):
            DirichletGPClassifier.load(path)
    del arrays[name]
    write_archive(path, "classifier", Archive(content, arrays))
    with pytest.raises(ModelFileError, match="does not describe a classifier"):
        DirichletGPClassifier.load(path)


@pytest.mark.parametrize("family", ["linear", "RBF", "", None, ["rbf"], {}])
def test_a_kernel_that_is_not_known_is_refused(saved, family, tmp_path):
    path = tmp_path / "model.dgp"
    path.write_bytes(saved)
    content, arrays = read_archive(path, "classifier")
    content["kernel"]["family"] = family
    write_archive(path, "classifier", Archive(content, arrays))
    with pytest.raises(ModelFileError, match="does not describe a classifier"):
        DirichletGPClassifier.load(path)
