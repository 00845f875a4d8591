"""Results into a database that a team's dashboards read. The schema: docs/python.md."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from .errors import WrongUse
from .frame import Frame, Results

if TYPE_CHECKING:
    import sqlalchemy

_EPOCH = datetime.fromtimestamp(0, timezone.utc)
#: How many rows are handed to the database at once.
_ROWS = 20_000
#: The largest whole number that databases have.
_LARGEST = 2**63 - 1
#: Columns of `runs` that are in the database.
_RUN_COLUMNS = {
    "text": ("run_id", "path", "subject", "kernel", "load", "measure", "measure_kind", "profile"),
    "whole": ("memory_bytes", "load_version", "measure_version", "seed", "block", "order"),
    "words": ("status", "thrashlab", "spec", "environment"),
}
_SAMPLE_COLUMNS = ("sample", "intended_ns", "started_ns", "completed_ns", "delay_ns")


def to_sql(
    results: Results,
    engine: sqlalchemy.Engine,
    *,
    label: str | None = None,
    counters: bool = True,
) -> int:
    """Adds results to a database, through SQLAlchemy; answers how many runs were new.

    Tables `thrashlab_runs`, `thrashlab_samples` and `thrashlab_counters` are created if they are
    missing. A run that is already there is not added again. `label` is stored with the runs, for
    dashboards to choose by. Everything is added, or nothing.
    """
    try:
        import sqlalchemy as sql
    except ImportError as error:
        raise ImportError("to_sql needs SQLAlchemy: pip install 'thrashlab[sql]'") from error
    runs, samples, readings = _tables(sql)
    rows = list(_rows(results.runs))
    started = results.runs.to_arrow()["started"].cast("int64").to_pylist()
    for row, started_ns in zip(rows, started, strict=True):
        row["started_ns"] = started_ns
    keys = {row["run"]: _key(row) for row in rows if row["run_id"] is not None}
    begun = {row["run"]: row["started_ns"] for row in rows if row["run"] in keys}
    with engine.begin() as connection:
        runs.metadata.create_all(connection)
        known = set(connection.scalars(sql.select(runs.c.run_key)))
        new = {run: key for run, key in keys.items() if key not in known}
        chosen = [_run(row, new[row["run"]], label) for row in rows if row["run"] in new]
        _insert(connection, runs, chosen)
        _insert(connection, samples, _samples(results, new, begun))
        if counters:
            _insert(connection, readings, _counters(results, new, begun))
    return len(new)


def _tables(sql: Any) -> tuple[Any, Any, Any]:
    metadata = sql.MetaData()
    key = ("run_key", sql.String(32))
    time = sql.DateTime(timezone=True)
    runs = sql.Table(
        "thrashlab_runs",
        metadata,
        sql.Column(*key, primary_key=True),
        sql.Column("time", time, index=True),
        sql.Column("label", sql.Text),
        *(sql.Column(name, sql.Text) for name in _RUN_COLUMNS["text"]),
        *(sql.Column(name, sql.BigInteger) for name in _RUN_COLUMNS["whole"]),
        sql.Column("intensity", sql.Double),
        *(sql.Column(name, sql.Text) for name in _RUN_COLUMNS["words"]),
    )
    samples = sql.Table(
        "thrashlab_samples",
        metadata,
        sql.Column(*key, sql.ForeignKey(runs.c.run_key), index=True),
        sql.Column("time", time, index=True),
        *(sql.Column(name, sql.BigInteger) for name in _SAMPLE_COLUMNS),
        sql.Column("censored", sql.Text),
    )
    counters = sql.Table(
        "thrashlab_counters",
        metadata,
        sql.Column(*key, sql.ForeignKey(runs.c.run_key), index=True),
        sql.Column("time", time, index=True),
        sql.Column("sample", sql.BigInteger),
        sql.Column("when", sql.Text),
        sql.Column("source", sql.Text),
        sql.Column("counter", sql.Text),
        sql.Column("value", sql.BigInteger),
    )
    return runs, samples, counters


def _rows(frame: Frame) -> Iterator[dict[str, Any]]:
    table = frame.to_arrow()
    # Timestamps in ns are finer than Python's own.
    table = table.drop_columns([name for name in table.column_names if name == "started"])
    for batch in table.to_batches(max_chunksize=_ROWS):
        yield from batch.to_pylist()


def _key(row: dict[str, Any]) -> str:
    """What identifies a run, wherever its file is."""
    what = f"{row['run_id']}\n{row['started_ns']}\n{row['spec']}\n{row['environment']}"
    return hashlib.sha256(what.encode()).hexdigest()[:32]


def _time(begun_ns: int, at_ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=(begun_ns + at_ns) // 1000)


def _run(row: dict[str, Any], key: str, label: str | None) -> dict[str, Any]:
    names = [name for names in _RUN_COLUMNS.values() for name in names]
    found = {name: _whole(row[name]) for name in names}
    time = _time(row["started_ns"], 0)
    return {"run_key": key, "time": time, "label": label, "intensity": row["intensity"], **found}


def _samples(results: Results, new: dict[int, str], begun: dict[int, int]) -> Iterator[Any]:
    for row in _rows(results.samples):
        run = row["run"]
        if run in new:
            found = {name: _whole(row[name]) for name in _SAMPLE_COLUMNS}
            time = _time(begun[run], row["intended_ns"])
            yield {"run_key": new[run], "time": time, "censored": row["censored"], **found}


def _counters(results: Results, new: dict[int, str], begun: dict[int, int]) -> Iterator[Any]:
    beyond = 0
    for row in _rows(results.counters):
        run = row.pop("run")
        if run not in new:
            continue
        if row["value"] > _LARGEST:
            beyond += 1
            continue
        time = _time(begun[run], row.pop("at_ns"))
        yield {"run_key": new[run], "time": time, **row}
    if beyond:
        warnings.warn(f"{beyond} readings above 2^63 - 1 were left out", stacklevel=3)


def _whole(value: Any) -> Any:
    if isinstance(value, int) and value > _LARGEST:
        raise WrongUse(f"{value} is beyond what databases can hold")
    return value


def _insert(connection: Any, table: Any, rows: Iterable[dict[str, Any]]) -> None:
    piece: list[dict[str, Any]] = []
    for row in rows:
        piece.append(row)
        if len(piece) == _ROWS:
            connection.execute(table.insert(), piece)
            piece.clear()
    if piece:
        connection.execute(table.insert(), piece)
