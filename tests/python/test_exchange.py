"""What thrashlab exports is read by those for whom it is, and what real tools write is read here."""

import json
import shutil
import subprocess

import pyarrow.parquet as parquet
import pytest
from conftest import BINARY
from prometheus_client.openmetrics.parser import text_string_to_metric_families


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two folders of short runs of two loads; on a busy machine they may take long."""
    folder = tmp_path_factory.mktemp("results")
    for name in "before", "after":
        command = [
            *(BINARY, "run", "--subject", "host:mem=64M", "--load", "noload,cpuload"),
            *("--interval", "20ms", "--points", "3", "--warmup", "1s", "--timeout", "60s"),
            *("--output", folder / name, "--work-dir", folder / "work"),
        ]
        answer = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
        assert answer.returncode == 0, answer.stderr
    return [folder / "before", folder / "after"]


def exported(thrashlab, *arguments):
    """What `thrashlab export` writes to standard output."""
    answer = thrashlab("export", *arguments)
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def lines_of(folder, kind):
    """The lines of a kind in all run files of a folder, in their order."""
    files = sorted(folder.glob("*.run.jsonl"))
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def run_of(tool, *arguments, cwd):
    """Runs a tool of a package, or skips the test where it is not installed."""
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    command = [tool, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def test_tables_read_as_parquet(thrashlab, results, tmp_path):
    folder = results[0]
    for attempt in "one", "two":
        exported(
            thrashlab, folder, "--format", "parquet", "--table", "all", "-o", tmp_path / attempt
        )
    files = sorted(file.name for file in (tmp_path / "one").iterdir())
    assert len(files) == 8
    for file in files:
        again = (tmp_path / "two" / file).read_bytes()
        assert (tmp_path / "one" / file).read_bytes() == again, f"{file} is not the same again"
    samples = parquet.read_table(tmp_path / "one/samples.parquet").to_pylist()
    written = lines_of(folder, "sample")
    assert [row["intended_ns"] for row in samples] == [line["intended_ns"] for line in written]
    for row, line in zip(samples, written, strict=True):
        assert row["completed_ns"] == line.get("completed_ns")
        assert row["part_resident_scan_ns"] == line.get("parts", {}).get("resident_scan_ns")
        if "completed_ns" in line:
            assert row["delay_ns"] == line["completed_ns"] - line["intended_ns"]
    runs = parquet.read_table(tmp_path / "one/runs.parquet", columns=["run_id", "spec"])
    runs = runs.to_pylist()
    headers = lines_of(folder, "header")
    assert [row["run_id"] for row in runs] == [header["run_id"] for header in headers]
    assert [json.loads(row["spec"]) for row in runs] == [header["spec"] for header in headers]
    counters = parquet.read_table(tmp_path / "one/counters.parquet")
    first = written[0]["before"]["vmstat"]
    found = {
        row["counter"]: row["value"]
        for row in counters.to_pylist()
        if (row["run"], row["sample"], row["when"], row["source"]) == (0, 0, "before", "vmstat")
    }
    assert found == first


def test_metrics_are_those_that_prometheus_reads(thrashlab, results):
    text = exported(thrashlab, results[0], "--format", "openmetrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    delay = families["thrashlab_delay_seconds"]
    assert (delay.type, delay.unit) == ("summary", "seconds")
    counts = [s for s in delay.samples if s.name == "thrashlab_delay_seconds_count"]
    assert len(counts) == len(lines_of(results[0], "header"))
    assert sum(count.value for count in counts) == len(lines_of(results[0], "sample"))
    assert {count.labels["load"] for count in counts} == {"noload", "cpuload"}
    facts = families["thrashlab_trial"].samples[0].labels
    header = lines_of(results[0], "header")[0]
    assert facts["kernel"] == header["environment"]["kernel"]
    assert facts["cmdline"] == header["environment"]["cmdline"][:1024]


def test_reports_satisfy_the_schema_of_kcidb(thrashlab, results):
    schema = pytest.importorskip("kcidb_io.schema", reason="kcidb-io is not installed")
    build = "--format", "kcidb", "--origin", "my_lab", "--build-id", "maestro:6a1f"
    report = json.loads(exported(thrashlab, results[0], *build, "--checkout-id", "maestro:1"))
    assert schema.V5_0.is_valid_exactly(report)
    assert schema.LATEST.is_compatible(report)
    tests = report["tests"]
    assert {test["status"] for test in tests} == {"DONE"}
    assert len({test["id"] for test in tests}) == len(tests)
    delays = [test for test in tests if test["path"].endswith("delay_ns")]
    assert {test["number"]["unit"] for test in delays} == {"s"}
    again = json.loads(exported(thrashlab, results[0], *build, "--checkout-id", "maestro:1"))
    assert again == report


def test_benchstat_compares_two_runs(thrashlab, results, tmp_path):
    for folder in results:
        exported(thrashlab, folder, "--format", "go", "-o", f"{folder.name}.txt")
    # What is exported is read back: one line a run.
    answer = thrashlab("compare", "before.txt", "after.txt", "--json")
    assert answer.returncode == 0, answer.stderr
    cells = json.loads(answer.stdout)["cells"]
    assert {cell["levels"]["benchmark"] for cell in cells} == {"Response"}
    assert {cell["levels"]["load"] for cell in cells} == {"noload", "cpuload"}
    answer = run_of("benchstat", "before.txt", "after.txt", cwd=tmp_path)
    assert answer.returncode == 0, answer.stderr
    assert "vs base" in answer.stdout
    rows = [line for line in answer.stdout.splitlines() if line.startswith("Response/load=")]
    assert len(rows) >= 2


def test_an_export_of_hyperfine_is_compared(thrashlab, tmp_path):
    for name in "old.json", "new.json":
        answer = run_of(
            *("hyperfine", "-N", "--runs", 8, "--export-json", name, "sleep 0.01", "sleep 0.1"),
            cwd=tmp_path,
        )
        assert answer.returncode == 0, answer.stderr
    answer = thrashlab("compare", "old.json", "--json")
    assert answer.returncode == 0, answer.stderr
    [cell] = json.loads(answer.stdout)["cells"]
    assert "judged" in cell["outcome"]
    times = [entry["times"] for entry in json.loads((tmp_path / "old.json").read_text())["results"]]
    assert [cell["first"]["values"], cell["second"]["values"]] == times
    answer = thrashlab("compare", "old.json", "new.json", "--json")
    assert answer.returncode == 0, answer.stderr
    cells = json.loads(answer.stdout)["cells"]
    assert [cell["levels"]["command"] for cell in cells] == ["sleep 0.01", "sleep 0.1"]
    assert all("judged" in cell["outcome"] for cell in cells)


def test_delays_of_cyclictest_are_all_there(thrashlab, tmp_path):
    answer = run_of(
        *("cyclictest", "--json=delays.json", "-q", "-t", 1, "-i", 1000, "-l", 200, "-h", 100000),
        cwd=tmp_path,
    )
    if answer.returncode != 0:
        pytest.skip("cyclictest cannot run here")
    thread = json.loads((tmp_path / "delays.json").read_text())["thread"]["0"]
    answer = thrashlab("show", "delays.json", "--json")
    assert answer.returncode == 0, answer.stderr
    [trial] = json.loads(answer.stdout)["trials"]
    [values] = trial["values"]
    assert len(values["samples"]) == thread["cycles"]
    assert max(values["samples"]) == 1000 * thread["max"]
    assert min(values["samples"]) == 1000 * thread["min"]
    buckets = {int(bucket): count for bucket, count in thread["histogram"].items()}
    found = {bucket: values["samples"].count(1000 * bucket) for bucket in buckets}
    assert found == buckets


def test_counts_of_perf_are_taken_run_by_run(thrashlab, tmp_path):
    for _ in range(3):
        answer = run_of(
            *("perf", "stat", "-j", "--append", "-o", "counts.json", "-e", "page-faults", "true"),
            cwd=tmp_path,
        )
        if answer.returncode != 0:
            pytest.skip("perf cannot count here")
    written = [
        float(json.loads(line)["counter-value"])
        for line in (tmp_path / "counts.json").read_text().splitlines()
        if line.startswith("{")
    ]
    answer = thrashlab("show", "counts.json", "--json")
    assert answer.returncode == 0, answer.stderr
    trials = json.loads(answer.stdout)["trials"]
    assert [trial["values"][0]["samples"] for trial in trials] == [[value] for value in written]
