"""Results of the paper on disk: found by their settings, whole or absent, computed once."""

import io
import json

import numpy as np
import pytest

from dirichletgp.metrics import reliability_curve
from dirichletgp.paper.docs import write_docs
from dirichletgp.paper.evaluation import counts_of_bins, pooled_curve
from dirichletgp.paper.page_section import Table
from dirichletgp.paper.store import Store
from dirichletgp.paper.task import Task, duration, run_tasks, without_repetition
from dirichletgp.persistence.atomic_write import write_atomically

SETTINGS = {"dataset": "magic", "method": "gpd", "split": 0, "alpha": 0.01}


def test_a_result_is_found_by_all_of_its_settings(tmp_path):
    Store(tmp_path).put("evaluation", SETTINGS, {"error": 0.1}, 2.0)
    in_another_order = dict(reversed(SETTINGS.items()))
    found = Store(tmp_path).get("evaluation", in_another_order)
    assert found == {"error": 0.1, "seconds": 2.0}
    assert Store(tmp_path).get("evaluation", SETTINGS | {"alpha": 0.02}) is None
    assert Store(tmp_path).get("alpha", SETTINGS) is None


def test_results_of_other_code_are_not_found(tmp_path, monkeypatch):
    Store(tmp_path).put("evaluation", SETTINGS, {"error": 0.1}, 2.0)
    monkeypatch.setattr("dirichletgp.paper.store.code_fingerprint", lambda kind: "other")
    assert Store(tmp_path).get("evaluation", SETTINGS) is None


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"result": {}}', '{"result": 3, "seconds": 1}']
)
def test_a_file_that_is_not_whole_counts_as_none(tmp_path, content):
    store = Store(tmp_path)
    write_atomically(store.path("evaluation", SETTINGS), content.encode())
    assert store.get("evaluation", SETTINGS) is None


def test_writing_leaves_nothing_but_the_file(tmp_path):
    write_atomically(tmp_path / "a" / "file", b"old")
    write_atomically(tmp_path / "a" / "file", b"new")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["file"]
    assert (tmp_path / "a" / "file").read_bytes() == b"new"


def counted(calls, split):
    return Task("toy", {"split": split}, lambda: calls.append(split) or {"value": split}, 1.0)


def test_each_task_is_computed_once_and_shared_ones_too(tmp_path):
    calls = []
    store = Store(tmp_path)
    tasks = without_repetition([counted(calls, split) for split in (0, 1, 0, 2)], store)
    assert run_tasks(tasks, store, io.StringIO()) == (3, [])
    assert run_tasks(tasks, Store(tmp_path), io.StringIO()) == (0, [])
    assert calls == [0, 1, 2]


def test_an_interrupted_run_keeps_what_was_finished(tmp_path):
    calls = []

    def interrupted():
        raise KeyboardInterrupt

    tasks = [counted(calls, 0), Task("toy", {"split": 1}, interrupted, 1.0), counted(calls, 2)]
    with pytest.raises(KeyboardInterrupt):
        run_tasks(tasks, Store(tmp_path), io.StringIO())
    again = [counted(calls, split) for split in range(3)]
    assert run_tasks(again, Store(tmp_path), io.StringIO()) == (2, [])
    assert calls == [0, 1, 2]


def test_a_task_that_fails_is_said_passed_over_and_tried_again(tmp_path):
    calls = []
    stream = io.StringIO()

    def failing():
        raise ValueError("no good")

    tasks = [Task("toy", {"split": 0}, failing, 1.0), counted(calls, 1)]
    computed, failures = run_tasks(tasks, Store(tmp_path), stream)
    assert computed == 1
    assert failures == ["toy split 0 failed: ValueError: no good"]
    assert "failed: ValueError: no good" in stream.getvalue()
    again = [counted(calls, split) for split in range(2)]
    assert run_tasks(again, Store(tmp_path), stream) == (1, [])
    assert calls == [1, 0]


def test_progress_tells_the_time_left(tmp_path):
    stream = io.StringIO()
    tasks = [Task("toy", {"split": split}, dict, 60.0) for split in range(3)]
    run_tasks(tasks, Store(tmp_path), stream)
    assert stream.getvalue().startswith("[1/3, 3 min left] toy split 0: 0.0 s\n[2/3, 0 s left]")
    assert [duration(seconds) for seconds in (5, 300, 7200)] == ["5 s", "5 min", "2.0 h"]


def test_bins_of_splits_add_up_to_the_curve_of_all_rows():
    rng = np.random.default_rng(0)
    parts = [(rng.uniform(size=n), rng.integers(0, 2, n)) for n in (50, 80)]

    def curve(p, y):
        return reliability_curve(y, p, pos_label=1, labels=[0, 1])

    results = [{"curves": {"mean": counts_of_bins(curve(p, y), len(y))}} for p, y in parts]
    pooled = pooled_curve(results, "mean")
    whole = curve(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
    for name in ("accuracy", "confidence", "mass"):
        np.testing.assert_allclose(getattr(pooled, name), getattr(whole, name))
    assert pooled_curve(results, "lower") is None


PAGE = """A verdict.
<!-- table: results -->
old
<!-- end -->
<!-- figure: alpha | Values -->
<!-- end -->
<!-- run: all -->
<!-- end -->
<!-- table: other -->
<!-- end -->
The end.
"""
START_OF_FILLED_PAGE = """A verdict.
<!-- table: results -->
| dataset | error |
| --- | ---: |
| magic (partial)"""


def test_documentation_gets_its_tables_and_keeps_its_words(tmp_path):
    out = tmp_path / "out"
    docs = tmp_path / "docs"
    table = Table("results", "", ["dataset", "error"], [["magic (partial)", "0.1"]])
    write_atomically(out / "tables" / "results.md", table.as_markdown().encode())
    write_atomically(out / "figures" / "alpha.png", b"png")
    write_atomically(out / "figures" / "alpha.svg", b"svg")
    summary = {
        "command": "dirichletgp paper",
        "machine": {"cores": 2},
        "results": 3,
        "seconds_of_all_results": 300,
        "computed": 3,
        "seconds": 360,
    }
    write_atomically(out / "summary.json", json.dumps(summary).encode())
    write_atomically(docs / "paper.md", PAGE.encode())
    for _ in range(2):  # the second time changes nothing
        write_docs(out, docs)
        text = (docs / "paper.md").read_text()
        assert text.startswith(START_OF_FILLED_PAGE)
        assert "![Values](images/paper/alpha.png)" in text
        took = "3 results, 5 min of computing, 6 min from start to end"
        assert f"`dirichletgp paper`: {took}. Machine: cores 2." in text
        assert "*Not in this run.*" in text
        assert text.endswith("The end.\n")
        assert "old" not in text
    assert (docs / "images" / "paper" / "alpha.svg").read_bytes() == b"svg"
    with pytest.raises(ValueError, match="has no paper"):
        write_docs(out, tmp_path)
