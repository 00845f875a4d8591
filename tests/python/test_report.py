"""Reports: what a browser makes of them, the charts as specifications, and the bundle."""

import json
import re
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import altair
import made_runs
import pytest
from conftest import BINARY, WORKSPACE
from playwright.sync_api import Page

# Longest time that anything may take here; nothing is asserted about how long it does take.
PATIENCE_S = 120
LARGEST_PAGE = 1_500_000
KINDS = {
    "command-ratios",
    "commands",
    "comparison",
    "counters",
    "delay-split",
    "ecdf",
    "findings",
    "interaction",
    "knee",
    "map",
    "matrix",
    "ratios",
    "samples",
    "touch-cost",
    "touches",
    "waterfall",
}
PLAN = """
name = "remedies"
blocks = 3
responses = ["touch_ns"]

[base]
job = "vmtest"
vmtest.size = "20M"
mmu.machine = "sparcstation1"

[[factor]]
name = "hat"
parameter = "mmu.hat"
levels = ["old", "new"]

[[factor]]
name = "pmegs"
parameter = "mmu.pmegs"
levels = ["128", "256"]
"""


def thrashlab(folder: Path, *arguments: str) -> str:
    """Runs the static binary in a folder; what it printed."""
    answer = subprocess.run(
        [BINARY, *map(str, arguments)],
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, list[str]]:
    """Results of every kind, by name: the arguments of a report on them."""
    place = tmp_path_factory.mktemp("results")
    made_runs.folder(place / "before")
    made_runs.folder(place / "after", kernel="6.6.0", slower=1.6)
    (place / "plan.toml").write_text(PLAN)
    thrashlab(place, "experiment", "plan.toml", "--output", "experiment", "--quiet")
    sweep = [
        "sweep",
        "vmtest",
        "--range",
        "12M..24M",
        "--by",
        "mmu.hat=old,new",
        "--output",
        "sweep",
    ]
    short = ["--subject", "mmu:machine=sparcstation1", "--passes", "1", "--budget", "8", "--quiet"]
    thrashlab(place, *sweep, *short)
    return {
        "comparison": [str(place / "before"), str(place / "after")],
        "experiment": [str(place / "experiment")],
        "sweep": [str(place / "sweep")],
        "jobs": [str(made_runs.jobs(place / "jobs"))],
        "published": ["reference:sun4/vmtest-sparcstation1-old-hat"],
    }


class Opened:
    """A page, its errors, and its requests."""

    def __init__(self, page: Page):
        self.page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.set_default_timeout(1000 * PATIENCE_S)
        page.on("console", lambda message: self.complaints.append(message.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))
        page.context.route(lambda url: not url.startswith("file:"), lambda route: route.abort())

    def open(self, path: Path) -> float:
        """Opens a file; after how many seconds every chart was drawn."""
        begun = time.monotonic()
        self.page.goto(path.as_uri())
        self.wait_for_charts()
        return time.monotonic() - begun

    def wait_for_charts(self, drawn: str = "screen") -> None:
        """Waits until every chart is drawn, for the screen or for print."""
        wanted = f'[data-drawn="{drawn}"]'
        charts = self.page.locator(".drawing")
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self.page.locator(f".drawing{wanted}").count() == charts.count():
                return
            time.sleep(0.05)
        raise AssertionError(f"charts that are not drawn: {self.complaints}")


@pytest.fixture
def opened(browser) -> Opened:
    """An empty page."""
    page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
    yield Opened(page)
    page.close()


def test_every_kind_of_chart_is_a_valid_specification(results, tmp_path):
    """Altair takes them, and by the schema of Vega-Lite nothing in them is wrong."""
    found = set()
    for arguments in results.values():
        charts = json.loads(thrashlab(tmp_path, "report", *arguments, "--format", "vega"))
        for name, specification in charts.items():
            altair.Chart.from_dict(specification)
            found.add(name.rstrip("-0123456789"))
            assert specification["description"]
    assert found == KINDS


@pytest.mark.parametrize("name", ["comparison", "experiment", "sweep", "jobs", "published"])
def test_every_chart_draws_without_an_error_or_a_request(name, results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results[name], "-o", page)
    opened.open(page)
    assert opened.complaints == []
    assert opened.requests == [page.as_uri()]
    charts = opened.page.locator(".drawing")
    assert charts.count() > 0
    for index in range(charts.count()):
        chart = charts.nth(index)
        kind = chart.get_attribute("data-chart")
        marks = chart.locator("g[role='graphics-object'] :is(path, text), path[aria-label]")
        assert chart.locator("svg").count() == 1, kind
        assert marks.count() >= 3, kind
        assert chart.locator("[aria-roledescription]").count() >= 1, kind
        table = opened.page.locator(f"#chart-{kind} table tbody tr")
        assert table.count() >= 1, f"{kind} has no figures"


