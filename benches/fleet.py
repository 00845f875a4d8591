"""What a fleet costs compared with one machine.

The same simulations by `thrashlab experiment --jobs 1` and on a Ray cluster of this machine with one
CPU and with two, in turns: cells of a tenth of a second, and cells of milliseconds in parts of different
sizes. Then what does not scale out: listing a plan's cells and putting its folder together.

Run: python3 benches/fleet.py [BINARY]; some three minutes. It needs Ray, fsspec and the package,
which `make test` installs: target/venv/bin/python benches/fleet.py.

How to read it: a fleet's throughput as a ratio to that of one machine with one job. On a busy machine
the wall clock says little, so CPU time (of the cells and of all of Ray's processes while they are
made) stands beside it. Starting Ray is not in it; it is in the text.
"""

import os
import shutil
import tempfile
import time
from pathlib import Path

import processes
import section

PLAN = """
name = "bench"
blocks = {blocks}
[base]
subject = "mmu:machine=sparcstation1"
job = "vmtest"
vmtest.size = "{size}"
vmtest.loops = {loops}
[[factor]]
name = "hat"
parameter = "mmu.hat"
levels = ["old", "new"]
[[factor]]
name = "pages"
parameter = "vmtest.process_size"
levels = ["256K", "512K"]
"""
# Blocks of four cells, size of memory, loops: cells of about a tenth of a second, and of milliseconds.
LONG = {"blocks": 10, "size": "20M", "loops": 500_000}
SHORT = {"blocks": 250, "size": "2M", "loops": 2}
LIMIT_RATIO = 1.25


def cpu_s(pid):
    """CPU time of a process, what it started and what that started, in s."""
    try:
        words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    own = sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")
    return own + sum(cpu_s(child) for child in processes.children(pid))


class Bench:
    """Plans, and folders of their own for each way to make their cells."""

    def __init__(self, binary, folder):
        self.binary, self.folder, self.count = binary, folder, 0
        os.environ["XDG_CACHE_HOME"] = str(folder / "cache")

    def plan(self, **sizes):
        """A plan and how many cells it has."""
        path = self.folder / f"{sizes['blocks']}.toml"
        path.write_text(PLAN.format(**sizes))
        return path, 4 * sizes["blocks"]

    def new(self):
        """A folder that is not there yet."""
        self.count += 1
        return self.folder / f"out{self.count}"

    def timed(self, work):
        """Wall and CPU time of something, in s."""
        begun, before = time.monotonic(), cpu_s(os.getpid())
        work()
        return time.monotonic() - begun, cpu_s(os.getpid()) - before

    def serial(self, plan, *arguments):
        """One machine, one job."""
        import subprocess

        command = [
            self.binary,
            "experiment",
            plan,
            "--jobs",
            "1",
            "--quiet",
            "--output",
            self.new(),
        ]
        return self.timed(
            lambda: subprocess.run(
                [*command, *arguments], check=True, stdout=subprocess.DEVNULL, cwd=self.folder
            )
        )

    def fleet(self, plan, batch):
        """The cells alone on the cluster that this process is connected to."""
        import ray
        from thrashlab.fleet.cells import Experiment
        from thrashlab.fleet.cluster import Fleet, Settings

        experiment = Experiment(self.binary, plan, [])
        out = self.new()
        with experiment.listed(out) as listed:
            work_dir = str(self.folder / "node")
            made = Fleet(ray, Settings(f"{out}.store", work_dir=work_dir, batch=batch))
            made.look(listed, None)
            # Files are in the store and on the node before.
            made.job(self.binary, listed)
            spent = self.timed(
                lambda: made.make(self.binary, listed, out.with_suffix(".log"), None)
            )
        made.check()
        return spent


