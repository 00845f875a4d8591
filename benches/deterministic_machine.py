"""How fast the deterministic machine is: the first boot, each further cell, virtual time, cores.

The first boot beside plain QEMU (no counted instructions) with the same kernel and a root of
busybox, and beside virtme-ng if it is installed; cells that go on from the booted machine; virtual
seconds per wall second; what agent and channel cost the guest; one core and two.

Run: python3 benches/deterministic_machine.py [BINARY]; about five minutes. It needs QEMU, a Debian
kernel through apt, and busybox-static for the peer.
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import figures
import section

KERNEL = "deb:linux-image-cloud-amd64"
SMALL = f"machine=micro,kernel={KERNEL}"
BOOTS = 3
CELLS = 20
BOOT_LIMIT_S = 4
CELL_LIMIT_S = 0.25
OWN_LIMIT_S = 0.05
CORES_AT_LEAST = 1.8
SHARE_LIMIT = 1.0


def run(binary, cache, *arguments, output=None):
    """Runs thrashlab with a cache of its own; its standard output, and how long it took in s."""
    command = [str(binary), *arguments]
    if output:
        shutil.rmtree(output, ignore_errors=True)
        command += ["--output", str(output), "--quiet"]
    begun = time.monotonic()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        check=False,
    )
    elapsed_s = time.monotonic() - begun
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout, elapsed_s


def cells(binary, cache, folder, seeds, *more):
    """How long the smallest cell with each of some seeds takes, in s."""
    arguments = ["run", "--subject", f"vm:{SMALL}", "--load", "noload", "--probe", "wake"]
    arguments += ["--points", "1", "--interval", "10ms", "--jobs", "1", "--seeds", f"1..{seeds}"]
    return run(binary, cache, *arguments, *more, output=folder / "cells")[1]


def first_line_s(binary, cache, folder, seed):
    """How long a new cell takes from starting the program to the first line of its run, in s. The
    kernel is named by its folder: which one a package leads to is asked of apt each time."""
    output = folder / "first"
    kernel = next(Path(cache).glob("thrashlab/kernels/linux-*"))
    shutil.rmtree(output, ignore_errors=True)
    command = [str(binary), "run", "--quiet", "--no-cache", "--subject"]
    command += [f"vm:machine=micro,kernel={kernel}"]
    command += ["--load", "noload", "--probe", "wake", "--points", "1", "--interval", "10ms"]
    command += ["--seed", str(seed), "--output", str(output)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment) as running:
        while running.poll() is None:
            if any(output.glob("*.run.jsonl")):
                return time.monotonic() - begun
            time.sleep(0.001)
    raise RuntimeError("the run has no first line")


def newc(files):
    """A cpio archive ("newc") of (name, mode, content)."""
    made = b""
    for number, (name, mode, content) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        entry = b"070701" + b"".join(b"%08X" % field for field in fields)
        entry += name.encode() + b"\0"
        entry += b"\0" * (-len(entry) % 4) + content
        made += entry + b"\0" * (-len(entry) % 4)
    return made


def plain_boot_s(image, folder):
    """How long plain QEMU takes to the first line of a shell script, in s; None without busybox."""
    busybox = shutil.which("busybox")
    if not busybox:
        return None
    script = b"#!/bin/busybox sh\necho first line\n/bin/busybox poweroff -f\n"
    root = folder / "plain.cpio"
    program = Path(busybox).read_bytes()
    root.write_bytes(
        newc([("bin", 0o40755, b""), ("bin/busybox", 0o100755, program), ("init", 0o100755, script)])
    )
    command = ["qemu-system-x86_64", "-accel", "tcg", "-m", "192", "-nodefaults", "-display", "none"]
    command += ["-no-reboot", "-serial", "stdio", "-kernel", str(image), "-initrd", str(root)]
    command += ["-append", "console=ttyS0 panic=-1 quiet"]
    begun = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as qemu:
        for line in qemu.stdout:
            if b"first line" in line:
                elapsed_s = time.monotonic() - begun
                qemu.kill()
                return elapsed_s
    raise RuntimeError("plain QEMU printed no first line")


def virtme_boot_s(image):
    """How long virtme-ng takes to run /bin/true in the same kernel, in s; None without it."""
    vng = shutil.which("vng")
    if not vng:
        return None
    command = [vng, "--run", str(image), "--disable-kvm", "--", "true"]
    begun = time.monotonic()
    done = subprocess.run(command, capture_output=True, timeout=300, check=False)
    return time.monotonic() - begun if done.returncode == 0 else None


def boots(binary, cache, folder, found):
    """The first boot, beside its peers."""
    ours, plain, virtme = [], [], []
    image = None
    for _ in range(BOOTS):
        booted = json.loads(run(binary, cache, "vm", "boot", SMALL, "--json")[0])
        ours.append(booted["first_line_s"])
        image = next(Path(cache).glob("thrashlab/kernels/*/boot/vmlinuz-*"))
        plain.append(plain_boot_s(image, folder))
        virtme.append(virtme_boot_s(image))
    first = figures.median(ours)
    rows = [["thrashlab: to the agent's first line", f"{first:.2f}", "1"]]
    for name, times, missing in [
        ("plain QEMU: to a shell's first line", plain, "busybox is not installed"),
        ("virtme-ng: to run true", virtme, "vng is not installed, or does not boot this kernel"),
    ]:
        if None in times:
            rows.append([name, missing, "-"])
        else:
            rows.append([name, f"{figures.median(times):.2f}", f"{figures.median(times) / first:.2f}"])
    found.add(f"First boot, median of {BOOTS}, in turns, each without KVM.")
    found.add(section.table(["boot", "wall s", "ratio"], rows))
    found.require(f"first line in less than {BOOT_LIMIT_S} s", f"{first:.2f} s", first < BOOT_LIMIT_S)


def further_cells(binary, cache, folder, found):
    """A further cell, and the part of it that is not QEMU's."""
    cells(binary, cache, folder, 1)
    fresh = (
        cells(binary, cache, folder, 1 + CELLS, "--no-cache")
        - cells(binary, cache, folder, 1, "--no-cache")
    ) / CELLS
    cells(binary, cache, folder, 1 + CELLS)
    kept = (cells(binary, cache, folder, 1 + CELLS) - cells(binary, cache, folder, 1)) / CELLS
    first = figures.median([first_line_s(binary, cache, folder, seed) for seed in range(1, 8)])
    rows = [
        ["from starting the program to the run's first line, median of 7", f"{first * 1e3:.0f}"],
        [f"the whole smallest cell (0.3 virtual s), mean of {CELLS}", f"{fresh * 1e3:.0f}"],
        ["the same from the cache: spec, hash, parsing, run file", f"{kept * 1e3:.1f}"],
    ]
    found.add("A cell that goes on from the booted machine, one at a time.")
    found.add(section.table(["cell", "wall ms"], rows))
    found.require(
        f"first line of a further cell in less than {CELL_LIMIT_S} s",
        f"{first:.3f} s",
        first < CELL_LIMIT_S,
    )
    found.require(f"own part less than {OWN_LIMIT_S} s", f"{kept:.4f} s", kept < OWN_LIMIT_S)


