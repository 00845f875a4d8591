"""Whether the doctor names what was provoked, and nothing else: every provocation against every rule.

Each load that provokes a condition runs in a sandbox, with the condition (intensity 1) and without
it (intensity 0), while the doctor watches; so do healthy loads. What counts is the share of time
that a rule says was lost by the sandbox's own processes.

Run: python3 benches/doctor_confusion.py [BINARY]; about four minutes; needs root or a delegated
control group.

How to read it: rows are what ran, columns are rules; a cell is the time lost in percent, `.` is
less than 1 %. The diagonal is to be the largest figure of its row but for rules whose price is an
upper bound, and within a factor of two of the measured loss (1 - rate with the condition / rate
without it); a bound must not be below half of it.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import section

# What ran, where, and the rule that is to name it; None: no rule may say more than a note.
ROWS = [
    ("provoke-memcg-refault", "sandbox:mem=46M", "memcg-refault"),
    ("provoke-page-tables", "sandbox:mem=128M", "page-tables"),
    ("provoke-shootdown", "sandbox:mem=64M", "shootdown"),
    ("provoke-fork-storm", "sandbox:mem=256M", "fork-storm"),
    ("provoke-minor-faults", "sandbox:mem=64M", "minor-faults"),
    ("provoke-translation", "sandbox:mem=128M", "translation"),
    ("provoke-cpu-denied", "sandbox:mem=64M,cpus=0.5", "cpu-denied"),
    ("provoke-switches", "sandbox:mem=64M", None),
    ("cpuload", "sandbox:mem=64M", None),
    ("noload", "sandbox:mem=64M", None),
]
WATCHED = "2s"
POINTS = ["--probe", "wake", "--interval", "1s", "--points", "4", "--warmup", "20s"]
# From this share of the time lost on, a finding is more than a note.
WARNING = 0.05
LONGEST_S = 120
# Rules whose price is an upper bound: notes, whatever they say.
BOUNDS = set()


def environment(folder):
    """Folders of our own, so that costs are measured now and nothing else is met."""
    names = {"XDG_STATE_HOME": "state", "XDG_CACHE_HOME": "cache"}
    return os.environ | {name: str(folder / part) for name, part in names.items()}


def is_warm(path):
    """Whether a run file tells that its load is in its state."""
    return path.exists() and '"phase":"warm"' in path.read_text()


def observe(binary, folder, load, subject, intensity):
    """A load under the doctor's eyes: its findings in the sandbox, and the load's rate."""
    output = folder / f"{load}-{intensity}"
    command = [binary, "run", "--subject", subject, "--load", load, *POINTS]
    command += ["--output", output, "--work-dir", folder / "work"]
    if load.startswith("provoke-"):
        command += ["--intensity", str(intensity)]
    number = 1 if load == "noload" else 2
    path = output / f"{number:03}-{load}.run.jsonl"
    with open(folder / "said", "w", encoding="utf-8") as said:
        run = subprocess.Popen(command, env=environment(folder), stdout=said, stderr=said)
        deadline = time.monotonic() + LONGEST_S
        while not is_warm(path):
            if run.poll() is not None or time.monotonic() > deadline:
                run.kill()
                raise section.NotPossible((folder / "said").read_text())
            time.sleep(0.02)
        findings = diagnose(binary, folder, run.pid, WATCHED)
        if run.poll() is None:
            run.send_signal(signal.SIGINT)
        run.wait(LONGEST_S)
    shown = ", ".join(f"{rule} {100 * share:.1f} %" for rule, share in findings.items())
    print(f"{load} at {intensity}: {shown or 'nothing'}; rate {rate(path)}", file=sys.stderr)
    return findings, rate(path)


def diagnose(binary, folder, run_pid, watched):
    """What the doctor finds of the sandbox and of the machine as a whole, by rule."""
    command = [binary, "doctor", "--for", watched, "--json"]
    done = subprocess.run(
        command, env=environment(folder), capture_output=True, text=True, check=True
    )
    shares = {}
    for found in json.loads(done.stdout)["findings"]:
        if is_ours(found["scope"], run_pid):
            rule = found["rule"]
            # A condition without a price is priced at least, if at all.
            price = found.get("at_least") or found
            shares[rule] = max(shares.get(rule, 0.0), price.get("lost_share", 0.0))
            if found.get("is_bound", True):
                BOUNDS.add(rule)
    return shares


def loudest(found, but=None):
    """The largest share of a rule that says more than a note, apart from one."""
    known = (share for rule, share in found.items() if rule not in BOUNDS and rule != but)
    return max(known, default=0.0)


def is_ours(scope, run_pid):
    """Whether a finding is of the sandbox; others of this machine are nobody's business here."""
    if scope == "machine":
        return True
    if "group" in scope:
        return f"/thrashlab-{run_pid}-" in scope["group"]
    return scope["process"]["name"].startswith("thrashlab")


def rate(path):
    """Operations for each ns that the load was busy; None if it counts none."""
    for line in path.read_text().splitlines():
        line = json.loads(line)
        totals = line.get("totals", {}) if line["kind"] == "delivered" else {}
        if totals.get("busy_ns"):
            return totals.get("operations", 0) / totals["busy_ns"]
    return None


def measure(binary, folder):
    """The rows of the matrix: what ran, the findings, and the measured loss."""
    rows = []
    for load, subject, rule in ROWS:
        found, with_it = observe(binary, folder, load, subject, 1)
        if rule is None:
            rows.append((load, rule, found, None))
            continue
        healthy, without = observe(binary, folder, load, subject, 0)
        rows.append((load, rule, found, 1 - with_it / without))
        rows.append((f"{load} at 0", None, healthy, None))
    return rows


def percent(share):
    """A share for a cell."""
    return "." if share < 0.01 else f"{100 * share:.0f}"


def benchmark(binary):
    """The matrix."""
    result = section.Section("What the doctor names")
    rules = [rule for _, _, rule in ROWS if rule]
    with tempfile.TemporaryDirectory(prefix="thrashlab-bench-", dir="/var/tmp") as name:
        folder = Path(name)
        # Costs are measured before anything disturbs the machine.
        calibrate = [binary, "doctor", "--calibrate"]
        costs = subprocess.run(
            calibrate, env=environment(folder), capture_output=True, text=True, check=True
        )
        rows = measure(binary, folder)
    cells = []
    for load, rule, found, loss in rows:
        shown = [percent(found.get(each, 0.0)) for each in rules]
        others = sorted(set(found) - set(rules))
        shown.append(" ".join(f"{each} {percent(found[each])}" for each in others) or ".")
        cells.append([load, *shown, "" if loss is None else percent(loss)])
        if rule is None:
            worst = loudest(found)
            text = f"{load}: no rule says more than a note"
            result.require(text, f"{100 * worst:.1f} %", worst < WARNING)
            continue
        own, rest = found.get(rule, 0.0), loudest(found, but=rule)
        first = own > rest and rest < WARNING
        result.require(f"{load}: {rule} alone", f"{100 * own:.0f} %, others {100 * rest:.1f} %", first)
        near = loss / 2 <= own and (rule in BOUNDS or own <= loss * 2)
        kind = "bounds" if rule in BOUNDS else "within a factor of two of"
        text = f"{load}: {kind} the measured loss"
        result.require(text, f"{100 * own:.0f} % of {100 * loss:.0f} %", near)
    result.add(section.table(["load", *rules, "other rules", "measured"], cells))
    result.add("Costs of this machine when it began:\n\n```\n" + costs.stdout.rstrip() + "\n```")
    return result


if __name__ == "__main__":
    section.main("doctor_confusion", benchmark)