def clusters(bench, long, short):
    """Figures of clusters of one and two CPUs, each beside serial runs in the same minutes."""
    import ray

    rows, starts = [], []
    for cpus in (1, 2):
        begun = time.monotonic()
        ray.init(num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="error")
        starts.append(time.monotonic() - begun)
        bench.fleet(bench.plan(**{**SHORT, "blocks": 2})[0], 1)  # starts Ray's workers
        for (plan, cells), batch in [(long, None), (short, 1), (short, 16), (short, None)]:
            alone, alone_cpu = bench.serial(plan)
            wall, cpu = bench.fleet(plan, batch)
            rows.append(
                {
                    "cpus": cpus,
                    "cells": cells,
                    "batch": batch,
                    "alone": alone,
                    "alone_cpu": alone_cpu,
                    "wall": wall,
                    "cpu": cpu,
                    "is_long": plan == long[0],
                }
            )
        ray.shutdown()
    return rows, starts


def tasks_a_second():
    """Empty tasks that Ray finishes in a second, with two CPUs."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    empty = ray.remote(lambda: None)
    ray.get([empty.remote() for _ in range(100)])
    begun = time.monotonic()
    ray.get([empty.remote() for _ in range(2000)])
    passed = time.monotonic() - begun
    ray.shutdown()
    return 2000 / passed


def ends(bench, plan, cells):
    """What does not scale out, in CPU time a cell: listing, and putting together."""
    import subprocess

    store, listed = bench.new(), bench.folder / "list"
    command = [bench.binary, "experiment", plan, "--list-cells", "--output", "none"]
    with open(listed, "w") as file:
        _, list_s = bench.timed(lambda: subprocess.run(command, stdout=file, check=True))
    with open(listed) as file:
        subprocess.run(
            [bench.binary, "cells", store], stdin=file, stdout=subprocess.DEVNULL, check=True
        )
    _, together_s = bench.serial(plan, "--cells", store)
    size = sum(path.stat().st_size for path in store.iterdir())
    return [
        ["listing", f"{list_s / cells * 1e6:.0f} us", f"{listed.stat().st_size / cells:.0f} B"],
        ["putting together", f"{together_s / cells * 1e6:.0f} us", f"{size / cells:.0f} B"],
    ]


def benchmark(binary):
    """The section of the summary."""
    try:
        import fsspec  # noqa: F401
        import ray  # noqa: F401
        import thrashlab  # noqa: F401
    except ImportError as error:
        raise section.NotPossible(f"{error}; start it with target/venv/bin/python") from error
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = Path(tempfile.mkdtemp(prefix="tl-fleet-"))
    try:
        bench = Bench(binary, folder)
        long, short = bench.plan(**LONG), bench.plan(**SHORT)
        rows, starts = clusters(bench, long, short)
        empty = tasks_a_second()
        fixed = ends(bench, *short)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    found = section.Section("A fleet beside one machine")
    head = ["cells", "CPUs", "cells a part", "serial cells/s", "fleet cells/s", "ratio"]
    head += ["serial CPU a cell", "fleet CPU a cell", "ratio"]
    lines = [
        [
            "long" if row["is_long"] else "short",
            row["cpus"],
            row["batch"] or "by itself",
            f"{row['cells'] / row['alone']:.1f}",
            f"{row['cells'] / row['wall']:.1f}",
            f"{row['alone'] / row['wall']:.2f}",
            f"{row['alone_cpu'] / row['cells'] * 1e3:.2f} ms",
            f"{row['cpu'] / row['cells'] * 1e3:.2f} ms",
            f"{row['cpu'] / row['alone_cpu']:.2f}",
        ]
        for row in rows
    ]
    found.add(section.table(head, lines))
    found.add(
        f"Starting Ray here: {starts[0]:.1f} and {starts[1]:.1f} s. Empty tasks: {empty:.0f}/s."
    )
    found.add(section.table(["once a plan", "CPU a cell", "bytes a cell"], fixed))
    worst = max(row["cpu"] / row["alone_cpu"] for row in rows if row["is_long"])
    text = f"cells of a tenth of a second cost at most {LIMIT_RATIO} times the CPU time on a fleet"
    found.require(text, f"{worst:.2f}", worst <= LIMIT_RATIO)
    return found


if __name__ == "__main__":
    section.main("A fleet beside one machine", benchmark)
