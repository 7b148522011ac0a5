"""Model files of earlier versions load, and predict what they predicted then.

The first files were written before the modules of the package were moved; `expected.npz` holds what
the classifiers that wrote them predicted. Those whose names begin with "later" hold what files have
held since: columns of tables, the product kernel, class frequencies of values, left-out
predictions, random states. Those of version 0.2 hold regions, compact models, very many classes,
what intervals stand on, and words of texts. A change of what files hold adds one here, and none is
ever changed.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from dirichletgp import DirichletGPClassifier

FILES = Path(__file__).parent / "files"


@pytest.fixture(scope="module")
def expected():
    with np.load(FILES / "expected.npz", allow_pickle=False) as file:
        return dict(file)


@pytest.mark.parametrize(
    "name",
    [
        "two_classes",
        "texts_matern52_standard",
        "matern12_minmax",
        "matern32_weights",
        "given_points",
        "stream_still_keeping_rows",
    ],
)
def test_a_model_file_predicts_what_it_did(name, expected):
    classifier = DirichletGPClassifier.load(FILES / f"{name}.dgp")
    found = classifier.set_params(tolerance=0).predict_proba(expected["new"])
    np.testing.assert_allclose(found, expected[name], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "later_table_product",
        "later_table_distances",
        "later_left_out",
        "later_frequencies",
        "later_three_classes",
        "later_stream",
    ],
)
def test_a_later_file_predicts_what_it_did(name):
    pd = pytest.importorskip("pandas")
    with np.load(FILES / "expected_later.npz", allow_pickle=False) as file:
        expected = dict(file)
    if name.startswith("later_table"):
        rows = pd.DataFrame(json.loads(expected["frame"].tobytes()))
    else:
        rows = expected[f"{name}/rows"]
    classifier = DirichletGPClassifier.load(FILES / f"{name}.dgp")
    mean, variance = classifier.latent_mean_and_variance(rows)
    np.testing.assert_allclose(mean, expected[f"{name}/mean"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(variance, expected[f"{name}/variance"], rtol=0, atol=1e-12)
    logs = classifier.predict_log_proba(rows)
    np.testing.assert_allclose(logs, expected[f"{name}/log_proba"], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "v0_2_regions",
        "v0_2_compact",
        "v0_2_compact_regions",
        "v0_2_many_classes",
        "v0_2_compact_many_classes",
        "v0_2_moves",
        "v0_2_words",
    ],
)
def test_a_file_of_version_0_2_predicts_what_it_did(name):
    pd = pytest.importorskip("pandas")
    with np.load(FILES / "expected_v0_2.npz", allow_pickle=False) as file:
        expected = dict(file)
    if name.endswith("words"):
        rows = pd.DataFrame(json.loads(expected["frame"].tobytes()))
    else:
        rows = expected[f"{name}/rows"]
    classifier = DirichletGPClassifier.load(FILES / f"{name}.dgp")
    logs = classifier.predict_log_proba(rows)
    np.testing.assert_allclose(logs, expected[f"{name}/log_proba"], rtol=0, atol=1e-12)
    interval = classifier.predict_interval(rows[:4])
    np.testing.assert_allclose(interval, expected[f"{name}/interval"], rtol=0, atol=1e-9)


def test_every_file_that_is_kept_is_tested():
    source = Path(__file__).read_text(encoding="utf-8")
    assert [path.name for path in FILES.glob("*.dgp") if f'"{path.stem}' not in source] == []


def test_a_stream_goes_on_where_it_was(expected):
    stream = DirichletGPClassifier.load(FILES / "stream_still_keeping_rows.dgp")
    n = stream.class_count_.sum()
    stream.partial_fit(expected["stream_X"], expected["stream_y"])
    assert stream.class_count_.sum() == n + len(expected["stream_y"])
    # It learned everything anew, as this version learns: alike, not the same.
    found = stream.set_params(tolerance=0).predict_proba(expected["new"])
    np.testing.assert_allclose(found, expected["stream_later"], rtol=0, atol=0.25)


def test_the_command_line_reads_a_model_of_tables(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    csv = pytest.importorskip("pyarrow.csv")
    from dirichletgp.cli import main

    output = tmp_path / "predicted.csv"
    command = ["dirichletgp", "predict", FILES / "table.dgp", FILES / "table.csv", "-o", output]
    monkeypatch.setattr("sys.argv", [str(word) for word in command])
    with pytest.raises(SystemExit) as end:
        main()
    assert not end.value.code
    found, before = csv.read_csv(output), csv.read_csv(FILES / "table_predicted.csv")
    assert found.column_names == before.column_names
    # How well probabilities are known is another question now than it was then.
    asked_anew = {"lower", "upper", "noise", "lack_of_data"}
    for name in before.column_names:
        if name == "label":
            assert found[name].to_pylist() == before[name].to_pylist()
        elif name not in asked_anew:
            np.testing.assert_allclose(found[name], before[name], rtol=0, atol=1e-12)


def test_a_file_with_votes_of_copies_predicts_what_it_did():
    with np.load(FILES / "expected_v0_2_copies.npz", allow_pickle=False) as file:
        rows, expected = file["rows"], file["probabilities"]
    classifier = DirichletGPClassifier.load(FILES / "v0_2_copies.dgp").set_params(tolerance=0)
    assert classifier.n_remembered_rows_ == 60
    np.testing.assert_allclose(classifier.predict_proba(rows), expected, rtol=0, atol=1e-12)
    assert classifier._fitted.seen is not None
