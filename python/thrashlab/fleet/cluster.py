"""Cells on their way through a Ray cluster."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import FleetError
from .cells import ListedCells, LocalCells, Part

# So often a part is started again when its node dies.
RETRIES = 8
# How many other nodes may try a part whose node failed.
MOST_NODES_A_PART = 4
# Cells of a part: a guest takes seconds, a simulation may take milliseconds.
MOST_GUESTS, MOST_SIMULATIONS = 4, 256
# Parts for each CPU of the cluster, so that no CPU waits long for the last ones.
PARTS_A_CPU = 8
# Parts that are handed over before they can run, so that no CPU waits for the driver.
AHEAD = 2
# Parts that are finished wait at most this long to be taken.
POLL_S = 0.2

Progress = Callable[["State"], None]


class State:
    """How far a fleet is."""

    def __init__(self, total: int, found: int):
        # Cells of the list, and how many of them the store had.
        self.total, self.found = total, found
        self.done = found
        # Cells run by each node.
        self.nodes: Counter[str] = Counter()
        # Files that nodes fetched.
        self.fetched = 0
        # Cells that this machine has to run itself, or that no node could run, with the reasons.
        self.incomplete: dict[str, str] = {}
        self.failed: dict[str, str] = {}
        # Nodes that get no more cells, with the reasons.
        self.excluded: dict[str, str] = {}

    @property
    def is_over(self) -> bool:
        """Whether every cell has a result."""
        return self.done + len(self.incomplete) + len(self.failed) == self.total

    def __str__(self) -> str:
        text = f"{self.done} of {self.total} cells"
        if self.found:
            text += f" ({self.found} already existed)"
        if self.nodes:
            text += f", {len(self.nodes)} nodes"
        for name, why in list(self.incomplete.items())[:1]:
            text += f"; {len(self.incomplete)} did not complete, such as {name}: {why}"
        for node, why in self.excluded.items():
            text += f"; {node} was left out: {why}"
        return text


@dataclass
class Settings:
    """How the cells of an experiment are run and where they are kept: see `fleet.run`."""

    store: str
    storage_options: dict[str, Any] = field(default_factory=dict)
    # Whether cells that are in the store are run again.
    anew: bool = False
    jobs: int | None = None
    wall_limit: str | None = None
    work_dir: str = ""
    batch: int | None = None

    def __post_init__(self) -> None:
        if "://" not in self.store:
            self.store = os.path.abspath(self.store)


class Fleet:
    """The cells of one experiment on their way through a cluster."""

    def __init__(self, ray, settings: Settings):
        imported("fsspec")
        from . import node

        self.ray, self.node, self.settings = ray, node, settings
        self.store = node.Store(settings.store, settings.storage_options)
        # What Ray calls the nodes that get no more cells, and parts that they did not run.
        self.excluded: set[str] = set()
        self.again: list[Part] = []
        self.turn = 0
        self.keys: set[str] = set()
        self.there: set[str] = set()
        self.state = State(0, 0)

    def look(self, listed: ListedCells, progress: Progress | None) -> None:
        """Looks which cells are in the store."""
        self.keys = listed.keys
        self.there = set() if self.settings.anew else self.keys & self.store.cells()
        self.state = State(len(self.keys), len(self.there))
        if progress:
            progress(self.state)

    def make(
        self, program: Path, listed: ListedCells, log: Path, progress: Progress | None
    ) -> None:
        """Makes the cells that are not in the store."""
        job = self.job(program, listed)
        cpus = int(self.ray.cluster_resources().get("CPU", 1)) or 1
        parts = self.parts(listed, cpus)
        # A part is run by one process, one cell at a time.
        most = min(AHEAD * cpus, self.settings.jobs or AHEAD * cpus)
        # Nodes need not have this package.
        self.ray.cloudpickle.register_pickle_by_value(self.node)
        task = self.ray.remote(self.node.make)
        running: dict[Any, Part] = {}
        log.parent.mkdir(parents=True, exist_ok=True)
        with open(log, "a") as told:
            try:
                while True:
                    while len(running) < most and (part := self.next_part(parts)):
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
            store=self.settings.store,
            options=self.settings.storage_options,
            program=put(program),
            machines=machines,
            folder=self.settings.work_dir,
            anew=self.settings.anew,
            wall_limit=self.settings.wall_limit,
        )

    def parts(self, listed: ListedCells, cpus: int) -> Iterator[Part]:
        """The missing cells, in parts."""
        batch = self.settings.batch
        size = max(1, (self.state.total - self.state.found) // (cpus * PARTS_A_CPU))
        open_parts: dict[str | None, Part] = {}
        for cell, line in listed.cells():
            if cell["key"] in self.there:
                continue
            machine = cell.get("machine")
            most = batch or min(size, MOST_GUESTS if machine else MOST_SIMULATIONS)
            part = open_parts.setdefault(machine, Part(machine))
            part.add(cell, line)
            if len(part.lines) >= most:
                yield open_parts.pop(machine)
        yield from open_parts.values()

    def next_part(self, parts: Iterator[Part]) -> Part | None:
        """The next part: first those that a node did not make."""
        return self.again.pop() if self.again else next(parts, None)

    def start(self, task, job, listed: ListedCells, part: Part):
        """Hands a part over to the cluster."""
        lines, needs = part.lines, {}
        if part.machine:
            needs["memory"] = listed.machines[part.machine]["memory_bytes"]
            lines = [listed.machine_lines[part.machine], *lines]
        task = task.options(
            num_cpus=1, max_retries=RETRIES, scheduling_strategy=self.strategy(), **needs
        )
        return task.remote(job, lines)

    def strategy(self):
        """Where the next part runs: anywhere, as long as all nodes can run cells."""
        if not self.excluded:
            return "SPREAD"
        nodes = self.good_nodes()
        self.turn += 1
        strategies = self.ray.util.scheduling_strategies
        # One that dies meanwhile is replaced by any other.
        return strategies.NodeAffinitySchedulingStrategy(nodes[self.turn % len(nodes)], soft=True)

    def good_nodes(self) -> list[str]:
        """The nodes that can make cells, as far as is known."""
        alive = [node for node in self.ray.nodes() if node["Alive"]]
        able = [node["NodeID"] for node in alive if node["Resources"].get("CPU")]
        return [node for node in able if node not in self.excluded]

    def exclude(self, told: dict[str, Any], part: Part) -> None:
        """Gives a node no more cells, and what is left of its part to another one."""
        why = told["problem"]
        self.excluded.add(told["node_id"])
        self.state.excluded.setdefault(told["node"], why)
        left = part.without({cell["key"] for cell in told["made"]})
        if not left.names:
            return
        left.tried += 1
        if left.tried > MOST_NODES_A_PART or not self.good_nodes():
            # Every node fails like this: the store or the program lack something.
            raise FleetError(f"a node cannot make cells: {why}")
        self.again.append(left)

    def take(self, reference, part: Part, log) -> None:
        """Takes the result of a part and records it."""
        errors = self.ray.exceptions
        try:
            made = self.ray.get(reference)
        except errors.RayTaskError as error:
            # What Ray itself could not start there.
            raise FleetError(f"a node cannot make cells: {error.cause!r}") from error
        except errors.RayError as error:
            made = {"made": [], "fetched": [], "node": None, "problem": None}
            why = f"its node died {RETRIES + 1} times: {type(error).__name__}"
            made["made"] = [{"key": key, "why": why} for key in part.names]
        self.state.fetched += len(made["fetched"])
        for cell in made["made"]:
            self.count(cell, part, made["node"])
            line = {"run_id": part.names[cell["key"]], "node": made["node"], **cell}
            log.write(json.dumps(line) + "\n")
        log.flush()
        if made["problem"]:
            self.exclude(made, part)

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
        """Raises what kept cells from running, so that this machine does not run them all."""
        if not self.state.failed:
            return
        (name, why), count = next(iter(self.state.failed.items())), len(self.state.failed)
        raise FleetError(
            f"{count} cells could not run, such as {name}: {why}. The others are in "
            f"{self.settings.store}; run the same command again to continue"
        )

    def local_cells(self):
        """A folder of this machine with the cells."""
        return LocalCells(self.store, self.keys)


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
    # Ray sends no usage statistics of this cluster.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return __import__(name)
    except ImportError as error:
        raise FleetError(
            f"a fleet needs the Python package {name}: {sys.executable} -m pip install "
            "'thrashlab[fleet]'"
        ) from error
