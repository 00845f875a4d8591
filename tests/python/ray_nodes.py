"""What the tests of fleets run on: a cluster of this machine, and cells that can be held."""

import atexit
import os
import shutil
import tempfile
import time
from pathlib import Path

from conftest import BINARY

# Before Ray is imported: no usage statistics are sent, and what belongs to all clusters of this user is
# written into a folder of this test's own. Its path is short, since it contains sockets.
RAY_FOLDER = tempfile.mkdtemp(prefix="tl-ray-", dir="/tmp")
atexit.register(shutil.rmtree, RAY_FOLDER, ignore_errors=True)
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_TMPDIR"] = RAY_FOLDER

# Far more than anything here takes on a busy machine.
LIMIT_S = 120

# Stands for thrashlab, and waits before it makes cells for as long as there is a file `hold`, but
# for the first ones, as many as are written in that file.
HELD = """#!/bin/sh
if [ "$1" = cells ]; then
    echo $$ > "{folder}/made-by-$$.part"
    mv "{folder}/made-by-$$.part" "{folder}/made-by-$$"
    for pass in $(cat "{folder}/hold" 2>/dev/null); do
        mkdir "{folder}/pass-$pass" 2>/dev/null && exec "{binary}" "$@"
    done
    while [ -e "{folder}/hold" ]; do
        kill -0 $PPID || exit 1
        sleep 0.05
    done
fi
exec "{binary}" "$@"
"""


class Nodes:
    """A cluster of three nodes of one CPU each; the first one stays."""

    def __init__(self):
        from ray.cluster_utils import Cluster

        size = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.2"}
        head = {**size, "include_dashboard": False, "temp_dir": f"{RAY_FOLDER}/ray"}
        self.cluster = Cluster(initialize_head=True, head_node_args=head)
        self.size = size

    @property
    def address(self):
        return self.cluster.address

    def fill(self):
        """Adds nodes until there are three."""
        while len(self.cluster.worker_nodes) < 2:
            self.cluster.add_node(wait=False, **self.size)
        self.cluster.wait_for_nodes(timeout=LIMIT_S)

    def node_of(self, pid):
        """The node other than the first one whose raylet is an ancestor of a process."""
        while pid > 1:
            for node in self.cluster.worker_nodes:
                if any(info.process.pid == pid for info in node.all_processes["raylet"]):
                    return node
            pid = parent(pid)
        return None

    def kill(self, node):
        self.cluster.remove_node(node, allow_graceful=False)

    def stop(self):
        import ray

        ray.shutdown()
        self.cluster.shutdown()


def parent(pid):
    """The parent of a process; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (FileNotFoundError, ProcessLookupError):  # it ends while it is read
        return 0


class Held:
    """thrashlab under another name, which a test can hold when it is about to make cells."""

    def __init__(self, folder):
        self.folder = folder
        self.program = folder / "held-thrashlab"
        self.program.write_text(HELD.format(folder=folder, binary=BINARY))
        self.program.chmod(0o755)

    def hold(self, passes):
        """Holds whoever makes cells from now on, but for the first ones."""
        draft = self.folder / "hold.part"
        draft.write_text(" ".join(map(str, range(passes))))
        draft.rename(self.folder / "hold")

    def release(self):
        (self.folder / "hold").unlink(missing_ok=True)

    def pids(self):
        """Those that were started and are still there."""
        pids = {int(path.name.split("-")[-1]) for path in self.folder.glob("made-by-*[0-9]")}
        return {pid for pid in pids if parent(pid)}


def until(condition, what):
    """Waits for a condition, and returns its result."""
    end = time.monotonic() + LIMIT_S
    while not (found := condition()):
        assert time.monotonic() < end, f"it never came to this: {what}"
        time.sleep(0.02)
    return found
