"""Names of columns, labels, categories and files come from anywhere: they are shown, not obeyed."""

import csv
import json
import re

import numpy as np
import pytest

pytest.importorskip("typer", reason="the command line needs typer")
pytest.importorskip("jinja2", reason="the report needs jinja2")
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow", reason="the command line reads tables with pyarrow")
from browser import CHROMIUM, Browser  # noqa: E402
from pyarrow import parquet  # noqa: E402

from dirichletgp.cli.console import printable  # noqa: E402
from dirichletgp.cli.table_writing import without_formulas  # noqa: E402

HTML = "<img src=x onerror=window.hurt=1></script><script>window.hurt=1</script>\"'`&amp;"
ESCAPE = "\x1b[31m\x1b]0;title\x07\x9b2J\u202e"
MARKUP = "[bold red]x[/] [link=http://x]"
FORMULA = '=HYPERLINK("http://x","y")'
TEMPLATE = "{{ 7 * 7 }}{% raw %}${7*7}"
LABELS = [f"{HTML}{ESCAPE}", FORMULA]
COLUMNS = [f"number {HTML}", f"{MARKUP}{ESCAPE}", f"{FORMULA}{TEMPLATE}"]
TARGET = f"@target {HTML}{MARKUP}"
FILE = "rows [red] \x1b[31m <b>.csv"
# What a terminal would obey; rich's own colours are off where nobody looks.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A file whose every text is an attack."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    n = 120
    dose = rng.normal(size=n)
    frame = pd.DataFrame(
        {
            COLUMNS[0]: dose,
            COLUMNS[1]: np.array([HTML, MARKUP + ESCAPE, FORMULA])[rng.integers(0, 3, n)],
            COLUMNS[2]: rng.normal(size=n),
            TARGET: np.array(LABELS)[(dose > 0).astype(int)],
        }
    )
    path = folder / FILE
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(table, run, tmp_path):
    path = tmp_path / "model.dgp"
    report = tmp_path / "report.html"
    options = [
        "--kernel",
        "rbf",
        "--n-inducing",
        "15",
        "-o",
        path,
        "--report",
        report,
        "--show-values",
    ]
    code, out, err = run("fit", table, "--target", TARGET, *options)
    assert code == 0, err
    assert not OBEYED.search(out.replace("\r", ""))
    assert not OBEYED.search(err.replace("\r", ""))
    assert "[bold red]x[/]" in out  # as it is, not as markup
    return path


def test_terminals_are_told_nothing(model, table, run, tmp_path):
    nowhere = tmp_path / f"no {ESCAPE} such file.csv"
    for words in (
        ["info", model],
        ["evaluate", model, table],
        ["explain", model, table],
        ["predict", model, nowhere],
        ["predict", model, table, "--keep", f"{ESCAPE}{MARKUP}"],
        ["fit", table, "--target", f"{ESCAPE}no such column"],
        [f"{ESCAPE}no such command"],
    ):
        _, out, err = run(*words)
        assert not OBEYED.search(out), words
        assert not OBEYED.search(err), words


def test_json_says_names_as_they_are(model, table, run, tmp_path):
    code, out, _ = run("info", model, "--json")
    assert code == 0
    assert not OBEYED.search(out)
    content = json.loads(out)
    assert content["classes"] == sorted(LABELS)
    assert [column["name"] for column in content["columns"]] == COLUMNS
    assert content["target"] == TARGET


def test_a_spreadsheet_meets_no_formula_and_parquet_holds_the_labels(model, table, run, tmp_path):
    for suffix in ("csv", "parquet"):
        output = tmp_path / f"predicted.{suffix}"
        code, _, err = run("predict", model, table, "-o", output, "--keep", COLUMNS[1])
        assert code == 0, err
    with open(tmp_path / "predicted.csv", newline="", encoding="utf-8") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert f"'{FORMULA}" in cells
    assert not [cell for cell in cells if cell.startswith(("=", "@", "\t", "\r"))]
    assert not [cell for cell in cells if cell.startswith(("+", "-")) and not _is_number(cell)]
    written = parquet.read_table(tmp_path / "predicted.parquet")
    assert set(written["label"].to_pylist()) <= set(LABELS)


def _is_number(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


def test_numbers_are_no_formulas():
    texts = ["-1", "+5", "-1.5e-3", "a=b", "", None, "=1", "-x", "@a", "+49 30 123"]
    batch = pa.RecordBatch.from_pydict({"label": texts, "-": [0.0] * len(texts)})
    safe = without_formulas(batch)
    assert safe.schema.names == ["label", "-"]
    assert safe["label"].to_pylist() == [
        *("-1", "+5", "-1.5e-3", "a=b", "", None, "'=1", "'-x", "'@a", "'+49 30 123")
    ]


def test_what_is_printable_stays():
    assert printable("ä 漢字 🙂\tb\n") == "ä 漢字 🙂\tb\n"


def test_the_report_has_no_element_that_it_should_not_have(model, tmp_path):
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<img src=x" not in page
    assert "<script>window.hurt" not in page
    assert "{{ 7 * 7 }}" in page or "\\u007b" in page  # not computed
    assert "49{% raw" not in page


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_the_report_runs_nothing_of_it_in_a_browser(model, tmp_path):
    with Browser() as browser:
        browser.open(tmp_path / "report.html")
        assert browser.run("typeof window.hurt") == "undefined"
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.complaints == []
        assert [url for url in browser.requests if not url.startswith("file:")] == []
        shown = browser.run("document.body.textContent")
        assert "onerror=window.hurt=1" in shown