def lines_of(path):
    """The lines of a run file."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def virtual_time(binary, cache, folder, found):
    """Virtual seconds per wall second in three kinds of phases, and what measuring costs."""
    rows = []
    for kind, load, times in [
        ("idle", "noload", ["--points", "20", "--interval", "10s"]),
        ("computing", "cpuload", ["--points", "2", "--interval", "5s"]),
        ("swapping", "2ctx-mem", ["--points", "5", "--interval", "5s", "--warmup", "20s"]),
    ]:
        arguments = ["run", "--subject", f"vm:{SMALL}", "--probe", "fault", "--load", load, *times]
        output = folder / kind
        run(binary, cache, *arguments, "--no-cache", "--jobs", "1", output=output)
        # Again without the baseline in the same invocation: the cell alone is timed.
        path = next(output.glob(f"*-{load}-*.run.jsonl"))
        lines = lines_of(path)
        baseline = ["run", "--subject", f"vm:{SMALL}", "--probe", "fault", "--load", "noload", *times]
        _, base_s = run(
            binary, cache, *baseline, "--no-cache", "--jobs", "1", output=folder / "base"
        )
        _, both_s = run(binary, cache, *arguments, "--no-cache", "--jobs", "1", output=output)
        wall_s = base_s if load == "noload" else both_s - base_s
        virtual_s = lines[-1]["at_ns"] / 1e9
        rows.append([kind, f"{virtual_s:.1f}", f"{wall_s:.2f}", f"{virtual_s / wall_s:.1f}"])
        if load == "noload":
            measuring_cost(lines, found)
    found.add("Machine `micro`, 125 million instructions per virtual second.")
    found.add(section.table(["phase", "virtual s", "wall s", "virtual per wall"], rows))


def measuring_cost(lines, found):
    """CPU time of the whole guest in a run without load, as a share: one small interaction each
    10 s, its counters, agent and channel, and what the kernel does by itself are all of it."""
    records = [line for line in lines if line["kind"] == "sample"]
    first, last = records[0]["before"]["stat"], records[-1]["after"]["stat"]
    busy = sum(last[name] - first[name] for name in ("cpu_user_ticks", "cpu_system_ticks"))
    idle = last["cpu_idle_ticks"] - first["cpu_idle_ticks"]
    share = 100 * busy / (busy + idle)
    found.require(
        f"agent and channel cost the guest less than {SHARE_LIMIT:.0f} %",
        f"{share:.2f} % of an idle guest's CPU in all",
        share < SHARE_LIMIT,
    )


def cores(binary, cache, folder, found):
    """The whole matrix with two seeds: one guest at a time, and two."""
    arguments = ["run", "--subject", f"vm:{SMALL}", "--quick", "--seeds", "1..2", "--no-cache"]
    times = {
        jobs: run(binary, cache, *arguments, "--jobs", str(jobs), output=folder / "cores")[1]
        for jobs in (1, 2)
    }
    rows = [
        [f"{jobs} at a time", f"{taken:.1f}", f"{14 * 3600 / taken:.0f}"]
        for jobs, taken in times.items()
    ]
    found.add("Seven loads, two seeds, quick times, machine `micro`.")
    found.add(section.table(["guests", "wall s", "cells per hour"], rows))
    ratio = times[1] / times[2]
    found.require(
        f"two cores at least {CORES_AT_LEAST} times one", f"{ratio:.2f}", ratio >= CORES_AT_LEAST
    )


def benchmark(binary):
    """The section of this benchmark."""
    if not shutil.which("qemu-system-x86_64"):
        raise section.NotPossible("QEMU is not installed: apt-get install qemu-system-x86")
    found = section.Section("The deterministic machine")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        cache = folder / "cache"
        for part in (boots, further_cells, virtual_time, cores):
            part(binary, cache, folder, found)
    return found


if __name__ == "__main__":
    section.main("deterministic_machine", benchmark)
