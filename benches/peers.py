"""Other programs that measure wake-ups: whether they are installed, and what they report."""

import os
import re
import shutil
import subprocess
from collections import namedtuple

INSTALL = "not installed: apt-get install rt-tests stress-ng"

# Wake-ups as (delay in us, how many), ascending, and the tool's own p99 in us if it gives one.
Report = namedtuple("Report", "wakes p99_us")


def version(program):
    """First line in which a program names its version; None if it is not installed."""
    path = shutil.which(program)
    if not path:
        return None
    flag = "--help" if program == "cyclictest" else "--version"
    said = subprocess.run([path, flag], capture_output=True, text=True, check=False)
    first = next(iter((said.stdout + said.stderr).splitlines()), program)
    return first.partition(" (")[0]


def last_line(text):
    """What a program that gave up said last."""
    return next(iter(text.strip().splitlines()[-1:]), "it said nothing")


def may_use_realtime():
    """Whether this process may use SCHED_FIFO, found by doing so for a moment."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        return True
    except OSError:
        return False


def cyclictest(policy, period_us, seconds, longest_us):
    """Command line of cyclictest with all its data: -h counts every wake-up to 1 us."""
    command = ["cyclictest", "-q", "-i", str(period_us), "-D", str(seconds), "-h", str(longest_us)]
    command += ["--policy", policy] + (["-p", "80"] if policy != "other" else [])
    said = subprocess.run(["cyclictest", "--help"], capture_output=True, text=True, check=False)
    if "--default-system" in said.stdout + said.stderr:
        # The machine as it is: without this it keeps the CPUs out of deep idle states.
        command.append("--default-system")
    return command


def read_cyclictest(text, longest_us):
    """What cyclictest printed; delays beyond its histogram count as the longest."""
    wakes = [(int(at), int(count)) for at, count in re.findall(r"^(\d{6,}) (\d{6,})$", text, re.M)]
    beyond = re.search(r"^# Histogram Overflows: (\d+)", text, re.M)
    wakes.append((longest_us, int(beyond[1]) if beyond else 0))
    return Report([(at, count) for at, count in wakes if count], None)


def stress_ng(policy, period_us, seconds, step_us):
    """Command line of stress-ng's cyclic stressor with all its data: every wake-up is kept, and
    the distribution is printed in steps of `step_us`, 10 ms at most."""
    command = ["stress-ng", "--cyclic", "1", "--cyclic-policy", policy, "-t", str(seconds)]
    command += ["--cyclic-sleep", str(period_us * 1000), "--cyclic-dist", str(step_us * 1000)]
    return command + ["--cyclic-samples", "100000"]


def read_stress_ng(text):
    """What stress-ng printed; each delay counts as the lower end of its step."""
    found = re.findall(r"cyclic:\s+(\d+)\s+(\d+)\s*$", text, re.M)
    p99 = re.search(r"99\.00%:\s+(\d+) ns", text)
    wakes = [(int(at) // 1000, int(count)) for at, count in found if int(count)]
    return Report(wakes, int(p99[1]) / 1000 if p99 else None)
