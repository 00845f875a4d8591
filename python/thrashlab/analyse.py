"""What explains results of any origin: comparison, attribution, the knee of a curve."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._binary import answer

Source = str | os.PathLike[str]
Names = str | Sequence[str]


def compare(
    *inputs: Source,
    factor: str | None = None,
    response: Names | None = None,
    margin: float | str | None = None,
    alpha: float | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Compares results: what differs, by how much, and how sure that is.

    Inputs are folders of runs, run files, `reference:NAME`, or results of other programs; the
    first one is what the others are compared with. `margin` is the smallest difference that
    matters: `"10%"`, or 0.1. The verdicts are in the answer's `cells`.
    """
    share = f"{margin * 100}%" if isinstance(margin, float) else margin
    asked: dict[str, Any] = {
        "factor": factor,
        "response": response,
        "margin": share,
        "alpha": alpha,
    }
    return answer(
        ["compare", *(os.fspath(each) for each in inputs)], fine=(0, 1), **asked, **options
    )


def attribute(
    *experiments: Source,
    response: str | None = None,
    factor: Names | None = None,
    levels: Mapping[str, Names] | None = None,
    mediator: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Reports which factor, and which part of the work, caused a change."""
    asked: dict[str, Any] = {
        "response": response,
        "factor": factor,
        "levels": levels,
        "mediator": mediator,
    }
    return answer(["attribute", *(os.fspath(each) for each in experiments)], **asked, **options)


def knee(
    source: Source | None = None,
    *,
    levels: Sequence[float] | None = None,
    costs: Sequence[float] | None = None,
    least_rise: float | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Finds where the cost of work leaves its plateau, with an interval.

    Of a folder of runs, `reference:NAME` or a CSV; or of `levels` and their `costs`, sequences of
    one length. Further options are those of `thrashlab sweep --from`.
    """
    text = None
    if (source is None) == (levels is None or costs is None):
        raise TypeError("knee: either a source, or levels and costs")
    if levels is not None and costs is not None:
        rows = zip(levels, costs, strict=True)
        text = "level,cost\n" + "".join(f"{level},{cost}\n" for level, cost in rows)
        options = {"level": "level", "cost": "cost", **options}
    asked: dict[str, Any] = {"from": "-" if source is None else source, "least_rise": least_rise}
    return answer(["sweep"], text=text, **asked, **options)
