"""Whether the program's own loads and probes are as fast as those of the release before it.

A profile that made the loads half as fast changed every figure that is compared with an older one,
and no test noticed. Both programs measure in turns on this machine: passes of `cpuload` for a second
of CPU time, trips of the token ring for a second, and the parts of the probes.

Run: THRASHLAB_BEFORE=PROGRAM python3 benches/instrument.py [BINARY]; about two minutes. PROGRAM is
the thrashlab of the last release.

How to read it: the ratio is the time of BINARY over that of PROGRAM for the same work, the median of
pairs of neighbouring runs. Below 1 is faster.
"""

import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

import section

PAIRS = 5
LIMIT = 1.1
SUBJECT = "host:mem=64M"
TIMING = "--warmup 200ms --interval 100ms --points 12 --timeout 5s".split()


def lines(binary, load, *arguments):
    """The lines of the run file of `thrashlab run` under a load."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        out = Path(folder) / "out"
        command = [binary, "run", "--subject", SUBJECT, "--load", load, *arguments, *TIMING, "--output", out]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        runs = sorted(out.glob(f"*-{load}.run.jsonl"))
        if answer.returncode not in (0, 1) or not runs:
            raise RuntimeError(f"{binary}: {answer.stderr.strip()}")
        return [json.loads(line) for line in runs[-1].read_text("utf-8").splitlines()]


def delivered(found):
    """What the load did, from the line that reports it."""
    return next(line for line in found if line["kind"] == "delivered")


def pass_ns(binary):
    """CPU time of a pass of `cpuload`, in ns."""
    done = delivered(lines(binary, "cpuload"))["totals"]
    return done["cpu_ns"] / done["passes"]


def trip_ns(binary):
    """Time for a unit of the token ring's volume, in ns."""
    done = delivered(lines(binary, "8ctx-mem"))
    return done["elapsed_ns"] / done["delivered"]


def part_ns(probe, part):
    """A function that measures the median of a part of a probe, in ns."""

    def measure(binary):
        found = lines(binary, "noload", "--probe", probe)
        samples = [line for line in found if line["kind"] == "sample" and "completed_ns" in line]
        if part == "delay":
            return statistics.median(line["completed_ns"] - line["started_ns"] for line in samples)
        return statistics.median(line["parts"][part] for line in samples)

    return measure


WORK = {
    "cpuload, a pass": pass_ns,
    "8ctx-mem, a unit of volume": trip_ns,
    "response, scan of resident memory": part_ns("response", "resident_scan_ns"),
    "response, touch of fresh memory": part_ns("response", "fresh_touch_ns"),
    "exec, a start": part_ns("exec", "delay"),
}


def benchmark(binary):
    """The section of this benchmark."""
    before = os.environ.get("THRASHLAB_BEFORE")
    if not before or not os.access(before, os.X_OK):
        raise section.NotPossible("THRASHLAB_BEFORE names no program of the last release")
    found = section.Section("The speed of loads and probes")
    found.add(f"{PAIRS} pairs of runs in turns: {binary} over {before}.")
    rows, worst = [], 0.0
    for name, measure in WORK.items():
        pairs = [(measure(str(binary)), measure(before)) for _ in range(PAIRS)]
        ratios = sorted(ours / theirs for ours, theirs in pairs)
        ratio = statistics.median(ratios)
        worst = max(worst, ratio)
        times = [statistics.median(each) for each in zip(*pairs)]
        row = [f"{time / 1e3:.3g}" for time in times]
        rows.append([name, *row, f"{ratio:.2f}", f"{ratios[0]:.2f} to {ratios[-1]:.2f}"])
    found.add(section.table(["work", "µs", "before, µs", "ratio", "of pairs"], rows))
    found.require(f"no ratio above {LIMIT}", f"{worst:.2f}", worst <= LIMIT)
    return found


if __name__ == "__main__":
    section.main("instrument", benchmark)
