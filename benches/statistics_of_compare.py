"""The statistics of `compare` keep their promises, on many simulated experiments.

Runs the Rust benchmark of the stats crate (`cargo bench -p stats`), which needs cargo: its Monte
Carlo tests on many more experiments. They judge with the code that gives users their verdicts, on
draws whose truth is known. Nothing is timed, so the machine may be busy.

Run: python3 benches/statistics_of_compare.py; some minutes, and the time to compile.

How to read it: a 95 % interval should contain the truth in 95 % of experiments, not much less
(it lies) nor much more (it is uselessly wide). False alarms are experiments in which any of several
equal systems was called slower or faster. Power is the share of experiments in which a true ratio
of 1.5 was seen.
"""

import shutil
import subprocess

import section

COMMAND = ["cargo", "bench", "--quiet", "-p", "stats", "--bench", "verdicts"]


def benchmark(_binary):
    """The section of this benchmark."""
    if not shutil.which("cargo"):
        raise section.NotPossible("no cargo: install the Rust toolchain (https://rustup.rs)")
    done = subprocess.run(COMMAND, capture_output=True, text=True, cwd=section.ROOT, check=False)
    found = section.Section("Statistics of comparison")
    rows = []
    for line in done.stdout.splitlines():
        if line.startswith("requirement | "):
            _, text, figure, met = line.split(" | ")
            found.require(text, figure, met == "met")
        elif line.startswith("|"):
            # A head of another table ends the one before it.
            if line.startswith("|---") and len(rows) > 1:
                found.add("\n".join(rows[:-1]))
                rows = rows[-1:]
            rows.append(line)
    found.add("\n".join(rows))
    if not found.requirements:
        raise RuntimeError(f"{' '.join(COMMAND)}: {(done.stderr or done.stdout).strip()[-400:]}")
    return found


if __name__ == "__main__":
    found = section.attempt("statistics_of_compare", benchmark, None)
    print(found.markdown())
    raise SystemExit(0 if all(each.met for each in found.requirements) else 1)
