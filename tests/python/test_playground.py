"""The playground of the site: its program as WebAssembly, and its page in a browser."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from conftest import WORKSPACE
from playwright.sync_api import Page, expect

# Compiling it for WebAssembly takes minutes.
pytestmark = pytest.mark.slow

PATIENCE_S = 120
LARGEST_PAGE = 3_000_000
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", WORKSPACE / "target"))
PROGRAM = TARGET / "wasm32-wasip1/web/playground.wasm"
RUN = """
const fs = require("fs");
require("vm").runInThisContext(fs.readFileSync(process.argv[1], "utf8"));
const program = new WebAssembly.Module(fs.readFileSync(process.argv[2]));
const write = (line) => fs.writeSync(1, line + "\\n");
runProgram(program, new Uint8Array(fs.readFileSync(0)), write);
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The page, from a program that was compiled now."""
    path = tmp_path_factory.mktemp("playground") / "playground.html"
    command = [WORKSPACE / "tools/playground", path]
    finished = subprocess.run(command, cwd=WORKSPACE, capture_output=True, text=True)
    if finished.returncode == 3:
        pytest.skip(f"WebAssembly cannot be built here: {finished.stderr}")
    assert finished.returncode == 0, finished.stderr
    return path


@pytest.fixture
def page(browser, built):
    """The page in a Chromium without a window, opened from the disk."""
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(1000 * PATIENCE_S)
    expect.set_options(timeout=1000 * PATIENCE_S)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: page.complaints.extend(outside(request.url)))
    page.goto(built.as_uri())
    yield page
    assert page.complaints == []
    page.close()


def outside(url: str) -> list[str]:
    """What a page that loads nothing must not request: all but itself and its workers."""
    return [] if url.startswith(("file:", "blob:")) else [url]


def knee(page: Page, area: str = "#result") -> str:
    """The first verdict, once it is final and its chart is drawn."""
    if area == "#result":
        expect(page.locator("#status")).to_contain_text("Simulated in")
    page.locator(f"{area} .drawing svg").first.wait_for()
    return page.locator(f"{area} .verdict").first.inner_text()


def set_control(page: Page, name: str, value: str) -> None:
    """Moves a control as a reader does, and waits until the page has noticed."""
    control = page.locator(f"#controls [name={name}]")
    if control.evaluate("element => element.tagName") == "SELECT":
        control.select_option(value)
    else:
        control.fill(value)
    expect(page.locator("#status")).not_to_contain_text("Simulated in")


def test_the_program_answers_alike_in_webassembly_and_natively(built):
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed")
    old = {"label": "old", "settings": {"hat": "old"}}
    new = {"label": "new", "settings": {"hat": "new", "pmegs": "96"}}
    sweep = {"do": "sweep", "first": "2M", "last": "48M", "passes": 2}
    rows = "".join(f"{size},{max(size, 8)}\n" for size in range(1, 20))
    references = "".join(f" L {page * 4096:x},8\n" for page in [*range(1, 90)] * 9)
    for request, file in [
        ({"do": "choices"}, ""),
        ({**sweep, "machines": [old, new]}, ""),
        ({**sweep, "machines": [{"label": "", "settings": {"pmegs": "many"}}]}, ""),
        ({"do": "file", "name": "a.csv"}, f"size,time\n{rows}"),
        ({"do": "file", "name": "a.lackey"}, references),
    ]:
        text = f"{json.dumps(request)}\n{file}".encode()
        native = ["cargo", "run", "--quiet", "--locked", "--package", "playground"]
        commands = [native, [node, "-e", RUN, WORKSPACE / "web/wasi.js", PROGRAM]]
        answers = [
            subprocess.run(command, cwd=WORKSPACE, input=text, capture_output=True, check=True)
            for command in commands
        ]
        assert answers[0].stdout.startswith(b'{"')
        assert answers[1].stdout == answers[0].stdout, request


def test_the_page_is_small(built):
    assert built.stat().st_size < LARGEST_PAGE
    assert PROGRAM.stat().st_size < LARGEST_PAGE


def test_a_reader_moves_the_cliff(page, thrashlab):
    shown = knee(page)
    sweep = "sweep vmtest --subject mmu:machine=sparcstation1,hat=old --range 2M..32M"
    printed = " ".join(thrashlab(*sweep.split(), "-o", "sweep").stdout.split())
    assert shown.removeprefix("•").strip().split("; ")[0] in printed
    page.locator("#keep").click()
    set_control(page, "pmegs", "256")
    assert "pmegs=256: No knee up to 32M" in knee(page)
    assert page.locator("#result .verdict").count() == 2
    set_control(page, "last", "96M")
    assert "pmegs=256: Knee at" in knee(page)
    command = page.locator("#result .command pre").first.inner_text()
    assert "pmegs=256" in command and "--range 2M..96M" in command
    # A link to it has the same controls.
    place = page.url
    page.locator("#reset").click()
    expect(page.locator("#pmegs-value")).to_have_text("128")
    page.goto("about:blank")
    page.goto(place)
    knee(page)
    expect(page.locator("#pmegs-value")).to_have_text("256")


def test_what_cannot_be_is_refused_and_the_next_move_works(page):
    knee(page)
    set_control(page, "reserved_pmegs", "300")
    expect(page.locator("#result .verdict")).to_contain_text("none for processes")
    page.locator("#controls [name=reserved_pmegs]").fill("36")
    assert "Knee at" in knee(page)


def test_a_dropped_table_and_a_trace_have_their_knees(page, tmp_path):
    knee(page)
    table = tmp_path / "mine.csv"
    rows = (f"x,{size},{1 if size < 12 else size},1\n" for size in range(1, 25))
    table.write_text("who,size,time,count\n" + "".join(rows))
    page.locator("#file").set_input_files(table)
    assert "Knee at 11." in knee(page, "#file-result")
    page.locator("#columns select").last.select_option("count")
    expect(page.locator("#file-result .verdict")).to_contain_text("No knee")
    page.locator("#columns select").last.select_option("who")
    expect(page.locator("#file-result .verdict")).to_contain_text("is not a number")
    trace = tmp_path / "loop.lackey"
    trace.write_text("".join(f" L {page * 4096:x},8\n" for page in [*range(1, 41)] * 50))
    page.locator("#file").set_input_files(trace)
    page.locator("#chart-dropped svg").wait_for()
    assert "40 is still on the plateau" in page.locator("#file-result").inner_text()
    # By the mouse.
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "two.csv"));
            const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true });
            document.getElementById("drop").dispatchEvent(drop);
        }""",
        "size,time\n" + "".join(f"{size},{max(1, size - 10)}\n" for size in range(1, 25)),
    )
    expect(page.locator("#file-result dd").first).to_contain_text("two.csv")
    assert "Knee at" in knee(page, "#file-result")


def test_a_new_move_ends_the_simulation_before_it(page):
    knee(page)
    begun = time.monotonic()
    for pmegs in range(100, 200, 4):
        page.locator("#controls [name=pmegs]").fill(str(pmegs))
    knee(page)
    expect(page.locator("#pmegs-value")).to_have_text("196")
    expect(page.locator("#result .command pre")).to_contain_text("pmegs=196")
    assert time.monotonic() - begun < PATIENCE_S
