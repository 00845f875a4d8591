"""Run files as an agent writes them (docs/run-format.md), made up from a seed."""

import json
import random
from pathlib import Path

from blake3 import blake3

MS = 1_000_000
# How much longer a response takes under a load, and what of it is spent waiting for a disk.
LOADS = {
    "noload": (1.0, 0.0),
    "cpuload": (2.5, 0.1),
    "largewrite": (14.0, 0.8),
    "2ctx-mem": (40.0, 0.6),
}


def header(run_id: str, load: str, seed: int, kernel: str) -> dict:
    """The first line of a run."""
    return {
        "kind": "header",
        "schema": 1,
        "run_id": run_id,
        "thrashlab": "0.1.0",
        "started_unix_ns": 1_700_000_000_000_000_000 + seed * 10**9,
        "spec": {
            "subject": {"kind": "sandbox", "memory_bytes": 512 << 20},
            "load": {
                "name": load,
                "version": 1,
                "intensity": float(load != "noload"),
                "params": {},
            },
            "probe": {"name": "response", "version": 1, "params": {}},
            "timing": {
                "profile": "quick",
                "interval_ns": 500 * MS,
                "points": 10,
                "warmup_ns": 3000 * MS,
                "timeout_ns": 5000 * MS,
            },
            "seed": seed,
            "block": 0,
            "order": 0,
        },
        "environment": {"kernel": kernel, "memory_bytes": str(8 << 30), "swap_bytes": "0"},
        "missed": [],
    }


def counters(wait_ns: int, io_ns: int, user_ns: int, at_ms: int, load: str) -> dict:
    """What the kernel had counted at a given time."""
    busy = 0 if load == "noload" else 700
    return {
        "rusage": {"user_ns": user_ns, "system_ns": 0, "minor_faults": 10, "major_faults": 0},
        "schedstat": {"run_ns": user_ns, "wait_ns": wait_ns, "timeslices": 1},
        "taskstats": {"blkio_delay_total_ns": io_ns, "swapin_delay_total_ns": 0},
        "psi": {
            "memory_some_us": at_ms * busy,
            "io_some_us": at_ms * busy // 2,
            "cpu_some_us": at_ms * 100,
        },
        "vmstat": {
            "pgmajfault": at_ms * busy // 10,
            "pswpin": at_ms * busy // 20,
            "pswpout": at_ms * busy // 20,
            "pgpgin": at_ms * busy // 5,
            "pgpgout": at_ms * busy // 5,
            "workingset_refault_anon": at_ms * busy // 20,
            "workingset_refault_file": 0,
        },
        "stat": {"ctxt": at_ms * 3},
        "meminfo": {"MemAvailable_kb": 4_000_000 - at_ms * busy},
    }


def run(run_id: str, load: str, seed: int, kernel: str, slower: float, samples: int) -> str:
    """A whole run."""
    chance = random.Random(f"{run_id} {seed}")
    factor, io_part = LOADS[load]
    lines = [header(run_id, load, seed, kernel), {"kind": "phase", "at_ns": MS, "phase": "warm"}]
    lines.append({"kind": "phase", "at_ns": 2 * MS, "phase": "measuring"})
    wait_ns = io_ns = user_ns = 0
    for index in range(samples):
        intended_ms = 10 + 500 * index
        delay_ns = int(5 * MS * factor * slower * chance.lognormvariate(0, 0.25))
        before = counters(wait_ns, io_ns, user_ns, intended_ms, load)
        user_ns += 4 * MS
        rest_ns = max(0, delay_ns - 4 * MS)
        io_ns += int(io_part * rest_ns)
        wait_ns += int((1 - io_part) * rest_ns)
        done_ns = intended_ms * MS + delay_ns
        after_ms = done_ns // MS + 1
        lines.append(
            {
                "kind": "sample",
                "at_ns": after_ms * MS,
                "index": index,
                "intended_ns": intended_ms * MS,
                "started_ns": intended_ms * MS,
                "completed_ns": done_ns,
                "before": before,
                "after": counters(wait_ns, io_ns, user_ns, after_ms, load),
            }
        )
    end_ns = (20 + 500 * samples) * MS
    lines.append({"kind": "phase", "at_ns": end_ns, "phase": "stopped"})
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    end = {
        "kind": "end",
        "at_ns": end_ns,
        "status": "complete",
        "blake3": blake3(text.encode()).hexdigest(),
    }
    return text + json.dumps(end, separators=(",", ":")) + "\n"


