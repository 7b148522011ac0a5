"""The report in a real browser: it draws, it answers, it complains about nothing."""

import shutil
import subprocess

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from browser import CHROMIUM, Browser

from dirichletgp import DirichletGPClassifier
from dirichletgp.report import write_report

pytest.importorskip("jinja2", reason="the report needs jinja2")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on this machine: apt-get install chromium"
)

CHARTS = (
    "reliability",
    "rejection",
    "classwise",
    "outcomes",
    "uncertainty",
    "costs",
    "history",
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """Reports with two and with fourteen classes."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("reports")
    pages = {}
    for n_classes in (2, 14):
        names = ["dose", "age", "a name that is rather long", "x", "y"]
        X = pd.DataFrame(rng.normal(size=(900, 5)), columns=names)
        cuts = np.linspace(-1.4, 1.4, n_classes + 1)[1:-1]
        codes = np.digitize(X["dose"] + 0.3 * rng.normal(size=900), cuts)
        y = np.array([f"class {c}" for c in range(n_classes)])[codes]
        model = DirichletGPClassifier("rbf", n_inducing=40, random_state=0).fit(X[:400], y[:400])
        pages[n_classes] = write_report(folder / f"{n_classes}.html", model, X[400:], y[400:])
    return pages


@pytest.fixture(scope="module")
def browser():
    with Browser() as opened:
        yield opened


@pytest.fixture
def page(browser, reports):
    browser.resize(1280)
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(reports[2])
    return browser


def reading(page, chart):
    return page.run(f"document.getElementById('reading-{chart}').textContent")


@pytest.mark.parametrize("n_classes", [2, 14])
def test_every_chart_is_there_and_the_console_is_silent(browser, reports, n_classes):
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(reports[n_classes])
    for chart in CHARTS:
        paths = browser.run(f"document.querySelectorAll('#chart-{chart} svg path').length")
        assert paths > 0, chart
    assert browser.run("document.querySelectorAll('.confusion tbody td').length") == n_classes**2
    assert browser.complaints == []
    assert browser.requests == [reports[n_classes].resolve().as_uri()]


@pytest.mark.parametrize("width", [320, 390, 768, 1280])
@pytest.mark.parametrize("n_classes", [2, 14])
def test_nothing_is_wider_than_the_window_and_no_label_leaves_its_chart(
    browser, reports, n_classes, width
):
    browser.resize(width)
    browser.open(reports[n_classes])
    assert browser.run("document.documentElement.scrollWidth") <= width
    outside = browser.run(
        """[...document.querySelectorAll('.chart')].flatMap(chart => {
             const frame = chart.closest('.card').getBoundingClientRect();
             return [...chart.querySelectorAll('text')].filter(text => {
               const box = text.getBoundingClientRect();
               return box.left < frame.left || box.right > frame.right;
             }).map(text => chart.id + ': ' + text.textContent);
           })"""
    )
    assert outside == []


@pytest.mark.parametrize("width", [320, 1280])
def test_no_two_texts_of_a_chart_overlap(browser, reports, width):
    browser.resize(width)
    browser.open(reports[2])
    overlaps = browser.run(
        """[...document.querySelectorAll('.chart')].flatMap(chart => {
             const boxes = [...chart.querySelectorAll('text')]
               .map(t => [t.textContent, t.getBoundingClientRect()]);
             return boxes.flatMap(([a, p], i) => boxes.slice(i + 1)
               .filter(([b, q]) => p.left < q.right - 1 && q.left < p.right - 1)
               .filter(([b, q]) => p.top < q.bottom - 1 && q.top < p.bottom - 1)
               .map(([b]) => chart.id + ': ' + a + ' / ' + b));
           })"""
    )
    assert overlaps == []


def test_pointing_at_a_chart_reads_the_nearest_point(page):
    before = reading(page, "reliability")
    page.point_at("#chart-reliability svg", across=0.9, down=0.2)
    after = reading(page, "reliability")
    assert after != before
    assert "came true" in after
    assert page.run("document.querySelector('#chart-reliability .cursor').classList.contains('on')")


def test_arrow_keys_walk_along_the_points(page):
    page.run("document.getElementById('chart-rejection').focus()")
    page.press("ArrowRight")
    first = reading(page, "rejection")
    page.press("ArrowRight")
    second = reading(page, "rejection")
    page.press("End")
    last = reading(page, "rejection")
    assert len({first, second, last}) == 3
    assert first.startswith("Declining 0.0")
    assert page.run(
        "document.getElementById('refuse').value === document.getElementById('refuse').max"
    )


def test_the_slider_moves_the_point_on_the_curve(page):
    page.run(
        """{
             const slider = document.getElementById('refuse');
             slider.value = 100;
             slider.dispatchEvent(new Event('input'));
           }"""
    )
    share = page.run("document.getElementById('refuse-out').textContent")
    rejected = page.run(
        "JSON.parse(document.getElementById('report-data').textContent).rejection[100].rejected"
    )
    assert share.replace("\u00a0", " ") == f"{100 * rejected:.0f} %"
    assert f"{100 * rejected:.1f}" in reading(page, "rejection")


def test_choosing_a_class_draws_its_curve(browser, reports):
    browser.resize(1280)
    browser.open(reports[14])
    line = "document.querySelector('#chart-classwise .line').getAttribute('d')"
    before = browser.run(line)
    browser.run(
        """{
             const choice = document.getElementById('class-choice');
             choice.value = '3';
             choice.dispatchEvent(new Event('change'));
           }"""
    )
    assert browser.run(line) != before
    chart = "document.getElementById('chart-classwise')"
    assert "class 11 " in browser.run(f"{chart}.getAttribute('aria-label')")
    titles = browser.run(f"[...{chart}.querySelectorAll('.title')].map(t => t.textContent).join()")
    assert "class 11" in titles  # the fourth, as texts are sorted


def test_the_buttons_choose_which_rows_are_listed(page):
    shown = "[...document.querySelectorAll('.rows')].filter(r => !r.hidden).map(r => r.id).join()"
    for kind in ("least", "most", "wrong"):
        page.run(f"document.querySelector('[data-rows={kind}]').click()")
        assert page.run(shown) == f"rows-{kind}"
        assert page.run("document.querySelectorAll('[aria-pressed=true]').length") == 1


def test_everything_that_can_be_used_can_be_reached_by_the_keyboard(page):
    reached = set()
    for _ in range(50):
        page.press("Tab")
        reached.add(
            page.run("document.activeElement.id || document.activeElement.dataset.rows || ''")
        )
    assert {f"chart-{chart}" for chart in CHARTS} <= reached
    assert {"class-choice", "refuse", "least", "most", "wrong"} <= reached
    assert {"miss-cost", "alarm-cost", "threshold", "cheapest"} <= reached


CONTRAST = """(() => {
  const channel = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const rgb = text => text.match(/[0-9.]+/g).map(Number);
  const ground = e => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const kinds = 'p, dt, dd, th, td:not(.none), h1, h2, span, summary, label, button';
  const texts = [...document.querySelectorAll(kinds)];
  const shown = texts.filter(e => e.offsetParent && e.textContent.trim());
  return Math.min(...shown.map(e => {
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))].sort((p, q) => q - p);
    return (a + 0.05) / (b + 0.05);
  }));
})()"""


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_the_contrast_that_guidelines_ask_for(reports, dark):
    with Browser(dark=dark) as browser:
        browser.open(reports[2])
        assert browser.run(CONTRAST) >= 4.5
        ground = "getComputedStyle(document.body).backgroundColor"
        channels = browser.run(f"{ground}.match(/[0-9]+/g).map(Number)")
        assert (sum(channels) < 150) == dark


def test_it_prints(page, tmp_path):
    page.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").stat().st_size > 20_000


def empty_below(picture):
    """Shares of a page that are empty below what is printed in its left and in its right half."""
    ink = plt.imread(picture)[..., :3].min(axis=-1) < 0.8
    halves = np.array_split(ink, 2, axis=1)
    return [
        1 - (np.flatnonzero(half.any(axis=1)).max(initial=-1) + 1) / len(ink) for half in halves
    ]


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="pdftoppm (poppler) is not here")
@pytest.mark.parametrize("paper", [(8.27, 11.69), (8.5, 11)], ids=["A4", "Letter"])
@pytest.mark.parametrize("n_classes", [2, 14])
def test_no_page_on_paper_ends_in_a_large_gap(browser, reports, tmp_path, n_classes, paper):
    browser.open(reports[n_classes])
    browser.pdf(tmp_path / "report.pdf", paper)
    command = ["pdftoppm", "-r", "40", "-png", tmp_path / "report.pdf", tmp_path / "page"]
    subprocess.run(command, check=True)
    *pages, last = sorted(tmp_path.glob("page*.png"))
    assert len(pages) >= 2
    assert max(min(empty_below(page)) for page in pages) < 0.25
    assert max(max(empty_below(page)) for page in pages) < 0.35
    assert min(empty_below(last)) < 0.9


def test_the_price_of_declining_moves_the_cheapest_share(page):
    share = "document.getElementById('reading-costs').textContent"

    def with_price(price):
        page.run(
            "(() => { const slider = document.getElementById('decline-price');"
            f" slider.value = '{price}'; slider.dispatchEvent(new Event('input')); }})()"
        )
        return page.run(share)

    assert "Least at 0\u00a0% declined" in with_price(1)
    assert "Least at 0\u00a0% declined" not in with_price(0.01)
    before = with_price(0.1)
    page.run(
        "(() => { const choice = document.getElementById('cost-ratio');"
        " choice.value = [...choice.options].find((o) => o.text === '20').value;"
        " choice.dispatchEvent(new Event('change')); })()"
    )
    assert page.run(share) != before


def outcome_table(page):
    return page.run(
        "[...document.querySelectorAll('#outcome-table tbody td:nth-child(2)')]"
        ".map(cell => cell.textContent)"
    )


def test_the_slider_shows_what_a_threshold_leads_to_at_the_prices_that_are_set(page):
    data = page.run("JSON.parse(document.getElementById('report-data').textContent)")
    entry, n = data["outcomes"]["classes"][0], data["n_rows"]
    page.run(
        """{
             document.getElementById('miss-cost').value = '5';
             const slider = document.getElementById('threshold');
             slider.value = 23;
             slider.dispatchEvent(new Event('input'));
           }"""
    )
    threshold = data["outcomes"]["thresholds"][23]
    shown = page.run("document.getElementById('threshold-out').textContent")
    assert shown == f"{100 * threshold:g}\u00a0%"
    right, taken = entry["right"][23], entry["taken"][23]
    cost = (5 * (entry["rows"] - right) + taken - right) / n
    cells = outcome_table(page)
    assert float(cells[0]) == pytest.approx(cost, rel=0.01)
    assert cells[1] == f"{100 * right / taken:.1f}\u00a0%"
    assert cells[2] == f"{100 * right / entry['rows']:.1f}\u00a0%"
    words = page.run("document.getElementById('outcome-words').textContent")
    assert "ask for 16.67\u00a0%" in words
    assert "they do not tell it from" in words
    page.run("document.getElementById('cheapest').click()")
    costs = [
        5 * (entry["rows"] - r) + t - r for r, t in zip(entry["right"], entry["taken"], strict=True)
    ]
    assert float(outcome_table(page)[0]) == pytest.approx(min(costs) / n, rel=0.01)


def test_the_slider_moves_by_the_arrow_keys(page):
    page.run("document.getElementById('threshold').focus()")
    before = page.run("document.getElementById('threshold-out').textContent")
    page.press("ArrowRight")
    assert page.run("document.getElementById('threshold-out').textContent") != before


@pytest.mark.parametrize("n_classes", [2, 14])
def test_no_card_is_half_empty_and_columns_end_together(browser, reports, n_classes):
    browser.resize(1280)
    browser.open(reports[n_classes])
    empty = browser.run(
        """[...document.querySelectorAll('.card')].map(card => {
             const bottoms = [...card.children].map(c => c.getBoundingClientRect().bottom);
             return card.getBoundingClientRect().bottom - Math.max(...bottoms);
           })"""
    )
    assert max(empty) < 40
    ends = browser.run(
        "[...document.querySelectorAll('.column')]"
        ".map(c => c.lastElementChild.getBoundingClientRect().bottom)"
    )
    assert abs(ends[0] - ends[1]) < 250


def test_what_costs_more_than_the_chart_is_high_leaves_it(page):
    """A line along the top would say that the cost is the same there."""
    field = "document.getElementById('alarm-cost')"
    page.run(f"{field}.value = 9, {field}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    page.settle()
    heights = page.run(
        "[...document.querySelector('#chart-outcomes .line').getAttribute('d')"
        ".matchAll(/[ML]\\S+ (\\S+?)(?=L|$)/g)].map(m => Number(m[1]))"
    )
    top = page.run(
        "Number(document.querySelector('#chart-outcomes clipPath rect').getAttribute('y'))"
    )
    assert len(heights) > 50
    assert sum(height < top for height in heights) > 1
    assert page.run(
        "document.querySelector('#chart-outcomes .line').closest('[clip-path]') !== null"
    )


@pytest.mark.parametrize("width", [390, 1280])
def test_a_matrix_of_many_classes_has_axis_titles_and_says_when_it_scrolls(browser, reports, width):
    browser.resize(width)
    browser.open(reports[14])
    titles = browser.run("[...document.querySelectorAll('.confusion .axis')].map(t => t.innerText)")
    assert titles == ["Predicted class", "True class"]
    box = "document.querySelector('.confusion').parentElement"
    scrolls = browser.run(f"{box}.scrollWidth > {box}.clientWidth + 1")
    assert scrolls == (width == 390)
    assert browser.run("document.querySelector('.sideways').hidden") != scrolls


def test_training_history_never_falls(page):
    falls = page.run(
        """[...document.querySelectorAll('#chart-history .line')].map(line => {
             const heights = line.getAttribute('d').match(/[\\d.]+ ([\\d.]+)/g)
               .map(pair => Number(pair.split(' ')[1]));
             return heights.some((y, i) => i && y > heights[i - 1] + 0.06);
           })"""
    )
    assert falls
    assert not any(falls)


def test_letters_of_charts_are_not_small_on_paper(page):
    page.run("window.dispatchEvent(new Event('beforeprint'))")
    widths = page.run(
        "[...document.querySelectorAll('.chart svg')].map(s => s.viewBox.baseVal.width)"
    )
    assert set(widths) == {320}  # about as wide as a column of a page
    page.run("window.dispatchEvent(new Event('afterprint'))")
    assert 320 not in page.run(
        "[...document.querySelectorAll('.chart svg')].map(s => s.viewBox.baseVal.width)"
    )
