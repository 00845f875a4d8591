"""Tables of results, in Arrow's memory layout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import WrongUse

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


class Frame:
    """A table that pandas, polars, pyarrow and DuckDB take as it is, without a copy.

    It has the Arrow PyCapsule interface: `pyarrow.table(frame)`, `polars.DataFrame(frame)`,
    `pandas.DataFrame.from_arrow(frame)`.
    """

    __slots__ = ("_table", "name")

    def __init__(self, name: str, table: _native.Frame) -> None:
        self.name = name
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self._table)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self)} rows of {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the first rows, where pandas can draw them."""
        try:
            shown = self.to_arrow().slice(0, 5).to_pandas().to_html(index=False)
        except ImportError:
            shown = f"<code>{', '.join(self.column_names)}</code>"
        return f"<b>{self.name}</b>: {len(self)} rows{shown}"

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return self._table.column_names

    def to_arrow(self) -> pyarrow.Table:
        """The table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self) -> polars.DataFrame:
        """The data frame of polars."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The data frame of pandas, by pyarrow.

        Whole numbers stay whole: a column in which some are absent is of a nullable type.
        """
        import pandas

        table = self.to_arrow()
        nullable = {"uint32": pandas.UInt32Dtype(), "uint64": pandas.UInt64Dtype()}
        columns: dict[str, Any] = {}
        for name, column in zip(table.column_names, table.columns, strict=True):
            whole = nullable.get(str(column.type)) if column.null_count else None
            mapper = (lambda _, whole=whole: whole) if whole else None
            columns[name] = column.to_pandas(types_mapper=mapper)
        return pandas.DataFrame(columns)


class Results:
    """What is in run files: one table for each kind of thing. `run` in each is that of `runs`."""

    def __init__(self, tables: dict[str, _native.Frame]) -> None:
        frames = {name: Frame(name, table) for name, table in tables.items()}
        #: One row a run: what was run, where, how it ended, what the load delivered.
        self.runs = frames["runs"]
        #: One row a timed interaction.
        self.samples = frames["samples"]
        #: One row a counter and reading.
        self.counters = frames["counters"]
        #: One row a delay that occurred in an interval of a periodic probe, with its count.
        self.histograms = frames["histograms"]
        #: One row a piece of a job's work.
        self.work = frames["work"]
        #: One row a figure that a command printed.
        self.figures = frames["figures"]
        #: One row a pass of a worker through all pieces.
        self.passes = frames["passes"]
        #: One row a phase, warning, or histogram that cannot be read.
        self.events = frames["events"]

    def __iter__(self) -> Iterator[Frame]:
        return iter(vars(self).values())

    def __repr__(self) -> str:
        return f"<Results: {', '.join(f'{len(frame)} {frame.name}' for frame in self)}>"

    def _repr_html_(self) -> str:
        return "".join(frame._repr_html_() for frame in self if len(frame))


def load(*paths: str | os.PathLike[str], threads: int | None = None) -> Results:
    """Reads run files, or all run files in folders and below, into tables.

    A file that was cut off is read up to there. Raises `WrongUse` with the line of a file that is
    damaged, or where there is none. Ctrl-C stops it.
    """
    if not paths:
        raise WrongUse("load: name a folder or a run file")
    files = [Path(path) for path in paths]
    try:
        return Results(_native.load(files, threads or len(os.sched_getaffinity(0))))
    except ValueError as error:
        raise WrongUse(f"read results: {error}") from None
