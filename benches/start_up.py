"""How long the program takes to start, and how large it is.

`thrashlab --help` beside `/bin/true` and, if installed, `hyperfine --version`, a hundred starts of
each in turns.

Run: python3 benches/start_up.py [BINARY]; a few seconds.

How to read it: the time from starting the process (posix_spawn) until it is reaped; that of
`/bin/true` is what the system and this script take for any program.
"""

import os
import shutil
import time

import figures
import section

STARTS = 100
LIMIT_MS = 10


def start_ns(command):
    """How long one start takes until the program has ended, in ns."""
    silent = [
        (os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)
    ]
    begun = time.monotonic_ns()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=silent)
    _, status = os.waitpid(pid, 0)
    elapsed = time.monotonic_ns() - begun
    if status != 0:
        raise RuntimeError(f"{' '.join(command)} ended with wait status {status}")
    return elapsed


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("Start-up")
    commands = {
        "thrashlab --help": [str(binary), "--help"],
        "/bin/true": [shutil.which("true")],
    }
    hyperfine = shutil.which("hyperfine")
    if hyperfine:
        commands["hyperfine --version"] = [hyperfine, "--version"]
    times = {name: [] for name in commands}
    for _ in range(STARTS):
        for name, command in commands.items():
            times[name].append(start_ns(command))
    base = figures.median(times["/bin/true"])
    rows = []
    for name, each in times.items():
        middle = figures.median(each)
        p99 = figures.percentile(sorted(each), 99)
        size = os.path.getsize(os.path.realpath(commands[name][0])) / (1 << 20)
        row = [name, f"{middle / 1e6:.2f}", f"{p99 / 1e6:.2f}", f"{middle / base:.1f}"]
        rows.append([*row, f"{size:.2f}"])
    head = ["command", "median ms", "p99 ms", "times /bin/true", "program MiB"]
    found.add(f"{STARTS} starts of each, in turns.")
    found.add(section.table(head, rows))
    if not hyperfine:
        found.add("hyperfine: not installed: apt-get install hyperfine")
    ours = figures.median(times["thrashlab --help"]) / 1e6
    found.require(f"less than {LIMIT_MS} ms", f"{ours:.2f} ms", ours < LIMIT_MS)
    return found


if __name__ == "__main__":
    section.main("start_up", benchmark)
