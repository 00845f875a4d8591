"""Processes seen from outside, by procfs and their CPU clocks: who descends from whom, what they
use, and freezing one of them again and again."""

import os
import signal
import threading
import time


def _stat(pid):
    """Parent and start time of a process, or None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name in parentheses may hold anything, so the fields count from its end.
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return int(fields[1]), int(fields[19])


def children(pid):
    """Children of a process, the oldest first."""
    found = []
    for name in os.listdir("/proc"):
        stat = _stat(name) if name.isdigit() else None
        if stat and stat[0] == pid:
            found.append((stat[1], int(name)))
    return [child for _, child in sorted(found)]


def arguments(pid):
    """Command line of a process."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return file.read().decode(errors="replace").split("\0")
    except OSError:
        return []


def status_kb(pid, name):
    """A memory figure of a process in KiB, such as VmHWM."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1])
    raise OSError(f"process {pid} has no {name}")


def cpu_ns(pid):
    """CPU time of all threads of a process so far, in ns; None if it is gone.

    By the process's CPU clock (clock_getcpuclockid), since procfs counts in ticks of 10 ms.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | 2)
    except OSError:
        return None


def threads(pid):
    """Thread ids of a process."""
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def wait_for(find, what, seconds=20):
    """What `find` returns as soon as that is something."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = find()
        if found:
            return found
        time.sleep(0.005)
    raise RuntimeError(f"no {what} after {seconds} s")


class Freezer(threading.Thread):
    """Stops a process for a while (SIGSTOP), once a second, and keeps how long each was."""

    def __init__(self, pid, freezes, freeze_s):
        super().__init__(daemon=True)
        self.pid = pid
        self.freezes = freezes
        self.freeze_s = freeze_s
        self.frozen_s = []

    def run(self):
        begin = time.monotonic()
        for number in range(1, self.freezes + 1):
            time.sleep(max(0, begin + number - time.monotonic()))
            try:
                os.kill(self.pid, signal.SIGSTOP)
                stopped = time.monotonic()
                time.sleep(self.freeze_s)
                self.frozen_s.append(time.monotonic() - stopped)
            except ProcessLookupError:
                return
            finally:
                try:
                    os.kill(self.pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass
