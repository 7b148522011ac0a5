"""Model files of the first release load, and predict what they predicted then.

The files were written before the modules of the package were moved; `expected.npz` holds what the
classifiers that wrote them predicted.
"""

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


def test_a_stream_goes_on_where_it_was(expected):
    stream = DirichletGPClassifier.load(FILES / "stream_still_keeping_rows.dgp")
    n = stream.class_count_.sum()
    stream.partial_fit(expected["stream_X"], expected["stream_y"])
    assert stream.class_count_.sum() == n + len(expected["stream_y"])
    # It learned everything anew, as this version learns: alike, not the same.
    found = stream.set_params(tolerance=0).predict_proba(expected["new"])
    np.testing.assert_allclose(found, expected["stream_later"], rtol=0, atol=0.15)


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
    for name in before.column_names:
        if name == "label":
            assert found[name].to_pylist() == before[name].to_pylist()
        else:
            np.testing.assert_allclose(found[name], before[name], rtol=0, atol=1e-12)
