"""Fleets: a small Ray cluster of this machine makes what one machine makes, to the byte."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BINARY, NO_KERNEL, WORKSPACE
from ray_nodes import Held, Nodes, until

from thrashlab import fleet
from thrashlab.fleet.cells import LocalCells, Part
from thrashlab.fleet.cluster import Fleet, Settings
from thrashlab.fleet.node import NodeFolder, Store, compressed

SIMULATIONS = """
name = "simulations"
blocks = 3

[base]
subject = "mmu:machine=sparcstation1"
job = "vmtest"
vmtest.loops = 2
vmtest.size = "2M"

[[factor]]
name = "hat"
parameter = "mmu.hat"
levels = ["old", "new"]

[[factor]]
name = "size"
parameter = "vmtest.process_size"
levels = ["128K", "256K"]
"""

GUESTS = """
name = "guests"
seeds = [1]

[base]
subject = "vm:machine=micro,kernel={kernel}"
probe = "wake"
interval = "200ms"
points = 2
warmup = "200ms"

[[factor]]
name = "load"
parameter = "load"
levels = ["noload", "cpuload"]
"""

# Packages that lead to a small kernel, Debian's and Ubuntu's.
KERNELS = ("linux-image-cloud-amd64", "linux-image-amd64", "linux-image-virtual")

# Stands for thrashlab, records what it is asked to do, and makes cells only if no other does.
ALONE = """#!/bin/sh
echo "$@" >>"{folder}/commands"
[ "$1" = cells ] || exec "{binary}" "$@"
mkdir "{folder}/busy" || exit 1
"{binary}" "$@"
code=$?
rmdir "{folder}/busy"
exit $code
"""

# Stands for thrashlab where the disk is full, on the first node that makes cells.
SICK = """#!/bin/sh
if [ "$1" = cells ]; then
    raylet=$(sed 's/.*) //' /proc/$PPID/stat | cut -d' ' -f2)
    mkdir "{folder}/first" 2>/dev/null && echo $raylet > "{folder}/sick"
    until [ -e "{folder}/sick" ]; do sleep 0.05; done
    if [ $raylet = $(cat "{folder}/sick") ]; then
        echo x >> "{folder}/failed"
        echo "thrashlab: write: No space left on device" >&2
        exit 3
    fi
fi
exec "{binary}" "$@"
"""

# Stands for a Python that has all that a fleet needs, and tells what it was to do.
TOLD = """#!/bin/sh
[ "$1" = -c ] || echo "$@"
"""


@pytest.fixture(scope="module")
def nodes():
    nodes = Nodes()
    try:
        yield nodes
    finally:
        nodes.stop()


@pytest.fixture
def held(tmp_path):
    held = Held(tmp_path)
    yield held
    held.release()
    until(lambda: not held.pids(), "what a test had started is gone")


@pytest.fixture
def serial(tmp_path, thrashlab):
    """A plan, and what one machine makes of it."""
    plan = tmp_path / "plan.toml"
    plan.write_text(SIMULATIONS)
    made = thrashlab("experiment", plan, "--output", "serial", "--quiet")
    assert made.returncode == 0, made.stderr
    return files(tmp_path / "serial")


@pytest.fixture
def on_fleet(tmp_path):
    """`fleet.run` with the plan, a store and a node folder of the test's own."""

    def run(**options):
        options = {
            "out": tmp_path / "fleet",
            "store": str(tmp_path / "store"),
            "work_dir": tmp_path / "node",
            "program": BINARY,
            "batch": 1,
            **options,
        }
        return fleet.run(tmp_path / "plan.toml", **options)

    return run


