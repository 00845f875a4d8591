"""The Python package, as it is installed: tables, answers, exceptions, Ctrl-C, databases."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas
import polars
import pyarrow as pa
import pytest
import sqlalchemy
import thrashlab
from pyarrow import parquet


@pytest.fixture(name="thrashlab_binary")
def fixture_thrashlab_binary(thrashlab):
    """The static binary, under a name that is not the package's."""
    return thrashlab


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder of short runs on this host."""
    folder = tmp_path_factory.mktemp("runs")
    measured = thrashlab.run(
        load="cpuload",
        subject="host",
        interval="100ms",
        points=4,
        warmup="100ms",
        output=folder / "runs",
        work_dir=folder,
        progress=False,
    )
    assert [row["load"] for row in measured["rows"]] == ["noload", "cpuload"]
    return measured.folder


def test_samples_are_those_of_the_command_line(runs, thrashlab_binary):
    told = json.loads(thrashlab_binary("show", runs, "--json").stdout)
    results = thrashlab.load(runs)
    load = dict(zip(*(results.runs.to_arrow()[name].to_pylist() for name in ("run", "load"))))
    samples = results.samples.to_arrow().to_pylist()
    for row in told["rows"]:
        delays = [each["delay_ns"] for each in samples if load[each["run"]] == row["load"]]
        assert delays == row["delays_ns"]
    assert results.runs.to_arrow()["checksum_ok"].to_pylist() == [True] * len(results.runs)
    assert results.runs.to_arrow()["status"].to_pylist() == ["complete"] * len(results.runs)


def test_counters_are_those_of_the_file(runs):
    results = thrashlab.load(runs)
    found = results.counters.to_arrow().to_pylist()
    expected = []
    for run, path in enumerate(results.runs.to_arrow()["path"].to_pylist()):
        for line in map(json.loads, Path(path).read_text().splitlines()):
            sets = [(line.get("index"), when, line.get(when, {})) for when in ("before", "after")]
            sets.append((None, "between", line.get("counters", {})))
            totals = {"totals": line["totals"]} if "totals" in line else {}
            sets.append((None, "delivered", totals))
            for sample, when, sources in sets:
                for source, counters in sources.items():
                    for counter, value in counters.items():
                        expected.append((run, sample, when, source, counter, value))
    names = ("run", "sample", "when", "source", "counter", "value")
    assert [tuple(row[name] for name in names) for row in found] == expected


def test_pandas_and_polars_take_the_same(runs):
    for frame in thrashlab.load(runs):
        theirs = frame.to_pandas()
        assert isinstance(theirs, pandas.DataFrame)
        assert list(theirs.columns) == polars.DataFrame(frame).columns == frame.column_names
        assert len(theirs) == polars.DataFrame(frame).height == len(frame)
        assert frame.name in repr(frame) and frame.name in frame._repr_html_()


def test_parquet_and_back(runs, tmp_path):
    for frame in thrashlab.load(runs):
        parquet.write_table(pa.table(frame), tmp_path / "x.parquet")
        assert parquet.read_table(tmp_path / "x.parquet").to_pylist() == pa.table(frame).to_pylist()


def test_a_file_that_was_cut_off_is_read_and_a_damaged_one_named(runs, tmp_path):
    text = min(runs.glob("*.run.jsonl")).read_bytes()
    path = tmp_path / "x.run.jsonl"
    path.write_bytes(text[: len(text) - 1])
    results = thrashlab.load(path)
    assert results.runs.to_arrow()["status"].to_pylist() == ["killed"]
    path.write_bytes(b"\n".join([text.splitlines()[0], b'{"kind":"sample","at_ns":', b""]))
    with pytest.raises(thrashlab.WrongUse, match=r"x\.run\.jsonl: line 2: not JSON at column"):
        thrashlab.load(path)
    with pytest.raises(thrashlab.WrongUse, match="No such file"):
        thrashlab.load(tmp_path / "none.run.jsonl")


def test_errors_have_the_words_of_the_command_line(thrashlab_binary):
    for command, ask in [
        (["compare", "none"], lambda: thrashlab.compare("none")),
        (["mmu", "run", "none"], lambda: thrashlab.mmu.simulate("none")),
        (["run", "--load", "none"], lambda: thrashlab.run(load="none")),
    ]:
        told = thrashlab_binary(*command).stderr.strip()
        with pytest.raises(thrashlab.WrongUse) as raised:
            ask()
        first = str(raised.value).splitlines()[0]
        assert first and first in told
        assert raised.value.code == 2


def test_answers_are_those_of_the_command_line(runs, thrashlab_binary):
    multics = "reference:multics/experiment1"
    table = "reference:sun4/vmtest-sparcstation1-old-hat"
    for command, answer in [
        (["compare", multics, "--factor", "system"], thrashlab.compare(multics, factor="system")),
        (["compare", runs, runs, "--margin", "5%"], thrashlab.compare(runs, runs, margin=0.05)),
        (["attribute", multics], thrashlab.attribute(multics)),
        (["sweep", "--from", table], thrashlab.knee(table)),
        (["mmu", "run", "vmtest:4M"], thrashlab.mmu.simulate("vmtest:4M")),
        (["mmu", "machines"], thrashlab.mmu.machines()),
    ]:
        assert json.loads(thrashlab_binary(*command, "--json").stdout) == answer
    told = thrashlab_binary("doctor", "--from", runs, "--json").stdout
    found = thrashlab.doctor(source=runs)
    assert "".join(json.dumps(each) for each in found) == "".join(
        json.dumps(each) for each in json.loads("[" + told.replace("}\n{", "},{") + "]")
    )


def test_a_notebook_shows_every_result(runs, tmp_path, thrashlab_binary):
    multics = "reference:multics/experiment1"
    compared = thrashlab.compare(multics, factor="system")
    printed = thrashlab_binary("compare", multics, "--factor", "system", "--format", "markdown")
    assert compared._repr_markdown_() == printed.stdout
    assert isinstance(compared, dict) and "markdown" not in compared
    for shown in [
        thrashlab.attribute(multics),
        thrashlab.knee("reference:sun4/vmtest-sparcstation1-old-hat"),
        thrashlab.mmu.simulate("vmtest:4M"),
        thrashlab.mmu.machines(),
    ]:
        assert "|" in shown._repr_markdown_(), shown
    diagnoses = thrashlab.doctor(source=runs)
    assert diagnoses._repr_markdown_().count("# thrashlab: ") == len(diagnoses) > 1
    folders = {"output": tmp_path / "true", "work_dir": tmp_path}
    again = thrashlab.run("true", subject="host", runs=3, progress=False, **folders)
    assert "|" in again._repr_markdown_() and str(again.folder) in again._repr_markdown_()
    charts = again.charts()
    for chart in charts.values():
        kinds = set(chart._repr_mimebundle_())
        assert kinds & {"text/html", "application/vnd.vegalite.v6+json"}, kinds
    curves = thrashlab.mmu.curve(np.arange(4096, dtype=np.uint64) * 4096 % (64 * 4096))
    drawing = ElementTree.fromstring(curves._repr_svg_())
    lines = drawing.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 1 and len(lines[0].get("points").split()) == len(curves.points)
    assert "<table" in thrashlab.load(runs)._repr_html_()


def test_a_knee_of_numbers_is_where_their_step_is(tmp_path, thrashlab_binary):
    # About 10 up to a level of 32, and about 30 from 64 on.
    levels = [1, 2, 4, 8, 16, 32, 64, 128, 256]
    costs = [10, 10.1, 9.9, 10, 10.05, 9.95, 30.1, 29.9, 30]
    found = thrashlab.knee(levels=levels, costs=costs)
    knee = found["found"]["shape"]["knee"]
    assert (knee["kind"], knee["capacity"], knee["beyond"]) == ("step", 32, 64)
    assert knee["low"] <= knee["level"] <= knee["high"] and 32 <= knee["level"] <= 64
    assert knee["plateau_cost"] == pytest.approx(10, rel=0.02)
    assert knee["rise"] == pytest.approx(3, rel=0.02)

    rows = zip(levels, costs, strict=True)
    (tmp_path / "t.csv").write_text("users,busy\n" + "".join(f"{u},{b}\n" for u, b in rows))
    command = ["sweep", "--from", "t.csv", "--level", "users", "--cost", "busy", "--json"]
    told = json.loads(thrashlab_binary(*command).stdout)
    assert told["found"]["shape"] == found["found"]["shape"]
    points = [(point["level"], point["cost"]) for point in found["curve"]["points"]]
    assert points == [(point["level"], point["cost"]) for point in told["curve"]["points"]]
    assert points == list(zip(levels, costs, strict=True))
    with pytest.raises(TypeError, match="either a source"):
        thrashlab.knee()


def test_curves_of_an_array_are_those_of_a_trace(tmp_path, thrashlab_binary):
    random = np.random.default_rng(7)
    addresses = random.integers(0, 1 << 24, 20_000, dtype=np.uint64)
    lines = "".join(f" L {address:x},1\n" for address in addresses)
    (tmp_path / "trace.lackey").write_text(lines)
    command = ["mmu", "curve", tmp_path / "trace.lackey", "--input-format", "lackey", "--json"]
    units = ["--line", "--page", "4K,64K", "--sets", "16"]
    told = json.loads(thrashlab_binary(*command, *units).stdout)
    found = thrashlab.mmu.curve(addresses, page=[4096, 65536], line=True, sets=[16])
    assert found.references == told["references"] == len(addresses)
    for unit, expected in zip(found.units, told["units"], strict=True):
        expected.pop("knee")
        assert unit == expected
    points = [point for unit in told["units"] for point in unit["curve"]["points"]]
    for column in ("entries", "misses", "miss_ratio"):
        assert found.points.to_arrow()[column].to_pylist() == [point[column] for point in points]
    pages = thrashlab.mmu.curve(addresses >> np.uint64(12), of="pages")
    assert pages.units[0] == found.units[0] | {"sets": []}
    assert thrashlab.mmu.curve(addresses.astype(np.int64)).units == pages.units
    with pytest.raises(thrashlab.WrongUse, match="neither a line of 64 nor a page"):
        thrashlab.mmu.curve(addresses, page=5000)
    with pytest.raises(thrashlab.WrongUse, match="whole numbers, not float64"):
        thrashlab.mmu.curve([1.5])


def test_progress_is_told_as_events(tmp_path):
    told = []
    machine = {"subject": "mmu:machine=sparcstation1", "seeds": range(1, 3)}
    measured = thrashlab.run(
        job="vmtest:size=2M", output=tmp_path / "runs", progress=told.append, **machine
    )
    kinds = [event["event"] for event in told]
    assert kinds[0] == "planned" and len(told[0]["segments"]) == 2
    assert kinds.count("started") == kinds.count("ended") == 2
    assert any("run files" in event.get("text", "") for event in told)
    assert len(measured.load().passes) == 2
    assert os.fspath(measured) == str(tmp_path / "runs")


STOPPED = """
import sys, thrashlab
try:
    thrashlab.run(load="cpuload", subject="host", interval="1s", points=500, output=sys.argv[1],
                  work_dir=sys.argv[2], progress=lambda event: print(event["event"], flush=True))
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_of_a_run_that_is_stopped(how, tmp_path):
    runs, work = tmp_path / "runs", tmp_path / "work"
    work.mkdir()
    command = [sys.executable, "-c", STOPPED, runs, work]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as python:
        while not any("measuring" in path.read_text() for path in runs.glob("*.run.jsonl")):
            assert python.poll() is None
            time.sleep(0.05)
        python.send_signal(how)
        told = python.stdout.read()
    if how == signal.SIGINT:
        assert told.splitlines()[-1] == "stopped"
    deadline = time.monotonic() + 120
    while left := _processes_with(str(work)):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
    # The lock is a file that stays; nobody holds it.
    assert {path.name for path in work.iterdir()} <= {"thrashlab.lock"}


