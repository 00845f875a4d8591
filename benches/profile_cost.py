"""What a profile costs the program that is observed.

Two programs are compiled here, one that computes and one whose two processes switch to each other
about 50,000 times a second on one CPU. Each runs alone and observed, in turns: by `thrashlab profile`
and by peers, if they are installed. perf is measured with stack copies as it takes them by
`--call-graph dwarf`, with frame pointers (`-g`), and with `--switch-events`, the records by which
waiting is exact.

Run: python3 benches/profile_cost.py [BINARY]; about five minutes. It needs cc.

How to read it: elapsed time of the program itself, which it prints, over that of its run alone in
the same turn; the median of the turns, and their range. The programs do the same number of steps
each time.
"""

import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

import section

TURNS = 7
# Products in a register: how fast a CPU adds to memory depends on the address.
PRODUCTS = r"""
static void products(long n) {
    unsigned long x = 1;
    for (long i = 0; i < n; i++) { x *= 2654435761u; __asm__ volatile("" : "+r"(x)); }
}
"""
COMPUTES = r"""
#include <stdio.h>
#include <time.h>
PRODUCTS
int main(void) {
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 500; i++) products(1000000);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("took %.6f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
    return 0;
}
"""
SWITCHES = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
PRODUCTS
int main(void) {
    int there[2], back[2];
    char byte = 0;
    cpu_set_t first;
    CPU_ZERO(&first);
    CPU_SET(sched_getcpu(), &first);
    if (sched_setaffinity(0, sizeof first, &first) || pipe(there) || pipe(back)) return 1;
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    int is_child = fork() == 0;
    for (int i = 0; i < 25000; i++) {
        if (is_child) {
            if (read(there[0], &byte, 1) != 1) return 1;
            products(12000);
            if (write(back[1], &byte, 1) != 1) return 1;
        } else {
            if (write(there[1], &byte, 1) != 1) return 1;
            products(12000);
            if (read(back[0], &byte, 1) != 1) return 1;
        }
    }
    if (is_child) return 0;
    clock_gettime(CLOCK_MONOTONIC, &to);
    wait(0);
    printf("took %.6f\n", to.tv_sec - from.tv_sec + (to.tv_nsec - from.tv_nsec) / 1e9);
    return 0;
}
"""
PROGRAMS = {
    "computes": COMPUTES.replace("PRODUCTS", PRODUCTS),
    "50,000 switches a second": SWITCHES.replace("PRODUCTS", PRODUCTS),
}
PERF = ["perf", "record", "-q", "-o", "perf.data", "-F", "997", "-e", "cpu-clock"]
OBSERVERS = {
    "perf -g": [*PERF, "-g", "--"],
    "perf --call-graph dwarf": [*PERF, "--call-graph", "dwarf,16384", "--"],
    "perf -g --switch-events": [*PERF, "-g", "--switch-events", "--"],
    "samply": ["samply", "record", "--save-only", "-o", "samply.json", "--"],
}


def took_s(command, folder):
    """The seconds that a program says it took, alone or observed."""
    answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    lines = (answer.stdout + answer.stderr).splitlines()
    times = [line.split()[1] for line in lines if line.startswith("took ")]
    if not times:
        raise RuntimeError(f"{command}: {answer.stderr.strip() or answer.stdout.strip()}")
    return float(times[0])


def compiled(folder):
    """The programs by name."""
    if not shutil.which("cc"):
        raise section.NotPossible("no C compiler is installed")
    programs = {}
    for number, (name, text) in enumerate(PROGRAMS.items()):
        source, program = Path(folder) / f"{number}.c", Path(folder) / str(number)
        source.write_text(text, "utf-8")
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
        programs[name] = str(program)
    return programs


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("What a profile costs the observed program")
    observers = {
        "thrashlab profile": [str(binary), "profile", "--"],
        "thrashlab profile --no-waits": [str(binary), "profile", "--no-waits", "--"],
    }
    missing = [name for name, words in OBSERVERS.items() if not shutil.which(words[0])]
    observers |= {name: words for name, words in OBSERVERS.items() if name not in missing}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        for name, program in compiled(folder).items():
            ratios = {observer: [] for observer in observers}
            alone_s = []
            for _ in range(TURNS):
                alone = took_s([program], folder)
                alone_s.append(alone)
                for observer, words in observers.items():
                    ratios[observer].append(took_s([*words, program], folder) / alone)
            rows = [
                [each, f"{statistics.median(of):.3f}", f"{min(of):.3f} to {max(of):.3f}"]
                for each, of in ratios.items()
            ]
            found.add(f"{name}, {statistics.median(alone_s):.2f} s alone, {TURNS} turns:")
            found.add(section.table(["observed by", "times alone", "of turns"], rows))
            cost = statistics.median(ratios["thrashlab profile"])
            if name == "computes":
                found.require("computing takes at most 1.01 times as long", f"{cost:.3f}", cost <= 1.01)
                continue
            if "perf -g" in ratios:
                without = statistics.median(ratios["thrashlab profile --no-waits"])
                over = without - statistics.median(ratios["perf -g"])
                text = "switching costs at most 2 % of its time more with --no-waits than with perf -g"
                found.require(text, f"{over:.3f}", over <= 0.02)
            if "perf -g --switch-events" in ratios:
                peer = statistics.median(ratios["perf -g --switch-events"])
                share = (cost - 1) / max(peer - 1, 1e-9)
                text = "switching costs at most 1.5 times what perf's switch records cost"
                found.require(text, f"{share:.2f}", share <= 1.5)
    if missing:
        found.add(f"Not installed: {', '.join(missing)}.")
    return found


if __name__ == "__main__":
    section.main("profile_cost", benchmark)
