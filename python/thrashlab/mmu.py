"""Simulators of memory-management hardware, and miss-ratio curves of references in an array."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from . import _native
from ._binary import Progress, answer
from .errors import WrongUse
from .frame import Frame
from .measure import Seeds
from .shown import lines_svg

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

PAGE_BYTES = 4096
LINE_BYTES = 64
_POINTS = ("unit_bytes", "entries", "miss_ratio")


def simulate(
    what: str | os.PathLike[str],
    *,
    machine: str | os.PathLike[str] | None = None,
    hat: str | None = None,
    settings: Mapping[str, Any] | None = None,
    range: str | tuple[Any, Any] | None = None,
    seeds: Seeds | None = None,
    compare: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> dict[str, Any]:
    """Runs a program, a mix of users, or a recorded trace on a simulated machine.

    `what` is a program such as `"vmtest:24M"`, a mix such as `"xterms"`, or the file of a trace;
    the answer is that of `thrashlab mmu run --json`.
    """
    ends = range if isinstance(range, str) or range is None else f"{range[0]}..{range[1]}"
    asked: dict[str, Any] = {
        "machine": machine,
        "hat": hat,
        "set": settings,
        "range": ends,
        "seeds": seeds,
    }
    command = ["mmu", "run", os.fspath(what)]
    return answer(command, progress=progress, compare=compare, **asked, **options)


def whatif(
    what: str | os.PathLike[str],
    *,
    machine: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> dict[str, Any]:
    """Tries every remedy for a workload, alone and together."""
    command = ["mmu", "whatif", os.fspath(what)]
    return answer(command, progress=progress, machine=machine, **options)


def machines() -> list[dict[str, Any]]:
    """The machines that can be simulated."""
    return answer(["mmu", "machines"])


class Curves:
    """Miss ratios over sizes, for all sizes in one pass."""

    def __init__(self, summary: dict[str, Any], tables: dict[str, _native.Frame]) -> None:
        #: How many references there were.
        self.references: int = summary["references"]
        #: What `thrashlab mmu curve --json` prints for each unit.
        self.units: list[dict[str, Any]] = summary["units"]
        #: Misses by entries: `unit_bytes`, `entries`, `misses`, `miss_ratio`; of a sample with the
        #: interval from `low` to `high`.
        self.points = Frame("points", tables["points"])
        #: Misses by ways, for each requested number of sets.
        self.sets = Frame("sets", tables["sets"])
        #: The working set, window by window, if requested.
        self.windows = Frame("windows", tables["windows"])

    def __repr__(self) -> str:
        return f"<Curves of {self.references} references, {len(self.points)} points>"

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: miss ratios over entries, a line for each size of pages."""
        try:
            table = self.points.to_arrow()
        except ImportError:
            return None
        columns = [table[name].to_pylist() for name in _POINTS]
        lines: dict[int, list[tuple[float, float]]] = {}
        for unit, entries, ratio in zip(*columns, strict=True):
            lines.setdefault(unit, []).append((entries, ratio))
        top = max((ratio for line in lines.values() for _, ratio in line), default=1.0)
        named = [(f"{unit} bytes", line) for unit, line in lines.items()]
        return lines_svg(named, "entries", "miss ratio", top)


def curve(
    references: ArrayLike,
    *,
    of: Literal["addresses", "pages"] = "addresses",
    page: int | Sequence[int] = PAGE_BYTES,
    line: bool = False,
    sets: Sequence[int] = (),
    ways: int = 32,
    sample: float | None = None,
    sample_size: int | None = None,
    seed: int = 0,
    working_set: int | None = None,
) -> Curves:
    """Draws the miss-ratio curve of an LRU cache of pages for references in an array.

    An array of 64-bit addresses, or with `of="pages"` of numbers of pages of 4096 bytes, in the
    order of the references. It is read where it is, without a copy (other types, and arrays with
    gaps, are converted), and other threads continue meanwhile. `page` are sizes in bytes, `line` adds
    lines of 64 bytes, `sets` curves over up to this many `ways`; `sample` is the fraction of the pages,
    `sample_size` their number, used to estimate all.
    """
    units = [page] if isinstance(page, int) else list(page)
    if of not in ("addresses", "pages"):
        raise WrongUse(f"of={of!r}: references are addresses or pages")
    if sample is not None and sample_size is not None:
        raise WrongUse("either sample or sample_size")
    try:
        summary, tables = _native.curve(
            _words(references),
            pages=of == "pages",
            units=[*units, *([LINE_BYTES] if line else [])],
            sets=list(sets),
            ways=ways,
            rate=sample,
            keys=sample_size,
            seed=seed,
            window=working_set,
        )
    except ValueError as error:
        raise WrongUse(str(error)) from None
    return Curves(json.loads(summary), tables)


def _words(references: ArrayLike) -> np.ndarray:
    """References as 64-bit words: the array itself, if it can be read as such."""
    array = np.asarray(references)
    if array.ndim != 1:
        raise WrongUse(f"references have one dimension, not {array.ndim}")
    if array.dtype == np.uint64:
        return np.ascontiguousarray(array)
    if not np.issubdtype(array.dtype, np.integer):
        raise WrongUse(f"references are whole numbers, not {array.dtype}")
    if array.dtype == np.int64:
        return np.ascontiguousarray(array).view(np.uint64)
    return array.astype(np.uint64)
