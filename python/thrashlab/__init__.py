"""A laboratory for computers that have slowed down.

`load` reads run files into tables for pandas, polars and pyarrow. `run`, `ab`, `limit`,
`experiment`, `sweep`, `bisect` and `doctor` measure; `compare`, `attribute` and `knee` explain what was measured; `mmu`
simulates memory-management hardware. See docs/python.md.
"""

from . import mmu
from .analyse import attribute, compare, knee
from .errors import CouldNotMeasure, ThrashlabError, WrongUse
from .frame import Frame, Results, load
from .measure import Measured, ab, bisect, doctor, experiment, limit, run, sweep
from .sql import to_sql

__all__ = [
    "CouldNotMeasure",
    "Frame",
    "Measured",
    "Results",
    "ThrashlabError",
    "WrongUse",
    "ab",
    "attribute",
    "bisect",
    "compare",
    "doctor",
    "experiment",
    "knee",
    "limit",
    "load",
    "mmu",
    "run",
    "sweep",
    "to_sql",
]
