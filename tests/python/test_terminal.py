"""What a terminal shows during runs, and that nothing of it is left afterwards."""

import fcntl
import os
import re
import struct
import subprocess
import termios
from pathlib import Path

import pyte
import pytest
from conftest import BINARY

#: A line that is drawn again and again.
MOVING = re.compile(r"^\[\d+/\d+\]|slowest so far|[▁▂▃▄▅▆▇█]|\^C")
SPARKLINE = re.compile(r"^  noload +[▁▂▃▄▅▆▇█]+ +\S+s")
WORST = re.compile(r"^  slowest so far: \S+s under ")
RUN = ["run", "--load", "cpuload", "--interval", "300ms", "--output", "out", "--work-dir", "work"]
ETX = b"\x03"


class Terminal:
    """A program in a terminal of its own, whose screen can be read."""

    def __init__(self, folder: Path, *arguments: str, columns: int, rows: int, kind: str):
        self.screen = pyte.HistoryScreen(columns, rows, history=1000)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""
        self.master, slave = os.openpty()
        size = struct.pack("HHHH", rows, columns, 0, 0)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
        environment = {**os.environ, "TERM": kind}
        environment["XDG_STATE_HOME"] = str(folder / "state")
        self.process = subprocess.Popen(
            # The terminal sends it what is typed, ^C as a signal.
            ["setsid", "--ctty", BINARY, *arguments],
            cwd=folder,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
        )
        os.close(slave)

    def frames(self):
        """The lines of the screen each time that something was sent, until the program ends."""
        while True:
            try:
                sent = os.read(self.master, 65536)
            except OSError:
                sent = b""
            if not sent:
                return
            self.sent += sent
            self.stream.feed(sent)
            yield [line.rstrip() for line in self.screen.display]

    def ended(self) -> int:
        """The program's exit code, when all that it sends was read."""
        for _ in self.frames():
            pass
        os.close(self.master)
        return self.process.wait(60)

    def lines(self) -> list[str]:
        """Everything that can be seen, what was scrolled away first."""
        columns = range(self.screen.columns)
        away = ["".join(line[x].data for x in columns) for line in self.screen.history.top]
        return [line.rstrip() for line in [*away, *self.screen.display]]


@pytest.fixture
def terminal(tmp_path):
    """Starts a program in a terminal; it does not outlive the test."""
    started = []

    def start(*arguments, columns=80, rows=24, kind="xterm"):
        started.append(Terminal(tmp_path, *arguments, columns=columns, rows=rows, kind=kind))
        return started[-1]

    yield start
    for one in started:
        if one.process.poll() is None:
            one.process.kill()
            one.process.wait()


def test_lines_fit_a_small_terminal_and_are_gone_at_the_end(terminal):
    shown = terminal(*RUN, "--points", "3", columns=40, rows=10)
    drawn = [line for frame in shown.frames() for line in frame if MOVING.search(line)]
    assert shown.ended() == 0
    assert any(map(SPARKLINE.match, drawn)) and any(map(WORST.match, drawn))
    assert all(len(line) < 40 for line in drawn), "a line wraps into the next row"
    left = shown.lines()
    assert [line for line in left if MOVING.search(line)] == []
    assert any(line.startswith("thrashlab: 3 runs") for line in left)
    assert any(line.startswith("Responsiveness under load") for line in left)
    assert any(line.startswith("thrashlab: report") for line in left)


def test_nothing_is_left_of_them_after_an_interrupt(terminal):
    shown = terminal(*RUN, "--points", "60")
    for frame in shown.frames():
        if any(map(WORST.match, frame)):
            break
    os.write(shown.master, ETX)
    assert shown.ended() == 130
    left = shown.lines()
    assert [line for line in left if MOVING.search(line)] == []
    assert any(line.startswith("thrashlab: noload ended as Interrupted") for line in left)


def test_a_terminal_that_cannot_draw_gets_a_line_a_load(terminal):
    job = ["--job", "vmtest:size=4M", "--subject", "mmu:machine=sparcstation1"]
    shown = terminal("run", *job, "--output", "out", kind="dumb")
    assert shown.ended() == 0
    assert b"\x1b" not in shown.sent
    assert any(line.startswith("[1/1] noload: ") for line in shown.lines())
