"""What recording a program's references costs, and simulating TLBs while it runs.

Two programs in turns: `gzip -9` on this project's own texts, a real program and mostly integer
work, and touches.c (compiled here with -O2), a small one of known references. Each natively, under
plain QEMU, recorded with every reference and with pages only, simulated on zen4, and, on a small
piece of the work, under valgrind's lackey with its lines thrown away. Told are the medians of
elapsed time and of CPU time, the emulator's part of that (which is QEMU with the plugin, without
the recorder), and both over those of the program by itself.

Run: python3 benches/trace_record.py [BINARY]; about a minute. Needs qemu-user and a C compiler (cc).
Leave both cores to it: a recorder that has to share them is in the way of what it records.
"""

import os
import platform
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import section

# Most that it may take, over the program by itself.
RECORDED_LIMIT = 5.0
SIMULATED_LIMIT = 6.0
TURNS = 5
TEXT_BYTES = 24 << 20
PASSES = 32000
# Lackey is so slow that it gets a piece of the work.
LACKEY_TEXT_BYTES = 1 << 20
LACKEY_PASSES = 100


def cpu_of_children_s(pid):
    """CPU seconds of a process's children that live; None if there are none."""
    ticks = []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for child in children:
            words = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            ticks.append(int(words[11]) + int(words[12]))
    except OSError:
        pass
    return max(ticks) / os.sysconf("SC_CLK_TCK") if ticks else None


def costs_s(command, stdin):
    """Elapsed seconds, CPU seconds, and those of the busiest child; its output is thrown away."""
    with open(stdin, "rb") as given:
        start = time.monotonic()
        running = subprocess.Popen(command, stdin=given, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        child_s = None
        while True:
            pid, status, used = os.wait4(running.pid, os.WNOHANG)
            if pid:
                break
            child_s = cpu_of_children_s(running.pid) or child_s
            time.sleep(0.005)
        elapsed = time.monotonic() - start
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode != 0:
        raise subprocess.CalledProcessError(running.returncode, command)
    return elapsed, used.ru_utime + used.ru_stime, child_s


def ways(binary, folder):
    """The words that go before the program, by what they do with it."""
    trace = Path(folder) / "t.tlt"
    record = [binary, "trace", "record", "-o", trace]
    return {
        "plain QEMU": [f"qemu-{platform.machine()}"],
        "recorded": [*record, "--"],
        "recorded, pages": [*record, "--pages", "--"],
        "recorded, with fetches": [*record, "--pages", "--fetch", "--"],
        "simulated (zen4)": [binary, "mmu", "run", "--machine", "zen4", "--"],
    }


def lackey(program, stdin):
    """CPU seconds under lackey over those by itself."""
    before = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no",
              "--log-file=/dev/null"]
    alone = statistics.median(costs_s(program, stdin)[1] for _ in range(TURNS))
    return costs_s([*before, *program], stdin)[1] / alone


def references(binary, folder, program, stdin):
    """How many references a program makes."""
    command = [binary, "trace", "record", "--pages", "-o", Path(folder) / "t.tlt", "--", *program]
    with open(stdin, "rb") as given:
        done = subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL, check=True,
                              stderr=subprocess.PIPE, text=True)
    return int(done.stderr.split(": ")[1].split()[0])


def texts(folder, size):
    """A file of this size with the project's own texts, again and again."""
    every = sorted([*section.ROOT.glob("docs/**/*.md"), *section.ROOT.glob("crates/*/*/src/**/*.rs")])
    one = b"".join(path.read_bytes() for path in every)
    path = Path(folder) / f"text-{size}"
    path.write_bytes((one * (size // len(one) + 1))[:size])
    return path


def measure(binary, folder, name, work, small, found):
    """One program with its input, each way, and a piece of it for lackey."""
    program, stdin = work
    count = references(binary, folder, program, stdin)
    times = {way: [] for way in ["by itself", *ways(binary, folder)]}
    for _ in range(TURNS):
        times["by itself"].append(costs_s(program, stdin))
        for way, before in ways(binary, folder).items():
            # As for whoever records for the first time: freeing gigabytes is not part of it.
            (Path(folder) / "t.tlt").unlink(missing_ok=True)
            times[way].append(costs_s([*before, *program], stdin))
    medians = {way: [middle(values) for values in zip(*each)] for way, each in times.items()}
    alone_s, alone_cpu_s, _ = medians["by itself"]
    rows = []
    for way, (elapsed, cpu_s, child_s) in medians.items():
        rows.append([way, f"{elapsed:.2f}", f"{elapsed / alone_s:.2f}", f"{cpu_s:.2f}",
                     f"{cpu_s / alone_cpu_s:.2f}",
                     "-" if child_s is None else f"{child_s / alone_cpu_s:.2f}",
                     f"{cpu_s / count * 1e9:.2f}"])
    if shutil.which("valgrind"):
        rows.append(["lackey, not recorded", "-", "-", "-", f"{lackey(*small):.0f}", "-", "-"])
    found.add(f"`{name}`: {count / 1e6:.0f} M data references")
    found.add(section.table(["", "median s", "times itself", "CPU s", "times itself's",
                             "the emulator's alone", "CPU ns a reference"], rows))
    return {way: each[0] / alone_s for way, each in medians.items()}


def middle(values):
    """The median of those that are known; None if there are none."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if known else None


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("Recording references")
    for needed in (f"qemu-{platform.machine()}", "cc", "gzip"):
        if not shutil.which(needed):
            raise section.NotPossible(f"{needed} is not installed")
    with tempfile.TemporaryDirectory(prefix="thrashlab-bench-", dir="/var/tmp") as folder:
        touches = str(Path(folder) / "touches")
        source = section.ROOT / "benches" / "touches.c"
        subprocess.run(["cc", "-O2", "-o", touches, source], check=True)
        nothing = texts(folder, 0)
        gzip = [shutil.which("gzip"), "-9"]
        small = (gzip, texts(folder, LACKEY_TEXT_BYTES))
        of_gzip = measure(binary, folder, "gzip -9", (gzip, texts(folder, TEXT_BYTES)), small,
                          found)
        small = ([touches, str(LACKEY_PASSES)], nothing)
        of_touches = measure(binary, folder, "touches", ([touches, str(PASSES)], nothing), small,
                             found)
    for name, ratios in (("gzip -9", of_gzip), ("touches", of_touches)):
        for way, limit in (("recorded", RECORDED_LIMIT), ("simulated (zen4)", SIMULATED_LIMIT)):
            found.require(f"{name}, {way}: at most {limit:.0f} times as long as by itself",
                          f"{ratios[way]:.2f}", ratios[way] <= limit)
    return found


if __name__ == "__main__":
    section.main("trace_record", benchmark)
