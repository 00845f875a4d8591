"""What the harness costs the job vmtest, and what waiting for the steady state costs.

Overhead: the job beside a bare C program that does the same (bare_vmtest.c, compiled here with
-O2), in turns on a quiet machine, with the same loops. The figure is the ratio of the medians of
elapsed time per touch, from before the first fork to the end of the last child.

Steady state: a file of 48 MB that is mapped and touched at random, cold at the start. A fixed
warm-up that is long enough for every level would be as long as the slowest needs; the job decides
by itself. The figure is all time of the runs over that of runs with a fixed warm-up, where the
warm-up of each is the shortest after which its cost is within 5 % of its end.

Run: python3 benches/memory_job.py [BINARY]; about three minutes. Needs a C compiler (cc).
"""

import json
import os
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import section

OVERHEAD_LIMIT = 0.01
STEADY_LIMIT = 0.20
TURNS = 15
PROCESSES = 4
PROCESS_BYTES = 2 << 20
STEP = 4096
SWITCH_RATE = 50
# The levels of the second part: sandbox limits under and over the file, in MiB.
LIMITS_MIB = (96, 56, 46, 36)
FILE_MIB = 48


def passes_of(binary, folder, job, subject, *settings):
    """The passes of one run of a job, with the header of its file."""
    out = Path(tempfile.mkdtemp(prefix="run-", dir=folder)) / "out"
    command = [binary, "run", "--job", job, "--quiet", "--subject", subject, "--output", out]
    command += ["--work-dir", Path(folder) / "work"]
    for each in settings:
        command += ["--set", each]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    lines = []
    for path in out.glob("*.run.jsonl"):
        lines += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [line for line in lines if line["kind"] == "pass"]


def cost_ns(one):
    """Elapsed ns per touch of a pass."""
    return (one["completed_ns"] - one["started_ns"]) / one["usage"]["touches"]


def overhead(binary, folder, found):
    """The harness against the bare program."""
    if not shutil.which("cc"):
        raise section.NotPossible("no C compiler: apt-get install gcc")
    bare = Path(folder) / "bare_vmtest"
    source = section.ROOT / "benches" / "bare_vmtest.c"
    subprocess.run(["cc", "-O2", "-o", bare, source], check=True)
    size = PROCESSES * PROCESS_BYTES
    settings = [f"size={size}", f"process_size={PROCESS_BYTES}", f"step={STEP}"]
    settings += [f"switch_rate={SWITCH_RATE}", "time=1s"]
    first = passes_of(binary, folder, "vmtest", "host", *settings)
    loops = first[0]["usage"]["loops"]
    touches = loops * PROCESSES * (PROCESS_BYTES // STEP)
    arguments = [PROCESSES, PROCESS_BYTES, STEP, loops, SWITCH_RATE]
    ours, theirs = [], []
    for _ in range(TURNS):
        done = subprocess.run([bare, *map(str, arguments)], check=True, capture_output=True)
        theirs.append(int(done.stdout) / touches)
        ours += map(cost_ns, passes_of(binary, folder, "vmtest", "host", *settings,
                                       f"loops={loops}"))
    ratio = statistics.median(ours) / statistics.median(theirs)
    rows = [["bare C", len(theirs), f"{statistics.median(theirs):.4f}", f"{min(theirs):.4f}"],
            ["thrashlab", len(ours), f"{statistics.median(ours):.4f}", f"{min(ours):.4f}"]]
    found.add(section.table(["vmtest", "rounds", "median ns per touch", "least"], rows))
    found.require(
        f"the harness costs vmtest at most {OVERHEAD_LIMIT:.0%}",
        f"{ratio - 1:+.2%}",
        ratio - 1 <= OVERHEAD_LIMIT,
    )


def steady(binary, folder, found):
    """What finding the steady state costs over a fixed warm-up that is long enough."""
    rows, all_s, fixed_s, longest_s = [], 0.0, 0.0, 0.0
    measured_s = 2.0
    for limit_mib in LIMITS_MIB:
        passes = passes_of(
            binary, folder, "touch", f"sandbox:mem={limit_mib}M", f"footprint={FILE_MIB}M",
            "backing=file", "pattern=uniform", f"time={measured_s}s",
        )
        costs = [cost_ns(one) if one["usage"]["touches"] else float("inf") for one in passes]
        end = statistics.median(costs[len(costs) // 2:])
        cold = next(i for i, cost in enumerate(costs) if abs(cost / end - 1) <= 0.05)
        begun = passes[0]["started_ns"]
        warm_s = (passes[cold]["started_ns"] - begun) / 1e9
        took_s = (passes[-1]["completed_ns"] - begun) / 1e9
        longest_s = max(longest_s, warm_s)
        all_s += took_s
        rows.append([f"{limit_mib} MiB", len(passes), f"{warm_s:.2f}", f"{took_s:.2f}",
                     f"{end:.1f}"])
    fixed_s = len(LIMITS_MIB) * (longest_s + measured_s)
    found.add(section.table(
        ["limit", "windows", "cold s", "all s", "ns per touch at the end"], rows))
    ratio = all_s / fixed_s - 1
    found.require(
        f"finding the steady state takes less than {STEADY_LIMIT:.0%} more time than a fixed "
        f"warm-up that is long enough for all levels ({longest_s:.2f} s)",
        f"{ratio:+.1%}",
        ratio < STEADY_LIMIT,
    )


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("Memory jobs")
    # On a disk: thrashlab itself does not put its files into memory.
    with tempfile.TemporaryDirectory(prefix="thrashlab-bench-", dir="/var/tmp") as folder:
        overhead(binary, folder, found)
        if os.geteuid() == 0:
            steady(binary, folder, found)
        else:
            found.add("The steady state is measured as root only: it takes a sandbox.")
    return found


if __name__ == "__main__":
    section.main("memory_job", benchmark)
