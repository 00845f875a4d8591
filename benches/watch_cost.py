"""What the doctor that runs until it is stopped costs on a large machine.

1,000 control groups and 20,000 processes that sleep; `thrashlab doctor --serve --record --max-size`
watches them with the default interval of 10 s. The first minute is not counted: it learns what
reading costs. Then: CPU time as a share of one CPU, resident memory, how much it left out, and what
a scrape takes.

Run as root: python3 benches/watch_cost.py [BINARY]; about four minutes.

How to read it: CPU time is that of the whole process (all threads) from /proc/PID/stat, resident
memory is VmRSS. 0.5 % is 5 ms a second.
"""

import os
import re
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

import section

GROUPS, PROCESSES, SECONDS = 1000, 20000, 120
LEARNING_S = 60
CPU_PERCENT_MAX, RESIDENT_MB_MAX = 0.5, 20
TICKS = os.sysconf("SC_CLK_TCK")


def mounts():
    """Folders below which groups are created: of memory and CPU time, or of version 2."""
    v1 = [Path("/sys/fs/cgroup") / name for name in ("memory", "cpuacct")]
    if all((mount / "cgroup.procs").exists() for mount in v1):
        return v1
    if (Path("/sys/fs/cgroup") / "cgroup.controllers").exists():
        return [Path("/sys/fs/cgroup")]
    raise section.NotPossible("control groups are not mounted in /sys/fs/cgroup")


class Crowd:
    """Groups and processes that exist until this is closed."""

    def __init__(self, groups, processes, scratch):
        if os.geteuid() != 0:
            raise section.NotPossible("only root can create the groups: run it as root")
        self.parents = [mount / f"watch-cost-{os.getpid()}" for mount in mounts()]
        self.sleepers = None
        try:
            for parent in self.parents:
                for number in range(groups):
                    (parent / f"g{number:04}").mkdir(parents=True)
            program = scratch / "sleepers"
            source = Path(__file__).with_name("sleepers.c")
            subprocess.run(["cc", "-O2", "-static", "-o", program, source], check=True)
            procs = sorted(self.parents[0].glob("g*/cgroup.procs"))
            self.sleepers = subprocess.Popen(
                [program, str(processes), *procs], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            if self.sleepers.stdout.readline() != b"ready\n":
                raise section.NotPossible(f"{processes} processes are not permitted here")
        except BaseException:
            self.close()
            raise

    def close(self):
        """Ends the processes and removes the groups."""
        if self.sleepers:
            self.sleepers.kill()
            self.sleepers.wait()
        for parent in self.parents:
            for group in [*parent.glob("g*"), parent]:
                for _ in range(100):
                    try:
                        if group.is_dir():
                            group.rmdir()
                        break
                    except OSError:
                        # Its processes are about to end.
                        time.sleep(0.1)


def cpu_s(pid):
    """CPU time of a process in s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mb(pid):
    """Resident memory of a process in MB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1]) * 1024 / 1e6


def scrape(address):
    """The metrics, and the time that they took in ms."""
    start = time.monotonic()
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    return text, 1000 * (time.monotonic() - start)


def watched(binary, scratch):
    """CPU time in percent, resident memory in MB, what was left out, ms of a scrape, ring in kB."""
    command = [binary, "doctor", "--serve", "127.0.0.1:0"]
    command += ["--record", scratch / "ring", "--max-size", "64M", "--work-dir", scratch]
    environment = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache")}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as watch:
        try:
            said = iter(watch.stderr.readline, "")
            address = next(re.search(r"http://([^/]+)/", line)[1] for line in said if "http" in line)
            time.sleep(LEARNING_S)
            before_s, start = cpu_s(watch.pid), time.monotonic()
            time.sleep(SECONDS)
            used = 100 * (cpu_s(watch.pid) - before_s) / (time.monotonic() - start)
            text, scrape_ms = scrape(address)
            left_out = {
                what: int(re.search(rf'left_out{{what="{what}"}} (\d+)', text)[1])
                for what in ("groups", "processes")
            }
            resident = resident_mb(watch.pid)
        finally:
            watch.terminate()
    ring = sum(file.stat().st_size for file in (scratch / "ring").iterdir()) / 1e3
    return used, resident, left_out, scrape_ms, ring


def benchmark(binary):
    """The section of this benchmark."""
    found = section.Section("Watching forever")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        scratch = Path(folder)
        crowd = Crowd(GROUPS, PROCESSES, scratch)
        try:
            used, resident, left_out, scrape_ms, ring = watched(binary, scratch)
        finally:
            crowd.close()
    found.add(
        f"`doctor --serve --record --max-size 64M` with {GROUPS} control groups and {PROCESSES} "
        f"processes: {used:.2f} % of a CPU, {resident:.1f} MB resident; it left out "
        f"{left_out['groups']} groups and {left_out['processes']} processes per snapshot; "
        f"a scrape took {scrape_ms:.1f} ms; the ring grew to {ring:.0f} kB."
    )
    found.require(
        f"less than {CPU_PERCENT_MAX} % of a CPU", f"{used:.2f} %", used < CPU_PERCENT_MAX
    )
    found.require(
        f"less than {RESIDENT_MB_MAX} MB resident", f"{resident:.1f} MB", resident < RESIDENT_MB_MAX
    )
    return found


if __name__ == "__main__":
    section.main("watch_cost", benchmark)