def test_a_mark_tells_what_it_is(results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results["comparison"], "-o", page)
    opened.open(page)
    mark = opened.page.locator("[data-chart='comparison'] path[aria-label]").first
    told = mark.get_attribute("aria-label")
    assert "×" in told
    mark.hover()
    tip = opened.page.locator("#tip")
    tip.wait_for(state="visible")
    assert tip.inner_text() == told


def test_the_theme_follows_the_system_and_the_reader(results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results["comparison"], "-o", page)
    opened.open(page)
    colours = """() => [document.body, document.querySelector('.drawing svg text')].map(
        (element, text) => getComputedStyle(element)[text ? 'fill' : 'backgroundColor'])"""
    light = opened.page.evaluate(colours)
    opened.page.emulate_media(color_scheme="dark")
    dark = opened.page.evaluate(colours)
    assert all(one != other for one, other in zip(light, dark, strict=True))
    theme = opened.page.locator("#theme")
    theme.focus()
    opened.page.keyboard.press("Enter")
    assert theme.inner_text() == "Theme: light"
    assert opened.page.evaluate(colours) == light
    assert opened.complaints == []


def test_paper_is_light_and_has_charts_of_its_width(results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results["comparison"], "-o", page)
    as_printed = """addEventListener('afterprint', () => {
        const all = [...document.querySelectorAll('.drawing')];
        window.printed = all.map(place => [
            place.dataset.drawn, place.querySelector('svg').width.baseVal.value]);
    })"""
    opened.page.add_init_script(as_printed)
    opened.page.emulate_media(color_scheme="dark")
    opened.open(page)
    opened.page.pdf()
    printed = opened.page.evaluate("window.printed")
    assert {drawn for drawn, _ in printed} == {"print"}
    assert max(width for _, width in printed) <= 720
    opened.wait_for_charts()
    opened.page.emulate_media(media="print", color_scheme="dark")
    colour = "(name) => getComputedStyle(document.body)[name]"
    assert opened.page.evaluate(colour, "backgroundColor") == "rgb(255, 255, 255)"
    assert max(map(int, re.findall(r"\d+", opened.page.evaluate(colour, "color")))) < 100
    assert opened.complaints == []


def test_a_page_can_be_read_with_the_keyboard_and_on_paper(results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results["comparison"], "-o", page)
    opened.open(page)
    opened.page.keyboard.press("Tab")
    focused = "document.activeElement.textContent"
    assert opened.page.evaluate(focused) == "Skip to the summary"
    levels = opened.page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map(head => Number(head.tagName[1]))"
    )
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    unnamed = (
        "[...document.querySelectorAll('[tabindex]:not(pre)')].filter(e => !e.ariaLabel).length"
    )
    assert opened.page.evaluate(unnamed) == 0
    opened.page.emulate_media(media="print")
    assert not opened.page.locator("nav").is_visible()
    assert opened.page.locator("#summary").is_visible()


def test_a_narrow_window_shows_the_same(results, opened, tmp_path):
    page = tmp_path / "report.html"
    thrashlab(tmp_path, "report", *results["comparison"], "-o", page)
    opened.page.set_viewport_size({"width": 420, "height": 800})
    opened.open(page)
    wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert opened.page.evaluate(wider) <= 0
    assert opened.complaints == []


def test_two_thousand_runs_are_one_small_page(opened, tmp_path, capsys):
    """All charts of an experiment of 2,000 runs are drawn; how long that takes is printed."""
    made_runs.experiment(tmp_path / "large", ["6.1", "6.6", "6.12", "6.18"], seeds=125)
    page = tmp_path / "report.html"
    begun = time.monotonic()
    thrashlab(tmp_path, "report", tmp_path / "large", "-o", page)
    made_s = time.monotonic() - begun
    size = page.stat().st_size
    drawn_s = opened.open(page)
    shown_ms = opened.page.evaluate(
        "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
    )
    with capsys.disabled():
        print(
            f"\n2,000 runs: made in {made_s:.1f} s, {size} bytes, "
            f"first seen after {shown_ms} ms, all charts drawn after {drawn_s:.1f} s"
        )
    assert size < LARGEST_PAGE
    assert opened.complaints == []


def test_the_bundle_is_what_the_lock_file_gives():
    answer = subprocess.run(
        [sys.executable, WORKSPACE / "web/build", "--check"],
        check=False,
        capture_output=True,
        text=True,
    )
    if answer.returncode == 3:
        pytest.skip("the npm registry cannot be reached")
    assert answer.returncode == 0, answer.stderr
