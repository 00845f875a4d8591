"""The driver of a fleet as a program, which `thrashlab experiment --fleet` becomes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from .._binary import INTERRUPTED
from . import FleetError, State, run


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
    parser.add_argument("--jobs", type=int, help="guests or simulations at a time, on all nodes")
    parser.add_argument("--wall-limit", help="a guest that is silent for this long is stuck")
    parser.add_argument("--work-dir", help="folder on a disk of each node")
    parser.add_argument("--batch", type=int, help="cells that are handed to a node in one part")
    parser.add_argument(
        "--only-cells", action="store_true", help="put the cells into the store, and make no folder"
    )
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
            jobs=asked.jobs,
            wall_limit=asked.wall_limit,
            work_dir=asked.work_dir,
            batch=asked.batch,
            progress=None if asked.quiet else Shown(),
            show=True,
            assemble=not asked.only_cells,
        )
    except FleetError as error:
        print(f"thrashlab: {error}", file=sys.stderr)
        return error.code
    except KeyboardInterrupt:
        print("stopped; run the same command again to resume it", file=sys.stderr)
        return INTERRUPTED
    if not asked.quiet and not asked.only_cells:
        print(f"run files: {folder}\nby node: {folder}.fleet.jsonl", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
