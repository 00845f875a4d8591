"""The noise floor: what the wake probe measures on an idle machine, beside cyclictest.

In turns within the same minutes, all with a period of 4 ms and SCHED_OTHER: thrashlab's wake probe,
cyclictest as it is, and cyclictest started with thrashlab's timer slack. Timer slack is how much
later than asked the kernel may wake an ordinary process: thrashlab sets its own to 1 ns, so that
delays are the system's; cyclictest keeps what it inherits, usually 50 us, which is then in every
one of its delays under SCHED_OTHER.

Run: python3 benches/noise_floor.py [BINARY]; about 80 s. Leave the machine alone meanwhile.

How to read it: the ratio of medians is thrashlab / cyclictest. With the same slack it is near 1
when the probe adds nothing of its own. (It is not exactly 1: thrashlab wakes at a random phase of
each period, and cyclictest counts whole microseconds, downwards.) The maximum is one wake-up out of
thousands and differs from run to run.
"""

import ctypes
import subprocess
import tempfile
import time

import figures
import peers
import processes
import section
from measured_run import MeasuredRun, delays_ns

PERIOD_US = 4_000
SECONDS = 6
# A run without any load gets twice the points that are asked for.
POINTS = SECONDS // 2
ROUNDS = 4
LONGEST_US = 100_000
PR_SET_TIMERSLACK = 29
CLOSE = 1.5


def slack_of(pid):
    """Timer slack of each thread of a process, in ns, as text."""
    found = set()
    for thread in processes.threads(pid):
        try:
            with open(f"/proc/{thread}/timerslack_ns", encoding="ascii") as file:
                found.add(int(file.read()))
        except OSError:
            return "unknown slack"
    return "slack " + " and ".join(f"{each} ns" for each in sorted(found))


def thrashlab(binary):
    """Delays of the wake probe in ns, and its timer slack."""
    timing = ["--interval", "1s", "--points", str(POINTS)]
    with MeasuredRun(binary, "--probe", "wake", *timing) as run:
        slack = slack_of(run.parts()["prober"])
        return delays_ns(run.finish()), slack


def set_timer_slack(slack_ns):
    """Sets the timer slack of this process, which its children have as their default; 0 is ours."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, slack_ns, 0, 0, 0)


def cyclictest(slack_ns):
    """Delays in ns that cyclictest reports when it inherits this slack (0: the usual one), and
    its timer slack."""
    command = peers.cyclictest("other", PERIOD_US, SECONDS, LONGEST_US)
    with tempfile.TemporaryFile("w+") as output:
        # Set here and not in the child: cyclictest changes its policy for a moment, which puts it
        # back to the default that it was born with.
        set_timer_slack(slack_ns)
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        set_timer_slack(0)
        time.sleep(1)  # until its thread is made
        slack = slack_of(process.pid)
        code = process.wait(SECONDS + 30)
        output.seek(0)
        text = output.read()
    report = peers.read_cyclictest(text, LONGEST_US)
    if code != 0 or not report.wakes:
        raise section.NotPossible(peers.last_line(text))
    return [at * 1000 for at, count in report.wakes for _ in range(count)], slack


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("Noise floor of the wake probe")
    tools = {"thrashlab, wake probe": lambda: thrashlab(binary)}
    version = peers.version("cyclictest")
    refusal = None if version else peers.INSTALL
    if version:
        tools["cyclictest as it is"] = lambda: cyclictest(0)
        tools["cyclictest with our slack"] = lambda: cyclictest(1)
    rounds = {name: [] for name in tools}
    slacks = {}
    for _ in range(ROUNDS):
        for name, measure in tools.items():
            if refusal and name.startswith("cyclictest"):
                continue
            try:
                delays, slacks[name] = measure()
                rounds[name].append(delays)
            except section.NotPossible as why:
                refusal = f"{version}: {why}"
    ours = [figures.median(each) for each in rounds["thrashlab, wake probe"]]
    rows, ratio_to = [], {}
    for name, all_delays in rounds.items():
        if len(all_delays) < ROUNDS:
            continue
        medians = [figures.median(each) for each in all_delays]
        delays = sorted(sum(all_delays, []))
        cells = [f"{name} ({slacks[name]})", len(delays)]
        cells += [figures.us(figures.percentile(delays, percent)) for percent in (50, 99)]
        cells += [figures.us(delays[-1]), " ".join(figures.us(each) for each in medians)]
        ratios = sorted(mine / other for mine, other in zip(ours, medians))
        ratio_to[name] = figures.median(ratios)
        cells.append(f"{ratio_to[name]:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
        rows.append(cells)
    head = ["tool", "wake-ups", "median µs", "p99 µs", "max µs", "median of each turn µs"]
    head.append("thrashlab / this, of medians")
    found.add(f"{ROUNDS} turns of {SECONDS} s each, period 4 ms, SCHED_OTHER.")
    found.add(section.table(head, rows))
    if refusal:
        found.add(f"cyclictest: {refusal}")
    else:
        command = peers.cyclictest("other", PERIOD_US, SECONDS, LONGEST_US)
        found.add(f"{version}: `{' '.join(command)}`")
        ratio = ratio_to["cyclictest with our slack"]
        found.require(
            f"with the same slack, the medians differ by less than {CLOSE} times",
            f"{ratio:.2f}",
            1 / CLOSE < ratio < CLOSE,
        )
    return found


if __name__ == "__main__":
    section.main("noise_floor", benchmark)
