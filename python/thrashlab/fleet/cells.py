"""The cells of a plan: which are to run, and the results folder of finished ones."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import FleetError


class Experiment:
    """`thrashlab experiment` with a plan."""

    def __init__(self, program: Path, plan: Path, arguments: list[str]):
        self.program, self.plan, self.arguments = program, plan, arguments

    def command(self, *arguments: str | os.PathLike[str]) -> list[str]:
        command = [self.program, "experiment", self.plan, *self.arguments, *arguments]
        return [os.fspath(part) for part in command]

    def name(self) -> str:
        """The experiment's name."""
        asked = subprocess.run(
            self.command("--dry-run", "--json"), check=False, capture_output=True, text=True
        )
        if asked.returncode != 0:
            raise FleetError(said(asked.stderr), asked.returncode)
        return json.loads(asked.stdout)["name"]

    def listed(self, folder: Path) -> ListedCells:
        """The machines and cells that the folder lacks."""
        file = tempfile.TemporaryFile("w+")
        command = self.command("--list-cells", "--output", folder)
        asked = subprocess.run(command, check=False, stdout=file, stderr=subprocess.PIPE, text=True)
        if asked.returncode != 0:
            raise FleetError(said(asked.stderr), asked.returncode)
        return ListedCells(file)

    def put_together(self, folder: Path, cells: str, show: bool) -> None:
        """Makes the results folder of finished cells."""
        command = self.command("--output", folder, "--cells", cells, "--quiet")
        streams = None if show else subprocess.PIPE
        done = subprocess.run(command, check=False, stdout=streams, stderr=streams, text=True)
        if done.returncode != 0:
            raise FleetError(said(done.stderr or ""), done.returncode)


class ListedCells:
    """A list of `thrashlab experiment --list-cells`, which may be longer than memory is large."""

    def __init__(self, file):
        self.file = file
        self.machines: dict[str, dict[str, Any]] = {}
        self.machine_lines: dict[str, str] = {}
        self.keys: set[str] = set()
        for line in self.lines():
            listed = json.loads(line)
            if listed["kind"] == "machine":
                self.machines[listed["key"]] = listed
                self.machine_lines[listed["key"]] = line
            else:
                self.keys.add(listed["key"])

    def __enter__(self) -> ListedCells:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def lines(self) -> Iterator[str]:
        self.file.seek(0)
        return (line.rstrip("\n") for line in self.file)

    def cells(self) -> Iterator[tuple[dict[str, Any], str]]:
        """The cells as they are and as they are written."""
        for line in self.lines():
            listed = json.loads(line)
            if listed["kind"] == "cell":
                yield listed, line


class Part:
    """Cells that a node makes at a time; those of guests are all of one machine."""

    def __init__(self, machine: str | None):
        self.machine = machine
        self.names: dict[str, str] = {}
        self.lines: list[str] = []
        # Nodes that could not run it.
        self.tried = 0

    def without(self, keys: set[str]) -> Part:
        """What is left of it when these cells have run."""
        left = Part(self.machine)
        left.tried = self.tried
        for (key, name), line in zip(self.names.items(), self.lines):
            if key not in keys:
                left.names[key] = name
                left.lines.append(line)
        return left

    def add(self, cell: dict[str, Any], line: str) -> None:
        self.names[cell["key"]] = cell["run_id"]
        self.lines.append(line)


class LocalCells:
    """The folder of a store's cells; a copy of them if the store is elsewhere."""

    def __init__(self, store, keys: set[str]):
        self.store, self.keys, self.copy = store, keys, None

    def __enter__(self) -> str:
        if self.store.is_local:
            return f"{self.store.root}/cells"
        self.copy = tempfile.mkdtemp(prefix="thrashlab-cells-")
        keys = sorted(self.keys & self.store.cells())
        for start in range(0, len(keys), 1000):
            # Many requests at a time, where the file system can do that.
            paths = [self.store.cell(key) for key in keys[start : start + 1000]]
            for path, content in self.store.fs.cat(paths).items():
                Path(self.copy, path.rpartition("/")[2]).write_bytes(content)
        return self.copy

    def __exit__(self, *_: object) -> None:
        if self.copy:
            shutil.rmtree(self.copy, ignore_errors=True)


def said(errors: str) -> str:
    """thrashlab's error message, without its name and earlier output."""
    last = errors.strip().rpartition("thrashlab: ")[2]
    return last or "thrashlab experiment failed"