def _processes_with(word):
    """The command lines that contain a word."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline") as file:
                found += [line for line in [file.read()] if word in line]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def test_results_go_into_a_database_once(runs):
    engine = sqlalchemy.create_engine("sqlite://")
    results = thrashlab.load(runs)
    assert thrashlab.to_sql(results, engine, label="before") == len(results.runs)
    assert thrashlab.to_sql(results, engine) == 0
    asked = """
        select r.load, r.label, count(*), sum(s.delay_ns), min(s.time) >= min(r.time)
        from thrashlab_samples s join thrashlab_runs r using (run_key)
        group by r.load, r.label order by r.load
    """
    load = dict(zip(*(results.runs.to_arrow()[name].to_pylist() for name in ("run", "load"))))
    sums = {name: [] for name in sorted(set(load.values()))}
    for row in results.samples.to_arrow().to_pylist():
        sums[load[row["run"]]].append(row["delay_ns"])
    with engine.connect() as connection:
        found = [tuple(row) for row in connection.execute(sqlalchemy.text(asked))]
        count = connection.scalar(sqlalchemy.text("select count(*) from thrashlab_counters"))
    assert found == [(name, "before", len(all), sum(all), 1) for name, all in sums.items()]
    assert count == len(results.counters)


def test_commands_are_timed_and_their_repetitions_are_a_frame(tmp_path):
    where = {"subject": "host:mem=64M", "work_dir": tmp_path, "progress": False, "runs": 4}
    commands = {"short": ["sleep", "0.01"], "long": "sleep 0.1"}
    measured = thrashlab.run(commands, output=tmp_path / "runs", **where)
    short, long = measured["rows"]
    assert (short["command"], long["command"]) == ("short", "long")
    assert long["to_first"]["ratio"] > 3 and long["failed"] == 0
    work = measured.load().work.to_pandas()
    assert work.groupby("item").size().to_dict() == {"short": 4, "long": 4}
    times = measured.charts()["commands"]["data"]["values"]
    assert {point["panel"] for point in times} == {"short", "long"}
    failed = thrashlab.run(["sh", "-c", "exit 3"], output=tmp_path / "failed", **where)
    assert failed["rows"][0]["failure"] == "exit code 3"
    with pytest.raises(thrashlab.WrongUse, match="not a command"):
        thrashlab.run([], **where)
    with pytest.raises(thrashlab.CouldNotMeasure, match="no program"):
        thrashlab.run(["./no-such-program"], output=tmp_path / "none", **where)


def test_two_commands_are_compared_by_turns(tmp_path):
    where = {"subject": "host:mem=64M", "work_dir": tmp_path, "progress": False}
    options = {"blocks": 4, "settings": {"command.runs": 2}, "output": tmp_path / "runs"}
    measured = thrashlab.ab("command", "sleep 0.01", ["sleep", "0.1"], **options, **where)
    assert measured["blocks"] == 4
    assert [cell["verdict"] for cell in measured["comparison"]["cells"]] == ["regression"]
    assert len(measured.load().runs) == 8
    assert len(measured.charts()["looks"]["data"]["values"]) == 1
