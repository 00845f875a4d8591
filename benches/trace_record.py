"""What recording a program's references costs, and simulating TLBs while it runs.

Two programs in turns: `gzip -9` on this project's own texts, a real program and mostly integer
work, and touches.c (compiled here with -O2), a small one of known references. Each natively, under
plain QEMU, recorded with every reference and with pages only, simulated on zen4, and, on a small
piece of the work, under valgrind's lackey with its lines thrown away. The figure is the median of
elapsed time over that of the program by itself.

Run: python3 benches/trace_record.py [BINARY]; about a minute. Needs qemu-user and a C compiler (cc).
Leave both cores to it: a recorder that has to share them is in the way of what it records.
"""

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


def elapsed_s(command, stdin):
    """How long a command took, in seconds; its output is thrown away."""
    with open(stdin, "rb") as given:
        start = time.monotonic()
        subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
        return time.monotonic() - start


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
    """Seconds under lackey over seconds by itself."""
    before = ["valgrind", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no",
              "--log-file=/dev/null"]
    alone = statistics.median(elapsed_s(program, stdin) for _ in range(TURNS))
    return elapsed_s([*before, *program], stdin) / alone


def references(binary, folder, program, stdin):
    """How many references a program makes."""
    command = [binary, "trace", "record", "--pages", "-o", Path(folder) / "t.tlt", "--", *program]
    with open(stdin, "rb") as given:
        done = subprocess.run(command, stdin=given, stdout=subprocess.DEVNULL, check=True,
                              stderr=subprocess.PIPE, text=True)
    return int(done.stderr.split(": ")[1].split()[0])


def texts(folder, size):
    """A file of this size with the project's own texts, again and again."""
    every = sorted([*section.ROOT.glob("docs/**/*.md"), *section.ROOT.glob("crates/*/src/**/*.rs")])
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
        times["by itself"].append(elapsed_s(program, stdin))
        for way, before in ways(binary, folder).items():
            times[way].append(elapsed_s([*before, *program], stdin))
    alone = statistics.median(times["by itself"])
    rows = []
    for way, each in times.items():
        middle = statistics.median(each)
        rows.append([way, f"{middle:.2f}", f"{middle / alone:.2f}", f"{count / middle / 1e6:.0f}"])
    if shutil.which("valgrind"):
        rows.append(["lackey, not recorded", "-", f"{lackey(*small):.0f}", "-"])
    found.add(f"`{name}`: {count / 1e6:.0f} M data references")
    found.add(section.table(["", "median s", "times itself", "M references/s"], rows))
    return {way: statistics.median(each) / alone for way, each in times.items()}


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
