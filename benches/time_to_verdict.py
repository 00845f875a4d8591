"""How long it takes until it is certain which of two commands is slower.

Pairs of a program that only computes, whose second command does 0, 2, 5 or 30 % more work and takes
1 ms, 30 ms, 1 s or 10 s, on this machine as it is and beside one busy process per CPU. In one run:
`thrashlab ab`, hyperfine with its default and with 10 runs, whose times are compared by Welch's test
at the same 1 %, and `perf stat -r 10`, whose means and standard errors are. A verdict is right if it
names the slower command, or finds none where there is none.

Run: python3 benches/time_to_verdict.py [BINARY] [SECONDS,… [PERCENT,… [STATES [REPEATS]]]], such as
`- 0.001,0.03,1 0,5,30 quiet,busy 3`; all cells once take three hours, those up to 1 s 40 minutes. It
needs cc; hyperfine and perf are used if they are installed.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import section

SECONDS, PERCENTS, STATES = [0.001, 0.03, 1.0, 10.0], [0, 2, 5, 30], ["quiet", "busy"]
ALPHA = 0.01
RUNS = 10
# The default margin of `ab`.
MARGIN_PERCENT = 3
# Differences from which the verdict must come earlier than hyperfine's default ends.
FROM_PERCENT = 5
# Time in which a comparison of a 1 s command with itself must end on a quiet machine.
EQUAL_S = 60.0
PROGRAM = """
#include <stdlib.h>
int main(int count, char **words) {
    unsigned long value = 1;
    for (unsigned long left = count > 1 ? strtoul(words[1], 0, 10) : 0; left; left--)
        value = value * 6364136223846793005ul + 1442695040888963407ul;
    return value == 0;
}
"""


def p_of_t(t, degrees):
    """Two-sided p-value of Student's t, by integration of its density."""
    scale = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)
    scale = math.exp(scale) / math.sqrt(degrees * math.pi)
    steps = 2000
    width = min(abs(t), 60.0) / steps
    heights = [(1 + (at * width) ** 2 / degrees) ** (-(degrees + 1) / 2) for at in range(steps + 1)]
    inner = (sum(heights) - (heights[0] + heights[-1]) / 2) * width * scale
    return max(0.0, 1 - 2 * inner)


def welch(first, second):
    """Whether two (mean, standard error, count) differ: `slower`, `faster` or `no difference`."""
    (mean, error, count), (other, other_error, other_count) = first, second
    squares = error**2 + other_error**2
    if squares == 0:
        return "no difference"
    degrees = squares**2 / (error**4 / (count - 1) + other_error**4 / (other_count - 1))
    if p_of_t((other - mean) / math.sqrt(squares), degrees) > ALPHA:
        return "no difference"
    return "slower" if other > mean else "faster"


def moments(times):
    """Mean, standard error and count."""
    return statistics.mean(times), statistics.stdev(times) / math.sqrt(len(times)), len(times)


def hyperfine(options):
    """Times two commands with hyperfine, and compares them."""

    def measure(commands, _binary, folder):
        out = folder / "hyperfine.json"
        line = ["hyperfine", "-N", "--style", "none", "--export-json", str(out), *options, *commands]
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        results = json.loads(out.read_text())["results"]
        return welch(*[moments(result["times"]) for result in results])

    return measure


def perf(commands, _binary, _folder):
    """Times both commands with perf stat, one after the other, and compares means."""

    def one(command):
        line = ["perf", "stat", "-r", str(RUNS), "-e", "task-clock", *command.split()]
        said = subprocess.run(line, capture_output=True, text=True, check=True).stderr
        mean, error = re.search(r"([\d.]+) \+- ([\d.]+) seconds time elapsed", said).groups()
        return float(mean), float(error), RUNS

    return welch(*[one(command) for command in commands])


# How the first sentence of `ab` begins what it says of the second command.
SAID = {
    " is slower than ": "slower",
    " is faster than ": "faster",
    " takes more CPU time than ": "slower (CPU time)",
    " takes less CPU time than ": "faster (CPU time)",
    " is equivalent to ": "no difference",
}


def ab(commands, binary, folder):
    """Compares them with `thrashlab ab`: the verdict, and the seconds until it was printed. The functions
    that account for a difference come later."""
    line = [binary, "ab", "command", *commands, "--quiet", "-n", "A", "-n", "B", "-o", folder / "ab"]
    began, paragraph = time.monotonic(), []
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as running:
        for said in running.stdout:
            if not said.strip():
                break
            paragraph.append(said.strip())
        seconds = time.monotonic() - began
        running.stdout.read()
    shutil.rmtree(folder / "ab")
    sentence = " ".join(paragraph)
    verdict = next((word for words, word in SAID.items() if words in sentence), "cannot tell")
    in_cpu_time = verdict == "no difference" and " in CPU time " in sentence
    return (f"{verdict} (CPU time)" if in_cpu_time else verdict), seconds


