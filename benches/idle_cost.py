"""What thrashlab itself costs while it measures.

One `thrashlab run --load noload --interval 2s`, 60 s long: the CPU time of controller, observer and
cleanup process as a share of the time that passed. The prober is not in it: its interaction is what is
measured, and it does nothing else.

Run: python3 benches/idle_cost.py [BINARY]; about 65 s.

How to read it: the total is what the kernel accounts to the controller and to everything that it
has reaped (wait4) less the prober's own usage, which is in the run file. The parts are read
from the processes' CPU clocks while the run is under way; "start and end" is the rest, paid once a
run: executing the program again, making the sandbox and removing it. The share counts CPU time of
one CPU: 0.1 % is 1 ms a second.

The program is kept in memory meanwhile (mlock): some hosts evict idle pages though there is room
(`thrashlab doctor` finds that as proactive-eviction), and reading 21 MB from a disk again and again
is not thrashlab's cost. Where that is refused, the section says so.
"""

import ctypes
import mmap
import os
import time

import processes
import section
from measured_run import MeasuredRun

INTERVAL_S = 2
# A run without any load gets twice the points that are asked for.
POINTS = 15
LIMIT_PERCENT = 0.1


def keep_in_memory(path):
    """Keeps a file in memory until this process ends; False if that is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    length = ctypes.c_size_t(os.path.getsize(path))
    with open(path, "rb") as file:
        # Read-only and shared: the pages of the file itself, not copies.
        start = libc.mmap(
            None, length, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno(), ctypes.c_long(0)
        )
    return libc.mlock(ctypes.c_void_p(start), length) == 0


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("CPU time of an idle run")
    if not keep_in_memory(binary):
        found.add("The program was not kept in memory: mlock was refused.")
    timing = ["--interval", f"{INTERVAL_S}s", "--points", str(POINTS)]
    with MeasuredRun(binary, *timing) as run:
        parts = run.parts()
        used_ns = {}
        while run.alive():
            for name, pid in parts.items():
                used_ns[name] = processes.cpu_ns(pid) or used_ns.get(name, 0)
            time.sleep(0.25)
        lines = run.finish()
    samples = [line for line in lines if line["kind"] == "sample"]
    usage = samples[-1]["after"]["rusage"]
    prober_s = (usage["user_ns"] + usage["system_ns"]) / 1e9
    total_s = run.cpu_s() - prober_s
    names = ["controller", "observer", "cleanup"]
    rest_s = total_s - sum(used_ns[name] for name in names) / 1e9

    def row(name, seconds):
        return [name, f"{seconds * 1000:.1f}", f"{100 * seconds / run.wall_s:.4f} %"]

    rows = [row(name, used_ns[name] / 1e9) for name in names]
    rows += [row("start and end", rest_s), row("**total**", total_s)]
    rows.append(row("the prober, not in the total", prober_s))
    found.add(f"{len(samples)} samples, one every {INTERVAL_S} s; {run.wall_s:.1f} s.")
    found.add(section.table(["part", "CPU time ms", "share of a CPU"], rows))
    percent = 100 * total_s / run.wall_s
    text = f"less than {LIMIT_PERCENT} % of a CPU while the machine is idle"
    found.require(text, f"{percent:.4f} %", percent < LIMIT_PERCENT)
    return found


if __name__ == "__main__":
    section.main("idle_cost", benchmark)
