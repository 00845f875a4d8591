"""Deterministic cells and simulations on a Ray cluster.

A cell is a pure function of its inputs, so any node may make any cell, twice does no harm, and what
is finished is stored under the hash of its inputs. The results folder is put together by
`thrashlab experiment` itself, so it is the same bytes as on one machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._binary import BINARY
from .._binary import arguments as option_words
from ..errors import FleetError
from ..folders import cache_folder, data_folder
from .cells import Experiment
from .cluster import Fleet, Progress, Settings, State, connected, imported

__all__ = ["FleetError", "State", "run"]


def run(
    plan: str | os.PathLike[str],
    address: str | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    store: str | None = None,
    storage_options: dict[str, Any] | None = None,
    resume: bool = True,
    arguments: Sequence[str] = (),
    jobs: int | None = None,
    wall_limit: str | None = None,
    work_dir: str | os.PathLike[str] | None = None,
    batch: int | None = None,
    program: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    show: bool = False,
    assemble: bool = True,
) -> Path:
    """Makes the cells of a plan on a Ray cluster, and the results folder from them.

    Returns the results folder: `out`, else one of the plan's name in the user's data directory. What
    became of each cell is in `OUT.fleet.jsonl` next to it.

    address: of the cluster, as `ray.init` takes it (`ray://HOST:PORT`, `HOST:PORT`, `auto`), or
        `local` for a cluster of this machine alone.
    store: where cells are kept: a folder that all nodes see, or a URL that fsspec knows, with
        storage_options; `thrashlab/fleet` in the user's cache directory if missing.
    resume: whether cells that are in the store are taken from there.
    arguments: more arguments of `thrashlab experiment`, such as `["--blocks", "12"]`.
    jobs: guests or simulations at a time, on all nodes together; one per CPU if missing.
    wall_limit: a guest that writes nothing for this long, on the wall clock, is taken for stuck;
        `"15m"` if missing.
    work_dir: folder on a disk of each node for what it fetches and for cells in the making;
        `thrashlab-fleet-UID` in its temporary directory if missing.
    batch: cells that are handed to a node in one part.
    program: the static thrashlab; `$THRASHLAB`, else the one of this package.
    progress: is called whenever cells are finished.
    show: whether the result is printed.
    assemble: whether the results folder is made; else the cells are only in the store.

    Raises FleetError when the plan cannot be carried out on a fleet, or not all of it was.
    """
    ray = imported("ray")
    program = Path(program or os.environ.get("THRASHLAB") or BINARY)
    limits = option_words({"jobs": jobs, "wall_limit": wall_limit})
    experiment = Experiment(program, Path(plan), [*arguments, *limits])
    folder = Path(out) if out is not None else data_folder() / experiment.name()
    settings = Settings(
        store=store or str(cache_folder() / "fleet"),
        storage_options=storage_options or {},
        anew=not resume,
        jobs=jobs,
        wall_limit=wall_limit,
        work_dir=os.fspath(work_dir or ""),
        batch=batch,
    )
    with experiment.listed(folder) as listed:
        fleet = Fleet(ray, settings)
        fleet.look(listed, progress)
        if fleet.state.done < fleet.state.total:
            with connected(ray, address):
                log = Path(f"{folder}.fleet.jsonl")
                fleet.make(program, listed, log, progress)
            fleet.check()
    if not assemble:
        return folder
    with fleet.local_cells() as cells:
        experiment.put_together(folder, cells, show)
    return folder