def tools():
    """The tools that are installed."""
    all_tools = {"thrashlab ab": ab}
    if shutil.which("hyperfine"):
        all_tools["hyperfine"] = hyperfine([])
        all_tools[f"hyperfine --runs {RUNS}"] = hyperfine(["--runs", str(RUNS)])
    if shutil.which("perf"):
        all_tools[f"perf stat -r {RUNS}"] = perf
    return all_tools


class Busy:
    """One process per CPU that computes."""

    def __init__(self, state, program):
        count = os.cpu_count() if state == "busy" else 0
        line = [str(program), str(1 << 62)]
        self.processes = [subprocess.Popen(line) for _ in range(count)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def loops_of(program):
    """Loops per second, by the fastest of five runs."""
    loops = 100_000_000

    def once():
        began = time.monotonic()
        subprocess.run([program, str(loops)], check=True)
        return time.monotonic() - began

    return loops / min(once() for _ in range(5))


def is_right(verdict, percent):
    """Whether a verdict of `ab` is right, wrong, or open (None)."""
    plain = verdict.partition(" (")[0]
    if plain == "cannot tell":
        return None
    # It says that they are equivalent within the margin.
    is_equivalent = percent < MARGIN_PERCENT and plain == "no difference"
    return is_equivalent or (percent > 0 and plain == "slower")


def cell(commands, binary, folder, repeats):
    """Wall time and verdicts of each tool for one pair of commands."""
    rows = {}
    for name, measure in tools().items():
        times, verdicts = [], []
        for _ in range(repeats):
            began = time.monotonic()
            answer = measure(commands, binary, folder)
            whole = answer, time.monotonic() - began
            verdict, seconds = answer if isinstance(answer, tuple) else whole
            times.append(seconds)
            verdicts.append(verdict)
        rows[name] = (statistics.median(times), verdicts)
    return rows


def shown(time_s, verdicts):
    """A cell of the table."""
    counts = {verdict: verdicts.count(verdict) for verdict in verdicts}
    words = ", ".join(f"{count} × {what}" if len(counts) > 1 else what for what, count in counts.items())
    return f"{time_s:.3g} s: {words}"


def benchmark(binary, seconds=None, percents=None, states=None, repeats=1):
    """All cells."""
    found = section.Section("Time to a verdict")
    names, rows, late, alarms, equal_s = list(tools()), [], [], 0, []
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        folder = Path(folder)
        (folder / "work.c").write_text(PROGRAM)
        program = folder / "work"
        subprocess.run(["cc", "-O1", "-o", program, folder / "work.c"], check=True)
        loops = loops_of(program)
        for state in states or STATES:
            with Busy(state, program):
                for duration in seconds or SECONDS:
                    for percent in percents or PERCENTS:
                        work = [int(loops * duration * (1 + share / 100)) for share in (0, percent)]
                        commands = [f"{program} {count}" for count in work]
                        of_tools = cell(commands, binary, folder, repeats)
                        rows.append(
                            [f"{duration:g} s, {percent} %, {state}"]
                            + [shown(*of_tools[name]) for name in names]
                        )
                        own_s, verdicts = of_tools["thrashlab ab"]
                        alarms += sum(is_right(verdict, percent) is False for verdict in verdicts)
                        peer_s = of_tools.get("hyperfine", (math.inf,))[0]
                        is_certain = all(is_right(verdict, percent) for verdict in verdicts)
                        if percent >= FROM_PERCENT and not (is_certain and own_s < peer_s):
                            late.append(rows[-1][0])
                        if percent == 0 and duration == 1 and state == "quiet":
                            equal_s.append(own_s)
                        print(rows[-1], file=sys.stderr, flush=True)
    found.add(
        f"{os.cpu_count()} CPUs; load average {load:.1f} before and {os.getloadavg()[0]:.1f} after, "
        f"besides what is measured; {repeats} of each, median times."
    )
    found.add(section.table(["command, difference, machine", *names], rows))
    found.require(
        f"right and earlier than hyperfine where the truth is {FROM_PERCENT} % or more",
        f"{len(late)} cells late or open: {', '.join(late) or 'none'}",
        not late,
    )
    found.require("no wrong verdict", str(alarms), alarms == 0)
    if equal_s:
        most = max(equal_s)
        found.require(f"1 s with itself in {EQUAL_S:g} s", f"{most:.0f} s", most < EQUAL_S)
    return found


if __name__ == "__main__":
    words = sys.argv[1:] + [None] * 5
    numbers = [float(it) for it in words[1].split(",")] if words[1] else None
    shares = [int(it) for it in words[2].split(",")] if words[2] else None
    chosen = words[3].split(",") if words[3] else None
    given = None if words[0] in (None, "-") else words[0]
    made = benchmark(section.binary_argument(given), numbers, shares, chosen, int(words[4] or 1))
    print(made.markdown())
    sys.exit(0 if all(each.met for each in made.requirements) else 1)
