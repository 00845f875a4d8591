"""`thrashlab.load` and `thrashlab export` have a reader each, and make the same tables."""

import json
import shutil

import made_runs
import pyarrow as pa
import pytest
import thrashlab as package
from conftest import WORKSPACE
from pyarrow import parquet

EXAMPLE = WORKSPACE / "crates/results/store/tests/foreign/thrashlab.run.jsonl"
# What exported rows say of their run, which is in the table of runs.
OF_RUN = ["run_id", "load", "measure", "block", "seed"]
# Three delays, of 1500, 1500 and 1900 ns.
DELAYS = "HISTEwAAAAYAAAAAAAAAAwAAAAAAAAABAAAAAAAAAAI/8AAAAAAAALcXBJ0GAg=="

# Names that the example does not have, not in the order of the alphabet, and a kind that nobody
# knows.
FURTHER = [
    {
        "kind": "sample",
        "at_ns": 40,
        "index": 0,
        "intended_ns": 10,
        "started_ns": 11,
        "completed_ns": 30,
        "parts": {"z_ns": 5, "a_ns": 2**63},
        "before": {},
        "after": {"stat": {"ctxt": 7}},
    },
    {
        "kind": "work",
        "at_ns": 50,
        "worker": 0,
        "pass": 1,
        "item": "sort",
        "started_ns": 1,
        "completed_ns": 9,
        "usage": {"zeal": 1, "art": 2},
        "figures": {"p99_ns": 4.5e6, "tps_per_s": 12.5},
    },
    {
        "kind": "pass",
        "at_ns": 60,
        "worker": 0,
        "pass": 1,
        "started_ns": 1,
        "completed_ns": 9,
        "usage": {"zeal": 3},
    },
    {
        "kind": "histogram",
        "at_ns": 65,
        "from_ns": 1,
        "to_ns": 9,
        "count": 3,
        "hdr_v2_base64": DELAYS,
        "censored": {"reason": "run-ended", "count": 3, "hdr_v2_base64": DELAYS},
        "before": {},
        "after": {},
    },
    {"kind": "tomorrow", "at_ns": 70, "text": "it's new"},
]


@pytest.fixture
def results(tmp_path):
    """An experiment: a run with all kinds of lines, one with other names, one that was cut off."""
    folder = tmp_path / "results"
    folder.mkdir()
    shutil.copy(EXAMPLE, folder / "all.run.jsonl")
    header = made_runs.header("further", "noload", 3, "6.1")
    lines = [header, *FURTHER, {"kind": "end", "at_ns": 80, "status": "complete", "blake3": "0"}]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "further.run.jsonl").write_text(text)
    cut = made_runs.run("cut", "cpuload", 5, "6.1", slower=2, samples=4)
    (folder / "cut.run.jsonl").write_text(cut[: len(cut) // 2])
    runs = [
        {"run_id": name, "levels": {"size": size, "age": "old"}, "block": 0, "seed": 3}
        for name, size in [("further", "2M"), ("all", "1M")]
    ]
    factors = [{"name": "size", "levels": ["1M", "2M"]}, {"name": "age", "levels": ["old"]}]
    manifest = {"schema": 1, "thrashlab": "0.1.0", "name": "x", "plan": "", "responses": []}
    manifest.update(factors=factors, runs=runs)
    (folder / "experiment.json").write_text(json.dumps(manifest))
    return folder


def test_what_is_loaded_is_what_is_exported(tmp_path, thrashlab, results):
    tables = tmp_path / "tables"
    command = ["export", results, "--format", "parquet", "--table", "all", "-o", tables]
    done = thrashlab(*command)
    assert done.returncode == 0, done.stderr
    loaded = {frame.name: frame.to_arrow() for frame in package.load(results)}
    assert sorted(loaded) == sorted(path.stem for path in tables.iterdir())
    of_run = loaded["runs"].select(["run", *OF_RUN]).to_pylist()
    for name, table in loaded.items():
        exported = parquet.read_table(tables / f"{name}.parquet")
        if name in ("samples", "histograms", "work", "figures", "passes"):
            told = exported.select(["run", *OF_RUN]).to_pylist()
            assert told == [of_run[row["run"]] for row in told], name
            exported = exported.drop_columns(OF_RUN)
        assert columns(table) == columns(exported), name
        assert table.to_pylist() == exported.to_pylist(), name
        # Nothing is equal because it is absent.
        empty = [field for field in table.column_names if table[field].null_count == len(table)]
        assert len(table) and not empty, (name, empty)


def columns(table):
    """Names and types; texts of a dictionary are texts."""
    types = {pa.dictionary(pa.int32(), pa.string()): pa.string()}
    return [(field.name, types.get(field.type, field.type)) for field in table.schema]