def files(folder):
    """The files of a folder: the very bytes that count."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def node_folder(tmp_path):
    """What a node does with the folder that it is given."""
    return tmp_path / f"node/thrashlab-fleet-{os.getuid()}-{socket.gethostname()}"


def log(tmp_path):
    return [json.loads(line) for line in (tmp_path / "fleet.fleet.jsonl").read_text().splitlines()]


def test_a_node_that_dies_under_way_loses_nothing(tmp_path, nodes, held, serial, on_fleet):
    nodes.fill()
    killed = []

    def kill_one(state):
        if state.done == 0 or killed:
            return
        # All others are held, so the node has a cell in the making when it dies.
        node = until(lambda: next(filter(None, map(nodes.node_of, held.pids())), None), "a victim")
        nodes.kill(node)
        killed.append(state.done)
        held.release()

    held.hold(passes=2)
    folder = on_fleet(address=nodes.address, program=held.program, progress=kill_one)
    assert 0 < killed[0] < 12
    assert files(folder) == serial
    cells = log(tmp_path)
    assert sorted(cell["run_id"] for cell in cells) == sorted(
        name.removesuffix(".run.jsonl") for name in serial if name != "experiment.json"
    )
    assert {cell["status"] for cell in cells} == {"complete"}
    # All nodes are on this machine, so the program was fetched once.
    assert len(list((node_folder(tmp_path) / "blobs").iterdir())) == 1


def test_a_node_with_a_full_disk_is_left_out_and_told(tmp_path, nodes, serial, on_fleet):
    nodes.fill()
    sick = tmp_path / "sick-thrashlab"
    sick.write_text(SICK.format(folder=tmp_path, binary=BINARY))
    sick.chmod(0o755)
    states = []
    folder = on_fleet(address=nodes.address, program=sick, progress=states.append)
    assert files(folder) == serial
    assert {cell["status"] for cell in log(tmp_path)} == {"complete"}
    text = str(states[-1])
    assert text.startswith("12 of 12 cells")
    assert "was left out: RuntimeError: thrashlab cells ended with 3" in text
    assert "No space left on device" in text
    # It had no more parts than were under way when it was found out.
    assert 1 <= len((tmp_path / "failed").read_text().split()) <= 6


def test_a_node_folder_touches_nothing_of_others(tmp_path):
    for name in ("lock", "cells-of-mine", "blobs"):
        (tmp_path / name).mkdir() if name != "lock" else (tmp_path / name).write_text("4711")
    (tmp_path / "blobs/old").write_text("precious")
    for path in (tmp_path / "cells-of-mine", tmp_path / "blobs/old"):
        os.utime(path, (0, 0))
    node = NodeFolder(str(tmp_path))
    with node.locked():
        node.tidy()
    assert (tmp_path / "lock").read_text() == "4711"
    assert (tmp_path / "cells-of-mine").exists()
    assert (tmp_path / "blobs/old").read_text() == "precious"


def test_two_threads_that_put_the_same_file_do_not_disturb_each_other(tmp_path):
    store = Store(str(tmp_path / "store"), {})
    chunks = iter([b"a"])

    def interleaved():
        yield next(chunks)
        store.put(f"{tmp_path}/store/x", [b"ab"])
        yield b"b"

    store.put(f"{tmp_path}/store/x", interleaved())
    assert (tmp_path / "store/x").read_bytes() == b"ab"
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["x"]


def test_cells_that_are_made_twice_do_no_harm(tmp_path, nodes, serial, on_fleet):
    states = []
    folder = on_fleet(address=nodes.address, batch=5)
    assert files(folder) == serial
    shutil.rmtree(folder)
    assert files(on_fleet(address=nodes.address, resume=False, progress=states.append)) == serial
    cells = log(tmp_path)
    assert len(cells) == 24 and not any(cell["cached"] for cell in cells)
    assert states[-1].done == states[-1].total == 12
    # What is finished needs neither cluster nor node, nor does another folder.
    again = on_fleet(address="127.0.0.1:1", out=tmp_path / "again")
    assert files(again) == serial
    assert not list((tmp_path / "store/cells").glob("*.part"))


def test_a_killed_driver_is_gone_on_from(tmp_path, nodes, held, serial):
    store = tmp_path / "store"
    environment = {
        **os.environ,
        "THRASHLAB": str(held.program),
        "THRASHLAB_PYTHON": sys.executable,
    }
    command = [sys.executable, "-m", "thrashlab.fleet", tmp_path / "plan.toml", "--batch", "1"]
    command += ["--address", nodes.address, "--store", store, "--out", tmp_path / "fleet"]
    command += ["--work-dir", tmp_path / "node", "--quiet"]
    held.hold(passes=1)
    driver = subprocess.Popen(command, env=environment, cwd=tmp_path)
    try:
        until(lambda: list(store.glob("cells/*.run.jsonl")), "a finished cell")
        until(held.pids, "a cell in the making")
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    until(lambda: not held.pids(), "Ray ends what the driver had started")
    held.release()
    before = {path.name: path.stat().st_mtime_ns for path in store.glob("cells/*.run.jsonl")}
    assert 0 < len(before) < 12

    (tmp_path / "fleet.fleet.jsonl").unlink(missing_ok=True)
    command = [BINARY, "experiment", tmp_path / "plan.toml", "--fleet", nodes.address]
    command += ["--store", store, "--output", tmp_path / "fleet"]
    done = subprocess.run(
        command, check=False, env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert f"12 of 12 cells ({len(before)} already existed)" in done.stderr
    assert "cpu_ns" in done.stdout
    assert files(tmp_path / "fleet") == serial
    assert len(log(tmp_path)) == 12 - len(before)
    after = {path.name: path.stat().st_mtime_ns for path in store.glob("cells/*.run.jsonl")}
    assert after.items() >= before.items()


def test_limits_hold_on_the_nodes(tmp_path, nodes, serial, on_fleet):
    nodes.fill()
    alone = tmp_path / "alone-thrashlab"
    alone.write_text(ALONE.format(folder=tmp_path, binary=BINARY))
    alone.chmod(0o755)
    limits = {"jobs": 1, "wall_limit": "7m", "batch": 3}
    folder = on_fleet(address=nodes.address, program=alone, **limits)
    assert files(folder) == serial
    commands = (tmp_path / "commands").read_text().splitlines()
    of_nodes = [command for command in commands if command.startswith("cells ")]
    assert len(of_nodes) == 4
    assert all("--wall-limit 7m" in command for command in of_nodes)
    assert all(f" {node_folder(tmp_path)}/cells-" in command for command in of_nodes)
    of_driver = [command for command in commands if command.startswith("experiment ")]
    assert of_driver and len(of_driver) + len(of_nodes) == len(commands)
    assert all("--jobs=1 --wall-limit=7m" in command for command in of_driver)


def test_limits_are_handed_to_the_driver(tmp_path, thrashlab):
    (tmp_path / "plan.toml").write_text(SIMULATIONS)
    python = tmp_path / "python"
    python.write_text(TOLD)
    python.chmod(0o755)
    environment = {**os.environ, "THRASHLAB_PYTHON": str(python)}
    command = ["experiment", "plan.toml", "--fleet", "local", "--output", "out"]
    command += ["--jobs", "3", "--wall-limit", "7m", "--work-dir", "/scratch", "--blocks", "2"]
    told = thrashlab(*command, env=environment)
    assert told.returncode == 0, told.stderr
    expected = "-m thrashlab.fleet plan.toml --address local --out out"
    expected += " --jobs 3 --wall-limit 420s --work-dir /scratch -- --blocks 2"
    assert told.stdout.split() == expected.split()


def test_guests_travel_to_the_nodes(tmp_path, nodes, thrashlab, on_fleet):
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("QEMU is not installed")
    plan = tmp_path / "plan.toml"
    for package in KERNELS:
        plan.write_text(GUESTS.format(kernel=f"deb:{package}"))
        try:
            folder = on_fleet(address=nodes.address)
            break
        except fleet.FleetError as error:
            why = str(error)
            assert any(words in why for words in NO_KERNEL), why
    else:
        pytest.skip("no kernel package can be had here")
    assert {cell["cached"] for cell in log(tmp_path)} == {False}
    # A store that is empty: nothing is taken from the fleet's.
    made = thrashlab("experiment", plan, "--output", "serial", "--cells", "none", "--quiet")
    assert made.returncode == 0, made.stderr
    assert files(folder) == files(tmp_path / "serial")
    # The program, and of the machine its kernel, root, memory and devices.
    assert len(list((node_folder(tmp_path) / "blobs").iterdir())) == 5


def test_what_measures_a_host_is_refused_with_the_way_out(tmp_path, thrashlab, on_fleet):
    plan = SIMULATIONS.replace('"mmu:machine=sparcstation1"', '"host"').replace("mmu.hat", "load")
    (tmp_path / "plan.toml").write_text(plan.replace('["old", "new"]', '["noload", "cpuload"]'))
    refused = thrashlab("experiment", "plan.toml", "--fleet", "127.0.0.1:1", "--output", "fleet")
    assert refused.returncode == 2
    with pytest.raises(fleet.FleetError) as error:
        on_fleet(address="127.0.0.1:1")
    assert error.value.code == 2
    for text in (refused.stderr, str(error.value)):
        assert "measures the host" in text and 'subject = "ssh://HOST"' in text
    assert not (tmp_path / "fleet").exists() and not (tmp_path / "store").exists()


def test_what_a_fleet_lacks_is_named(tmp_path, thrashlab, serial, on_fleet):
    bare = tmp_path / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    for python, words in [(bare, "thrashlab, ray, fsspec"), (tmp_path / "none", "does not start")]:
        environment = {**os.environ, "THRASHLAB_PYTHON": str(python)}
        lacking = thrashlab("experiment", "plan.toml", "--fleet", "local", env=environment)
        assert lacking.returncode == 3
        assert words in lacking.stderr and "THRASHLAB_PYTHON" in lacking.stderr
    (tmp_path / "plan.toml").write_text("name = ")
    with pytest.raises(fleet.FleetError, match="plan.toml") as error:
        on_fleet()
    assert error.value.code == 2


def test_what_no_node_can_make_is_told_and_not_made_here(tmp_path):
    made = Fleet(None, Settings(str(tmp_path / "store")))
    guests = Part("machine")
    for key in ("a", "b", "c"):
        guests.add({"key": key, "run_id": f"01-{key}"}, "line")
    made.state = fleet.State(3, 0)
    made.count({"key": "a", "status": "complete"}, guests, "node")
    made.count({"key": "b", "status": "killed", "why": "panic"}, guests, "node")
    made.check()
    assert "1 of 3 cells, 1 nodes; 1 did not complete, such as 01-b: panic" in str(made.state)
    made.count({"key": "c", "why": "QEMU is another one"}, guests, "node")
    assert made.state.is_over
    with pytest.raises(fleet.FleetError, match="such as 01-c: QEMU is another one"):
        made.check()


def test_any_file_system_is_a_store(tmp_path):
    store = Store("memory://fleet", {})
    assert store.cells() == set()
    store.put(store.cell("k"), [b"a ", b"cell"])
    assert store.cells() == {"k"}
    with LocalCells(store, {"k", "not there"}) as folder:
        assert files(Path(folder)) == {"k.run.jsonl": b"a cell"}
    assert not Path(folder).exists()


def test_a_file_is_fetched_once_with_its_holes_and_never_damaged(tmp_path):
    memory = tmp_path / "memory"
    with open(memory, "wb") as file:
        file.write(b"begin")
        file.seek(3 << 20)
        file.write(b"end")
        file.truncate(5 << 20)
    store = Store(str(tmp_path / "store"), {})
    digest = store.put_file(memory)
    node, fetched = NodeFolder(str(tmp_path / "node")), []
    for _ in range(2):
        here = node.file(digest, store, fetched)
        assert here.read_bytes() == memory.read_bytes()
        assert here.stat().st_blocks * 512 < 1 << 20
    assert fetched == [digest]
    node.machine("m", {"memory": digest}, store, fetched)
    assert (node.path / "machines/m/memory").samefile(here)

    other = NodeFolder(str(tmp_path / "other"))
    Path(store.blob(digest)).write_bytes(b"".join(compressed(BINARY)))
    with pytest.raises(OSError, match="is damaged"):
        other.file(digest, store, [])
    assert not (other.path / "blobs" / digest).exists()
