"""What the counters of one sample cost.

Runs the Rust benchmark of the counters crate (`cargo bench -p counters`), which needs cargo, while
a run that does nothing for a minute holds a sandbox open, so that its counters are read too.

Run: python3 benches/sample_cost.py [BINARY]; about 10 s, and the time to compile.

How to read it: a sample reads every counter twice, before and after the interaction and outside the
time that is measured: machine, task and sandbox together. The times include parsing and hold for
warm caches; after an idle interval they are some times longer. The limit beside them is opening and
reading the same files with std::fs::read_to_string and nothing more: a ratio below 1 means that
files which stay open save more than parsing costs.
"""

import shutil
import subprocess

import section
from measured_run import MeasuredRun

LIMIT_RATIO = 1.5
# The version 1 controllers whose directories the reader takes.
CONTROLLERS = ("memory", "cpu", "cpuacct")


def mounts():
    """Where control groups are mounted: by controller, and "" for version 2."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            kind, _, options = after.split()[:3]
            if kind == "cgroup2":
                found[""] = before.split()[4]
            if kind == "cgroup":
                found.update((option, before.split()[4]) for option in options.split(","))
    return found


def sandbox_arguments(prober):
    """The control groups of this process as arguments of the Rust benchmark, if it has its own."""
    where, found = mounts(), []
    with open(f"/proc/{prober}/cgroup", encoding="utf-8") as file:
        for line in file:
            _, controllers, group = line.strip().split(":", 2)
            if "thrashlab" not in group:
                continue
            for controller in controllers.split(","):
                if controller not in where:
                    continue
                if controller == "":
                    found.append(f"cgroup_v2_dir={where['']}{group}")
                elif controller in CONTROLLERS:
                    found.append(f"cgroup_v1_{controller}_dir={where[controller]}{group}")
    return found


def cargo(*arguments):
    """Output of a cargo command."""
    command = ["cargo", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=section.ROOT, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-400:]}")
    return done.stdout


def benchmark(binary):
    """The section of this benchmark."""
    if not shutil.which("cargo"):
        raise section.NotPossible("no cargo: install the Rust toolchain (https://rustup.rs)")
    bench = ["bench", "--quiet", "-p", "counters", "--bench", "sample_cost"]
    cargo(*bench, "--no-run")
    with MeasuredRun(binary, "--interval", "60s", "--points", "1") as run:
        sandbox = sandbox_arguments(run.parts()["prober"])
        subject = run.header()["spec"]["subject"]["kind"]
        output = cargo(*bench, "--", *sandbox)
    rows = [line for line in output.splitlines() if line.startswith("|")]
    found = section.Section("Cost of one sample's counters")
    found.add("\n".join(rows))
    if subject == "host":
        found.add("No sandbox can be made here, so its counters are not in the table.")
    elif not sandbox:
        raise RuntimeError("the control groups of the sandbox were not found")
    ratios = {row.split("|")[1].strip(): float(row.split("|")[-2]) for row in rows[2:]}
    found.require(
        f"reading and parsing take at most {LIMIT_RATIO} times what opening and reading take",
        ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items()),
        all(ratio <= LIMIT_RATIO for ratio in ratios.values()),
    )
    return found


if __name__ == "__main__":
    section.main("sample_cost", benchmark)
