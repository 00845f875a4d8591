"""Deterministic cells and simulations on a Ray cluster.

A cell is a pure function of its inputs, so any node may make any cell, twice does no harm, and what
is finished lies in a store under the hash of its inputs. The results folder is put together by
`thrashlab experiment` itself, so it is the same bytes as on one machine.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ._binary import BINARY, COULD_NOT_MEASURE, INTERRUPTED
from .errors import ThrashlabError
from .folders import cache_folder, data_folder

# So often a part is started again when its node dies.
RETRIES = 8
# Cells of a part: a guest takes seconds, a simulation may take milliseconds.
MOST_GUESTS, MOST_SIMULATIONS = 4, 256
# Parts for each CPU of the cluster, so that no CPU waits long for the last ones.
PARTS_A_CPU = 8
# Parts that are handed over before they can run, so that no CPU waits for the driver.
AHEAD = 2
# Parts that are finished wait at most this long to be taken.
POLL_S = 0.2

Progress = Callable[["State"], None]


class FleetError(ThrashlabError):
    """What went wrong on a fleet, or was refused there, with the exit code that says so."""

    def __init__(self, message: str, code: int = COULD_NOT_MEASURE) -> None:
        super().__init__(message, code)


class State:
    """How far a fleet is."""

    def __init__(self, total: int, found: int):
        # Cells of the list, and how many of them the store had.
        self.total, self.found = total, found
        self.done = found
        # Cells made by each node.
        self.nodes: Counter[str] = Counter()
        # Files that nodes fetched.
        self.fetched = 0
        # Cells that this machine has to make itself, or that nobody could make, with the reasons.
        self.incomplete: dict[str, str] = {}
        self.failed: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether something came of every cell."""
        return self.done + len(self.incomplete) + len(self.failed) == self.total

    def __str__(self) -> str:
        text = f"{self.done} of {self.total} cells"
        if self.found:
            text += f" ({self.found} were there)"
        if self.nodes:
            text += f", {len(self.nodes)} nodes"
        for name, why in list(self.incomplete.items())[:1]:
            text += f"; {len(self.incomplete)} did not complete, such as {name}: {why}"
        return text


def run(
    plan: str | os.PathLike[str],
    address: str | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    store: str | None = None,
    storage_options: dict[str, Any] | None = None,
    resume: bool = True,
    arguments: Sequence[str] = (),
    batch: int | None = None,
    node_folder: str = "",
    program: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    show: bool = False,
) -> Path:
    """Makes the cells of a plan on a Ray cluster, and the results folder from them.

    Returns the results folder: `out`, else one of the plan's name in the user's data directory. What
    came of each cell is in `OUT.fleet.jsonl` beside it.

    address: of the cluster, as `ray.init` takes it (`ray://HOST:PORT`, `HOST:PORT`, `auto`), or
        `local` for a cluster of this machine alone.
    store: where cells are kept: a folder that all nodes see, or a URL that fsspec knows, with
        storage_options; `thrashlab/fleet` in the user's cache directory if missing.
    resume: whether cells that are in the store are taken from there.
    arguments: more arguments of `thrashlab experiment`, such as `["--blocks", "12"]`.
    batch: cells that a node makes at a time.
    node_folder: where nodes keep the files that they fetch; a folder in the nodes' temporary
        directory if missing.
    program: the static thrashlab; `$THRASHLAB`, else the one of this package.
    progress: is called whenever cells are finished.
    show: whether the result is printed.

    Raises FleetError when the plan cannot be carried out on a fleet, or not all of it was.
    """
    ray = imported("ray")
    program = Path(program or os.environ.get("THRASHLAB") or BINARY)
    experiment = Experiment(program, Path(plan), list(arguments))
    folder = Path(out) if out is not None else data_folder() / experiment.name()
    url = store or str(cache_folder() / "fleet")
    with experiment.listed(folder) as listed:
        fleet = Fleet(ray, url, storage_options or {}, node_folder, anew=not resume)
        fleet.look(listed, progress)
        if fleet.state.done < fleet.state.total:
            with connected(ray, address):
                log = Path(f"{folder}.fleet.jsonl")
                fleet.make(experiment.program, listed, batch, log, progress)
            fleet.check()
    with fleet.local_cells() as cells:
        experiment.put_together(folder, cells, show)
    return folder


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
            self.command("--print-plan", "--json"), check=False, capture_output=True, text=True
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

    def add(self, cell: dict[str, Any], line: str) -> None:
        self.names[cell["key"]] = cell["run_id"]
        self.lines.append(line)


