"""A frozen machine is seen.

Freezes the measuring process of each tool for 300 ms once a second, from outside and the same way
(SIGSTOP, SIGCONT), as a machine freezes under its user's hands, and compares what the tools
report with what was done to them.

Run: python3 benches/freeze.py [BINARY]; about 12 s for each tool.

How to read it: of the wake-ups that were due, one every period, those whose moment lay in a freeze
came late, spread evenly from 0 to the length of the freeze: (F - 50 ms) / P of them by more than
50 ms. "Share seen" is how many of these the tool reports. A tool that sleeps for a period *after*
it woke up, or skips the moments it missed, reports one late wake-up for each freeze, whatever its
length (coordinated omission): its percentiles describe the machine without its freezes. A share
above 1.1 means that the machine was too busy: it delayed the tool for longer than it was frozen.
Peers run with their option for the fullest data, named below the table.
"""

import functools
import subprocess
import tempfile
import time

import figures
import peers
import processes
import section
from measured_run import MeasuredRun, delays_ns

PERIOD_US = 4_000
SECONDS = 12
# A run without any load gets twice the points that are asked for.
POINTS = SECONDS // 2
FREEZES = 9
FREEZE_S = 0.3
LATE_US = 50_000
LONGEST_US = 600_000
STEP_US = 10_000
SEEN = 0.9


def expected_late(frozen_s):
    """How many wake-ups these freezes make late by more than LATE_US."""
    return sum(max(0, each * 1e6 - LATE_US) for each in frozen_s) / PERIOD_US


def expected_p99_us(frozen_s):
    """The delay that one in a hundred of all wake-ups exceeds."""
    low, high = 0.0, max(frozen_s) * 1e6
    while high - low > 1:
        middle = (low + high) / 2
        beyond = sum(max(0, each * 1e6 - middle) for each in frozen_s)
        low, high = (middle, high) if beyond > SECONDS * 1e6 / 100 else (low, middle)
    return low


def freeze(pid):
    """A freezer of this process that has begun."""
    freezer = processes.Freezer(pid, FREEZES, FREEZE_S)
    freezer.start()
    return freezer


def thrashlab(binary):
    """Report of thrashlab's wake probe, and the freezes."""
    timing = ["--interval", "1s", "--points", str(POINTS)]
    with MeasuredRun(binary, "--probe", "wake", *timing) as run:
        freezer = freeze(run.parts()["prober"])
        lines = run.finish()
        freezer.join()
    delays = delays_ns(lines)
    if lines[0]["spec"]["timing"]["points"] != SECONDS:
        raise RuntimeError(f"thrashlab did not measure for {SECONDS} s")
    return peers.Report([(delay / 1000, 1) for delay in delays], None), freezer.frozen_s


def youngest(pid):
    """The last in the line of a process's youngest descendants: in all these tools it measures."""
    below = processes.children(pid)
    return youngest(below[-1]) if below else pid


def peer(command, read):
    """Report of a peer, and the freezes."""
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            # By now it has forked whatever it forks.
            time.sleep(0.5)
            freezer = freeze(youngest(process.pid))
            code = process.wait(SECONDS + 30)
        finally:
            process.kill()
        freezer.join()
        output.seek(0)
        text = output.read()
    report = read(text)
    if code != 0 or not report.wakes:
        raise section.NotPossible(peers.last_line(text))
    return report, freezer.frozen_s


def row(name, report, frozen_s):
    """A row of the table, and the share seen."""
    due = SECONDS * 1_000_000 // PERIOD_US
    late = sum(count for at, count in report.wakes if at >= LATE_US)
    expected = expected_late(frozen_s)
    share = late / expected
    p99_us = report.p99_us
    if p99_us is None:
        p99_us = figures.percentile([at for at, count in report.wakes for _ in range(count)], 99)
    verdict = "sees the freeze" if share >= SEEN else f"misses {100 * (1 - share):.0f} %"
    reported = sum(count for _, count in report.wakes)
    cells = [name, "4 ms", due, reported, late, f"{expected:.0f}", f"{share:.2f}"]
    cells += [f"{p99_us / 1000:.1f} ms", f"{expected_p99_us(frozen_s) / 1000:.0f} ms", verdict]
    return cells, share


def peer_rows():
    """Rows of the peers, and the command lines or why there is none."""
    cyclic = "stress-ng --cyclic"
    realtime = peers.may_use_realtime()
    rows, notes = [], []
    for name, program, policy in [
        ("cyclictest", "cyclictest", "other"),
        ("cyclictest", "cyclictest", "fifo"),
        (cyclic, "stress-ng", "other"),
        (cyclic, "stress-ng", "fifo"),
    ]:
        label = f"{name}, SCHED_{policy.upper()}"
        version = peers.version(program)
        if not version:
            notes.append(f"- {label}: {peers.INSTALL}")
            continue
        if policy == "fifo" and not realtime:
            notes.append(f"- {label}: not permitted (needs CAP_SYS_NICE)")
            continue
        if program == "cyclictest":
            command = peers.cyclictest(policy, PERIOD_US, SECONDS, LONGEST_US)
            read = functools.partial(peers.read_cyclictest, longest_us=LONGEST_US)
        else:
            command = peers.stress_ng(policy, PERIOD_US, SECONDS, STEP_US)
            read = peers.read_stress_ng
        try:
            rows.append(row(label, *peer(command, read))[0])
            notes.append(f"- {label}: {version}: `{' '.join(command)}`")
        except section.NotPossible as why:
            notes.append(f"- {label}: {version}: {why}")
    return rows, notes


def benchmark(binary):
    """The section of this benchmark."""
    ours, share = row("thrashlab, wake probe, SCHED_OTHER", *thrashlab(binary))
    rows, notes = peer_rows()
    found = section.Section("A frozen machine is seen")
    head = ["tool", "period", "wake-ups due", "reported", "reported late by > 50 ms"]
    head += ["made late by > 50 ms", "share seen", "p99 reported", "p99 true", "verdict"]
    found.add(f"{FREEZES} freezes of {FREEZE_S * 1000:.0f} ms in {SECONDS} s, once a second.")
    found.add(section.table(head, [ours, *rows]))
    found.add("\n".join(notes))
    found.require("the share seen is 0.9 to 1.1", f"{share:.2f}", SEEN <= share <= 2 - SEEN)
    return found


if __name__ == "__main__":
    section.main("freeze", benchmark)
