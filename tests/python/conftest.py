"""What all Python tests share: the program, folders of their own, and skips that CI knows of."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Error, sync_playwright

WORKSPACE = Path(__file__).resolve().parents[2]
#: The program under test: that of the Rust tests, unless a lane names another one.
BINARY = WORKSPACE / os.environ.get("THRASHLAB_BINARY", "target/debug/thrashlab")
# What the user has cached or configured is no part of a test.
os.environ["XDG_CACHE_HOME"] = str(WORKSPACE / "target/test-cache")
os.environ["XDG_CONFIG_HOME"] = str(WORKSPACE / "target/no-configuration")
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
#: What errors say where a kernel's package cannot be had.
NO_KERNEL = ("cannot be started", "no such package", "apt-get download")


@pytest.fixture(scope="module")
def browser():
    """A Chromium without a window."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        try:
            started = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        except Error as error:
            pytest.skip(f"Chromium does not start here: {error.message.splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def thrashlab(tmp_path):
    """Runs the program in a folder of the test's own, and returns its answer."""

    def run(*arguments, **options):
        command = [BINARY, *map(str, arguments)]
        options = {"cwd": tmp_path, "timeout": 300, **options}
        return subprocess.run(command, capture_output=True, text=True, **options)

    return run


def pytest_configure(config):
    """Declares what marks the tests that only `make test-all` runs."""
    config.addinivalue_line("markers", "slow: only `make test-all` runs it")


def pytest_runtest_logreport(report):
    """Notes a skipped test where `make test` requests it, as tests/skip.rs does."""
    if not report.skipped or "THRASHLAB_SKIPS" not in os.environ:
        return
    reason = str(report.longrepr[2]).removeprefix("Skipped: ")
    name = report.nodeid.rpartition("::")[2]
    with open(os.environ["THRASHLAB_SKIPS"], "a") as file:
        file.write(f"{name}: {' '.join(reason.split())}\n")