class Fleet:
    """The cells of one experiment on their way through a cluster."""

    def __init__(self, ray, url: str, options: dict[str, Any], node_folder: str, anew: bool):
        imported("fsspec")
        from thrashlab import fleet_node

        self.ray, self.node = ray, fleet_node
        if "://" not in url:
            url = os.path.abspath(url)
        self.url, self.options, self.node_folder, self.anew = url, options, node_folder, anew
        self.store = fleet_node.Store(url, options)
        self.keys: set[str] = set()
        self.there: set[str] = set()
        self.state = State(0, 0)

    def look(self, listed: ListedCells, progress: Progress | None) -> None:
        """Looks which cells are in the store."""
        self.keys = listed.keys
        self.there = set() if self.anew else self.keys & self.store.cells()
        self.state = State(len(self.keys), len(self.there))
        if progress:
            progress(self.state)

    def make(
        self,
        program: Path,
        listed: ListedCells,
        batch: int | None,
        log: Path,
        progress: Progress | None,
    ) -> None:
        """Makes the cells that are not in the store."""
        job = self.job(program, listed)
        cpus = int(self.ray.cluster_resources().get("CPU", 1)) or 1
        size = batch or max(1, (self.state.total - self.state.found) // (cpus * PARTS_A_CPU))
        parts = self.parts(listed, size, bool(batch))
        # Nodes need not have this package.
        self.ray.cloudpickle.register_pickle_by_value(self.node)
        task = self.ray.remote(self.node.make)
        running: dict[Any, Part] = {}
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a") as told:
            try:
                while True:
                    while len(running) < AHEAD * cpus and (part := next(parts, None)):
                        running[self.start(task, job, listed, part)] = part
                    if not running:
                        return
                    # All that are ready: asking costs time for each part that is under way.
                    references = list(running)
                    ready, _ = self.ray.wait(
                        references, num_returns=len(references), timeout=POLL_S
                    )
                    for reference in ready:
                        self.take(reference, running.pop(reference), told)
                    if progress and ready:
                        progress(self.state)
            finally:
                for reference in running:
                    self.ray.cancel(reference, force=True)

    def job(self, program: Path, listed: ListedCells):
        """What all cells have in common; files that they need are in the store afterwards."""
        put = self.store.put_file
        machines = {
            key: {name: put(Path(path)) for name, path in machine["files"].items()}
            for key, machine in listed.machines.items()
        }
        return self.node.Job(
            store=self.url,
            options=self.options,
            program=put(program),
            machines=machines,
            folder=self.node_folder,
            anew=self.anew,
        )

    def parts(self, listed: ListedCells, size: int, exactly: bool) -> Iterator[Part]:
        """The cells that are not there, in parts."""
        open_parts: dict[str | None, Part] = {}
        for cell, line in listed.cells():
            if cell["key"] in self.there:
                continue
            machine = cell.get("machine")
            most = size if exactly else min(size, MOST_GUESTS if machine else MOST_SIMULATIONS)
            part = open_parts.setdefault(machine, Part(machine))
            part.add(cell, line)
            if len(part.lines) >= most:
                yield open_parts.pop(machine)
        yield from open_parts.values()

    def start(self, task, job, listed: ListedCells, part: Part):
        """Hands a part over to the cluster."""
        lines, needs = part.lines, {}
        if part.machine:
            needs["memory"] = listed.machines[part.machine]["memory_bytes"]
            lines = [listed.machine_lines[part.machine], *lines]
        task = task.options(num_cpus=1, max_retries=RETRIES, scheduling_strategy="SPREAD", **needs)
        return task.remote(job, lines)

    def take(self, reference, part: Part, log) -> None:
        """Takes what came of a part, and writes it down."""
        errors = self.ray.exceptions
        try:
            made = self.ray.get(reference)
        except errors.RayTaskError as error:
            # The same would happen to the others: what the store, the program or the node lack.
            raise FleetError(f"a node cannot make cells: {error.cause!r}") from error
        except errors.RayError as error:
            made = {"made": [], "fetched": [], "node": None}
            why = f"its node died {RETRIES + 1} times: {type(error).__name__}"
            made["made"] = [{"key": key, "why": why} for key in part.names]
        self.state.fetched += len(made["fetched"])
        for cell in made["made"]:
            self.count(cell, part, made["node"])
            line = {"run_id": part.names[cell["key"]], "node": made["node"], **cell}
            log.write(json.dumps(line) + "\n")
        log.flush()

    def count(self, cell: dict[str, Any], part: Part, node: str | None) -> None:
        if cell.get("status") == "complete":
            self.state.done += 1
            if node:
                self.state.nodes[node] += 1
            return
        name = part.names[cell["key"]]
        why = cell.get("why") or f"it ended as {cell.get('status')}"
        # What a simulator refuses or what a guest dies of, it does here too.
        repeats = cell.get("status") or not part.machine
        kind = self.state.incomplete if repeats and node else self.state.failed
        kind[name] = why

    def check(self) -> None:
        """Raises what kept cells from being made, so that this machine does not make them all."""
        if not self.state.failed:
            return
        (name, why), count = next(iter(self.state.failed.items())), len(self.state.failed)
        raise FleetError(
            f"{count} cells could not be made, such as {name}: {why}. The others are in "
            f"{self.url}; the same command goes on"
        )

    def local_cells(self):
        """A folder of this machine with the cells."""
        return LocalCells(self.store, self.keys)


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


class connected:
    """Connected to a cluster, unless this process is already; then it stays so."""

    def __init__(self, ray, address: str | None):
        self.ray, self.address = ray, address
        self.is_ours = False

    def __enter__(self) -> None:
        if self.ray.is_initialized():
            return
        options: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
        if self.address == "local":
            options["include_dashboard"] = False
        try:
            self.ray.init(self.address, **options)
        except (ConnectionError, TimeoutError, ValueError, RuntimeError) as error:
            raise FleetError(f"no Ray cluster answers at {self.address}: {error}") from error
        self.is_ours = True

    def __exit__(self, *_: object) -> None:
        if self.is_ours:
            self.ray.shutdown()


def imported(name: str):
    """A package that only fleets need."""
    # Nobody is told about this cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return __import__(name)
    except ImportError as error:
        raise FleetError(
            f"a fleet needs the Python package {name}: {sys.executable} -m pip install "
            "'thrashlab[fleet]'"
        ) from error


def said(errors: str) -> str:
    """What thrashlab complained about, without its name and what it said before."""
    last = errors.strip().rpartition("thrashlab: ")[2]
    return last or "thrashlab experiment failed"


class Shown:
    """Progress on standard error: a line that changes on a terminal, some lines elsewhere."""

    def __init__(self):
        self.is_terminal = sys.stderr.isatty()
        self.begun = time.monotonic()
        self.told_s = 0.0
        self.before = 0

    def __call__(self, state: State) -> None:
        passed_s = time.monotonic() - self.begun
        is_last = state.is_over
        if not self.is_terminal and not is_last and passed_s < self.told_s + 10:
            return
        self.told_s = passed_s
        text = str(state)
        if state.done > state.found and passed_s > 0:
            text += f", {(state.done - state.found) / passed_s:.1f} a second"
        end = "\n" if is_last or not self.is_terminal else ""
        start = "\r" if self.is_terminal else ""
        print(f"{start}{text:{self.before}}", end=end, file=sys.stderr, flush=True)
        self.before = len(text)


def main(words: Sequence[str] | None = None) -> int:
    """`thrashlab experiment --fleet` ends up here."""
    parser = argparse.ArgumentParser(prog="python3 -m thrashlab.fleet", description=__doc__)
    parser.add_argument("plan", help="the plan (TOML)")
    parser.add_argument("--address", help="of the Ray cluster: local, auto, HOST:PORT, ray://…")
    parser.add_argument("--out", help="the results folder")
    parser.add_argument("--store", help="a folder that all nodes see, or a URL for fsspec")
    parser.add_argument(
        "--resume",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="take cells that are in the store from there",
    )
    parser.add_argument("--batch", type=int, help="cells that a node makes at a time")
    parser.add_argument("--node-folder", default="", help="where nodes keep what they fetch")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.epilog = "What follows -- are arguments of thrashlab experiment, such as --blocks 12."
    words = list(sys.argv[1:] if words is None else words)
    border = words.index("--") if "--" in words else len(words)
    asked = parser.parse_args(words[:border])
    try:
        folder = run(
            asked.plan,
            asked.address,
            asked.out,
            store=asked.store,
            resume=asked.resume,
            arguments=words[border + 1 :],
            batch=asked.batch,
            node_folder=asked.node_folder,
            progress=None if asked.quiet else Shown(),
            show=True,
        )
    except FleetError as error:
        print(f"thrashlab: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("stopped; the same command goes on with it", file=sys.stderr)
        return INTERRUPTED
    if not asked.quiet:
        print(f"run files: {folder}\nby node: {folder}.fleet.jsonl", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
