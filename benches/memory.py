"""How much memory thrashlab itself takes from the machine that it measures.

Peak resident memory (VmHWM) of each process of a run: controller, observer, cleanup process, and the prober
of the wake probe, which has no arrays. Beside them the prober of the response probe, whose arrays
are its interaction.

Run: python3 benches/memory.py [BINARY]; about 12 s.

How to read it: peaks count pages of the program itself that all processes share, in each of them;
"private" is what each has for itself at the end (RssAnon). The observer is locked into memory
where that is permitted, and then everything that it maps is resident.
"""

import time

import processes
import section
from measured_run import MeasuredRun

SECONDS = 4
# A run without any load gets twice the points that are asked for.
POINTS = SECONDS // 2


def peaks(binary, probe):
    """Peak and private memory in KiB of each process of a run."""
    found = {}
    timing = ["--interval", "1s", "--points", str(POINTS)]
    with MeasuredRun(binary, "--probe", probe, *timing) as run:
        parts = run.parts()
        while run.alive():
            for name, pid in parts.items():
                try:
                    figures = [processes.status_kb(pid, key) for key in ("VmHWM", "RssAnon")]
                except OSError:
                    continue  # it has ended
                found[name] = figures
            time.sleep(0.1)
        run.finish()
    return found


def benchmark(binary):
    """The section of this benchmark."""
    wake, response = peaks(binary, "wake"), peaks(binary, "response")
    rows = [
        [name, *(f"{kib / 1024:.1f}" for kib in wake[name])]
        for name in ("controller", "observer", "cleanup", "prober")
    ]
    with_arrays = [f"{kib / 1024:.1f}" for kib in response["prober"]]
    rows.append(["prober of the response probe, with its arrays", *with_arrays])
    found = section.Section("Memory")
    found.add(section.table(["process", "peak MiB", "private MiB"], rows))
    return found


if __name__ == "__main__":
    section.main("memory", benchmark)
