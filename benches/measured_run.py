"""One `thrashlab run` without load, watched from outside, and the run file that it leaves."""

import base64
import json
import os
import shutil
import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import processes


class MeasuredRun:
    """A run under way, in folders of its own; use it in a `with`."""

    def __init__(self, binary, *arguments):
        # On a disk: thrashlab itself does not put its files into memory.
        self.folder = Path(tempfile.mkdtemp(prefix="thrashlab-bench-", dir="/var/tmp"))
        command = [binary, "run", "--load", "noload", "--quiet", *arguments]
        command += ["--work-dir", self.folder / "work", "--output", self.folder / "out"]
        self.errors = open(self.folder / "stderr", "w+", encoding="utf-8")
        self.begun = time.monotonic()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=self.errors)
        self.usage = None
        self.wall_s = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.usage is None:
            self.process.send_signal(signal.SIGINT)
            self._reap()
        self.errors.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _reap(self):
        _, status, self.usage = os.wait4(self.process.pid, 0)
        self.wall_s = time.monotonic() - self.begun
        self.process.returncode = os.waitstatus_to_exitcode(status)

    def parts(self):
        """Process ids of the run by what they are, once it measures: from then on the prober is in
        its sandbox and follows its schedule."""
        processes.wait_for(self._measuring, "run that measures", 60)
        return processes.wait_for(self._parts, "prober")

    def header(self):
        """The header of the run file."""
        return self._lines()[0]

    def _measuring(self):
        if not self.alive():
            self.finish()
        return any(line.get("phase") == "measuring" for line in self._lines())

    def _lines(self):
        """The whole lines of the run file so far."""
        text = "".join(path.read_text("utf-8") for path in self.folder.glob("out/*.run.jsonl"))
        return [json.loads(line) for line in text.splitlines(True) if line.endswith("\n")]

    def _parts(self):
        parts = {"controller": self.process.pid}
        for child in processes.children(self.process.pid):
            command = processes.arguments(child)[1:2]
            if command == ["cleanup"]:
                parts["cleanup"] = child
            if command == ["observe"]:
                parts["observer"] = child
                # Without load, the agent's only child is its prober.
                parts.update(("prober", pid) for pid in processes.children(child)[:1])
        return parts if len(parts) == 4 else None

    def alive(self):
        """Whether the controller still runs (it stays a zombie until it is reaped)."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"

    def finish(self):
        """Waits for the end; the lines of its run file."""
        self._reap()
        if self.process.returncode != 0:
            self.errors.seek(0)
            raise RuntimeError(f"thrashlab run failed: {self.errors.read().strip()}")
        return self._lines()

    def cpu_s(self):
        """CPU time of the controller and of all that it has reaped, in s."""
        return self.usage.ru_utime + self.usage.ru_stime


def delays_ns(lines):
    """All delays of a periodic probe in a run file, ascending, in ns."""
    found = []
    for line in lines:
        if line["kind"] == "histogram":
            found += decode_histogram(line["hdr_v2_base64"])
    return sorted(found)


def decode_histogram(text):
    """The values of an HdrHistogram in V2 encoding: zigzag LEB128 counts, negative for gaps."""
    data = base64.b64decode(text)
    cookie, length, _, digits, lowest, _, _ = struct.unpack(">iiiiqqd", data[:40])
    if cookie & 0xFF0F != 0x9303:
        raise ValueError("not an HdrHistogram V2")
    half_bits = (2 * 10**digits - 1).bit_length() - 1
    unit = max(lowest, 1).bit_length() - 1
    values, index, position, end = [], 0, 40, 40 + length
    while position < end:
        word = shift = 0
        while True:
            byte = data[position]
            position += 1
            if shift == 56:  # the ninth byte is used whole
                word |= byte << shift
                break
            word |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        count = (word >> 1) ^ -(word & 1)
        if count < 0:
            index -= count
            continue
        bucket = max((index >> half_bits) - 1, 0)
        sub = index - (bucket << half_bits)
        middle = (sub << bucket) + (1 << bucket >> 1)
        values += [middle << unit] * count
        index += 1
    return values