def job_run(run_id: str, load: str, seed: int, job: dict, lines: list[dict]) -> str:
    """A run of a job whose lines are known."""
    first = header(run_id, load, seed, "6.1.0")
    del first["spec"]["probe"]
    first["spec"]["job"] = {"version": 1, "params": {}, "choices": {}, **job}
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in [first, *lines])
    checksum = blake3(text.encode()).hexdigest()
    end = {"kind": "end", "at_ns": 10**10, "status": "complete", "blake3": checksum}
    return text + json.dumps(end, separators=(",", ":")) + "\n"


def session(load: str, seed: int) -> str:
    """Three users who edit, compile and list, three times each."""
    times_ms = {"edit": 20, "compile": 400, "list": 7}
    script = {
        "name": "small",
        "version": 1,
        "users": 3,
        "think_ns": 1,
        "limit_ns": 10**10,
        "tools": "system",
        "commands": [{"name": name, "run": ["true"]} for name in times_ms],
    }
    chance = random.Random(f"{load} {seed}")
    lines = []
    for number in range(27):
        item = list(times_ms)[number % 3]
        time_ns = int(times_ms[item] * MS * LOADS[load][0] * chance.lognormvariate(0, 0.3))
        lines.append(
            {
                "kind": "work",
                "at_ns": 5 * MS + time_ns,
                "worker": number // 3 % 3,
                "pass": number // 9,
                "item": item,
                "started_ns": 5 * MS,
                "completed_ns": 5 * MS + time_ns,
                "usage": {"user_ns": MS, "system_ns": 0},
            }
        )
    return job_run(f"session-{load}", load, seed, {"name": "session", "script": script}, lines)


def vmtest(load: str, seed: int) -> str:
    """Passes through memory, the first of them dear."""
    chance = random.Random(f"{load} {seed}")
    cost_ns = 10 * LOADS[load][0]
    lines = []
    for number in range(12):
        factor = 8 if number == 0 else chance.lognormvariate(0, 0.02)
        lines.append(
            {
                "kind": "pass",
                "at_ns": number,
                "worker": 0,
                "pass": number,
                "started_ns": 0,
                "completed_ns": int(cost_ns * factor * MS),
                "usage": {"touches": MS},
            }
        )
    job = {"name": "vmtest", "params": {"size": 16 << 20, "process_size": 2 << 20}}
    return job_run(f"vmtest-{load}-{seed}", load, seed, job, lines)


def jobs(path: Path) -> Path:
    """A results folder of jobs: a session and work on memory, without a load and under one."""
    path.mkdir()
    for load in ["noload", "cpuload"]:
        (path / f"session-{load}.run.jsonl").write_text(session(load, 1))
        for seed in [1, 2]:
            (path / f"vmtest-{load}-{seed}.run.jsonl").write_text(vmtest(load, seed))
    return path


def folder(
    path: Path, kernel: str = "6.1.0", slower: float = 1.0, seeds: int = 4, samples: int = 10
) -> Path:
    """A results folder: every load with every seed."""
    path.mkdir()
    for seed in range(1, seeds + 1):
        for number, load in enumerate(LOADS, 1):
            run_id = f"{number:03}-{load}-seed{seed}"
            text = run(run_id, load, seed, kernel, slower, samples)
            (path / f"{run_id}.run.jsonl").write_text(text)
    return path


def experiment(path: Path, cells: list[str], seeds: int) -> Path:
    """An experiment of one factor, with all loads and seeds in each of its cells."""
    path.mkdir()
    runs = []
    for place, cell in enumerate(cells):
        for seed in range(1, seeds + 1):
            for load in LOADS:
                run_id = f"{cell}-{load}-seed{seed}"
                text = run(run_id, load, seed, cell, 1 + 0.3 * place, 5)
                (path / f"{run_id}.run.jsonl").write_text(text)
                levels = {"kernel": cell, "load": load}
                runs.append({"run_id": run_id, "levels": levels, "block": seed % 5, "seed": seed})
    factors = [{"name": "kernel", "levels": cells}, {"name": "load", "levels": list(LOADS)}]
    manifest = {
        "schema": 1,
        "thrashlab": "0.1.0",
        "name": "large",
        "factors": factors,
        "responses": ["delay_ns"],
        "aliases": [],
        "runs": runs,
        "plan": 'name = "large"\n',
    }
    (path / "experiment.json").write_text(json.dumps(manifest))
    return path
