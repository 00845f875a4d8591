"""The black box names the offender: a process fills the memory of a control group, all processes in
it thrash, and the recorder is killed.

Each of 20 episodes: a group of 64 MiB, in which a victim reads a file of 40 MiB again and again
while `thrashlab doctor --record --max-size` runs outside; after some seconds an offender takes
40 MiB of memory in the same group and keeps it. The recorder is killed with SIGKILL. `--replay --at`
the time at which the offender began must list the offender's process first among those of the group
whose memory grew, and the group or its processes as having lost time to memory.

Run as root: python3 benches/black_box.py [BINARY]; about six minutes.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import section

EPISODES = 20
LIMIT_BYTES, FILE_BYTES, TAKEN_BYTES = 64 << 20, 40 << 20, 40 << 20
CALM_S, THRASHING_S = 4, 4
VICTIM = """
import mmap, sys
with open(sys.argv[1], "rb") as file:
    pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    # Without readahead each page that was evicted is a wait.
    pages.madvise(mmap.MADV_RANDOM)
    while True:
        for at in range(0, len(pages), 4096):
            pages[at]
"""
OFFENDER = """
import sys, time
taken = bytearray(int(sys.argv[1]))
for at in range(0, len(taken), 4096):
    taken[at] = 1
time.sleep(600)
"""
MEMORY_RULES = {"memcg-refault", "global-reclaim", "swap-thrash", "memory-high"}


class Group:
    """A control group with a limit, while it exists."""

    def __init__(self, name):
        v1 = Path("/sys/fs/cgroup/memory")
        is_v1 = (v1 / "cgroup.procs").exists()
        self.path = f"/{name}"
        self.folder = (v1 if is_v1 else Path("/sys/fs/cgroup")) / name
        self.folder.mkdir()
        limit = "memory.limit_in_bytes" if is_v1 else "memory.max"
        (self.folder / limit).write_text(str(LIMIT_BYTES))

    def start(self, program, *arguments):
        """Starts a Python program in the group."""

        def enter():
            (self.folder / "cgroup.procs").write_text(str(os.getpid()))

        command = [sys.executable, "-c", program, *map(str, arguments)]
        return subprocess.Popen(command, preexec_fn=enter)

    def remove(self):
        """Removes the group, whose processes have ended."""
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.1)


def episode(binary, number, scratch, environment):
    """What replay reports of one episode, the victim's and the offender's process, and the group."""
    group = Group(f"black-box-{os.getpid()}-{number}")
    started, ring = [], scratch / f"ring{number}"
    try:
        file = scratch / "file"
        file.write_bytes(os.urandom(FILE_BYTES))
        with open(file, "rb") as written:
            os.fsync(written)
            # Its pages count for the group that reads them first.
            os.posix_fadvise(written.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        started.append(group.start(VICTIM, file))
        command = [binary, "doctor", "--for", "2s", "--record", ring, "--max-size", "8M"]
        command += ["--work-dir", scratch]
        quiet = {"env": environment, "stderr": subprocess.DEVNULL}
        recorder = subprocess.Popen(command, **quiet)
        started.append(recorder)
        time.sleep(CALM_S)
        began = time.time()
        started.append(group.start(OFFENDER, TAKEN_BYTES))
        time.sleep(THRASHING_S)
        recorder.kill()
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(began))
        command = [binary, "doctor", "--replay", ring, "--at", at, "--for", "4s", "--json"]
        shown = subprocess.run(command, capture_output=True, check=False, env=environment)
        found = json.loads(shown.stdout) if shown.stdout else {}
        return found, [started[0].pid, started[-1].pid], group.path
    finally:
        for process in reversed(started):
            process.kill()
            process.wait()
        group.remove()


def judged(found, pids, group):
    """Whether the offender is named, and whether its group is named as one that lost time."""
    grown = [it for it in found.get("memory_growth", []) if it.get("group") == group]
    processes = [it["scope"]["process"] for it in grown]
    offender = bool(processes) and processes[0]["pid"] == pids[1]

    ours = {it["pid"] for it in processes} | set(pids)

    def is_ours(scope):
        return scope.get("group") == group or scope.get("process", {}).get("pid") in ours

    suffered = any(
        it["rule"] in MEMORY_RULES and isinstance(it["scope"], dict) and is_ours(it["scope"])
        for it in found.get("findings", [])
    )
    return offender, suffered


def benchmark(binary):
    """The section of this benchmark."""
    if os.geteuid() != 0:
        raise section.NotPossible("only root can create the groups: run it as root")
    found = section.Section("The black box names the offender")
    offenders = sufferers = 0
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        scratch = Path(folder)
        environment = {**os.environ, "XDG_CACHE_HOME": str(scratch / "cache")}
        # Costs are measured once, before anything is slow.
        calm = [binary, "doctor", "--for", "10ms", "--work-dir", scratch]
        subprocess.run(calm, env=environment, capture_output=True, check=True)
        for number in range(EPISODES):
            offender, suffered = judged(*episode(binary, number, scratch, environment))
            offenders, sufferers = offenders + offender, sufferers + suffered
            print(f"episode {number}: {offender} {suffered}", file=sys.stderr)
    found.add(
        f"The offender came first in {offenders} of {EPISODES} episodes, and those in its group "
        f"were named as losing time to memory in {sufferers} of {EPISODES}."
    )
    found.require("the offender in all episodes", f"{offenders}", offenders == EPISODES)
    return found


if __name__ == "__main__":
    section.main("black_box", benchmark)
