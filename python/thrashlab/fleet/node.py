"""What a node of a fleet does: fetch what it lacks, make cells, put them into the store.

This module travels to the nodes by value: they need Ray and fsspec, but not this package.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fsspec
import ray
from fsspec.implementations.local import LocalFileSystem

CELL_SUFFIX = ".run.jsonl"
CHUNK_BYTES = 1 << 20
# Zeros in the memory of a booted machine become holes of this size.
HOLE_BYTES = 1 << 16
# What no cell has needed for this long is removed from a node's folder.
UNUSED_S = 7 * 86_400


@dataclass(frozen=True)
class Job:
    """What all cells of an experiment have in common."""

    # The store: a folder that all nodes see, or a URL that fsspec knows, and its options there.
    store: str
    options: dict[str, Any]
    # Hash of the thrashlab program.
    program: str
    # The files of each booted machine: their hashes by their names.
    machines: dict[str, dict[str, str]] = field(default_factory=dict)
    # Where nodes keep what they fetched, and cells in the making.
    folder: str = ""
    # Whether cells that are in the store are run again.
    anew: bool = False
    # How long a guest may be silent, as `thrashlab cells` takes it.
    wall_limit: str | None = None


class Store:
    """Finished cells and the files that they need, each under its hash."""

    def __init__(self, url: str, options: dict[str, Any]):
        self.fs, self.root = fsspec.core.url_to_fs(url, **options)
        self.is_local = isinstance(self.fs, LocalFileSystem)

    def cell(self, key: str) -> str:
        """Where a cell is."""
        return f"{self.root}/cells/{key}{CELL_SUFFIX}"

    def blob(self, digest: str) -> str:
        """Where a file is, compressed."""
        return f"{self.root}/blobs/{digest}.zz"

    def cells(self) -> set[str]:
        """The keys of all cells in the store."""
        self.fs.invalidate_cache()
        try:
            found = self.fs.ls(f"{self.root}/cells", detail=False)
        except FileNotFoundError:
            return set()
        names = (path.rpartition("/")[2] for path in found)
        return {name.removesuffix(CELL_SUFFIX) for name in names if name.endswith(CELL_SUFFIX)}

    def put(self, path: str, chunks: Iterable[bytes]) -> None:
        """Writes a file completely or not at all, even if other processes write it, too."""
        if not self.is_local:
            # Object stores show an object when it is closed. Where a file system does not, a cell
            # that was cut off has no checksum and is run again.
            with self.fs.open(path, "wb") as file:
                file.writelines(chunks)
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        folder, name = os.path.split(path)
        part, part_path = tempfile.mkstemp(prefix=f"{name}.", suffix=".part", dir=folder)
        try:
            with open(part, "wb") as file:
                file.writelines(chunks)
            # mkstemp's are readable by nobody else.
            os.chmod(part_path, 0o666 & ~umask())
            os.replace(part_path, path)
        except BaseException:
            os.unlink(part_path)
            raise

    def put_file(self, path: Path) -> str:
        """Stores a file unless it is stored already; returns its hash."""
        digest = sha256(path)
        if not self.fs.exists(self.blob(digest)):
            self.put(self.blob(digest), compressed(path))
        return digest

    def chunks(self, digest: str) -> Iterator[bytes]:
        """The content of a file."""
        inflate = zlib.decompressobj()
        with self.fs.open(self.blob(digest), "rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                while chunk:
                    yield inflate.decompress(chunk, CHUNK_BYTES)
                    chunk = inflate.unconsumed_tail
        yield inflate.flush()


def umask() -> int:
    """The permissions that new files do not get."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sha256(path: Path) -> str:
    """The hash of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def compressed(path: Path) -> Iterator[bytes]:
    """The content of a file, compressed: most of a booted machine's memory is zeros."""
    deflate = zlib.compressobj(level=1)
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield deflate.compress(chunk)
    yield deflate.flush()


class NodeFolder:
    """What a node has fetched: files by their hash, and machines built from them.

    Several workers of a node use it at a time; each file is fetched by one of them.
    """

    def __init__(self, folder: str):
        # A folder that is named may hold files of others, and be common to several nodes.
        name = f"thrashlab-fleet-{os.getuid()}"
        name = f"{name}-{socket.gethostname()}" if folder else name
        self.path = Path(folder or tempfile.gettempdir()) / name
        for part in (self.path, self.path / "blobs", self.path / "machines"):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        facts = os.lstat(self.path)
        if facts.st_uid != os.getuid() or facts.st_mode & 0o022:
            raise PermissionError(f"{self.path} can be written by others; name another work_dir")

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among the workers of this node."""
        with open(self.path / "lock", "a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def file(self, digest: str, store: Store, fetched: list[str]) -> Path:
        """A file, fetched if it is not here."""
        path = self.path / "blobs" / digest
        with self.locked():
            if path.exists():
                os.utime(path)
                return path
            self.tidy()
            part = path.with_suffix(".part")
            if write_checked(part, store.chunks(digest)) != digest:
                raise OSError(f"{store.blob(digest)} is damaged; remove it and start again")
            part.chmod(0o700)
            part.rename(path)
        fetched.append(digest)
        return path

    def machine(self, key: str, files: dict[str, str], store: Store, fetched: list[str]) -> None:
        """A booted machine: a folder with its files."""
        folder = self.path / "machines" / key
        found = {name: self.file(digest, store, fetched) for name, digest in files.items()}
        with self.locked():
            if folder.exists():
                return
            part = folder.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            for name, path in found.items():
                os.link(path, part / name)
            part.rename(folder)

    def tidy(self) -> None:
        """Removes files that have not been used for long, and machines built from them."""
        limit = time.time() - UNUSED_S
        for path in (self.path / "blobs").iterdir():
            if path.stat().st_mtime < limit:
                path.unlink()
        for folder in self.path.glob("cells-*"):
            # A worker that was killed left it.
            if folder.stat().st_mtime < limit:
                shutil.rmtree(folder, ignore_errors=True)
        for folder in (self.path / "machines").iterdir():
            if all(path.stat().st_nlink == 1 for path in folder.iterdir()):
                shutil.rmtree(folder, ignore_errors=True)


def write_checked(path: Path, chunks: Iterable[bytes]) -> str:
    """Writes a file with holes for zeros; the hash of what it holds."""
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for chunk in chunks:
            digest.update(chunk)
            for start in range(0, len(chunk), HOLE_BYTES):
                piece = chunk[start : start + HOLE_BYTES]
                if piece.strip(b"\0"):
                    file.write(piece)
                else:
                    file.seek(len(piece), os.SEEK_CUR)
        file.truncate(file.tell())
    return digest.hexdigest()


def make(job: Job, lines: list[str]) -> dict[str, Any]:
    """Makes the cells of a part of a list, each of which is in the store as soon as it is finished.

    The result of each, what was fetched, where, and why the node stopped, if it did.
    """
    told = {"made": [], "fetched": [], "node": node_name(), "node_id": node_id(), "problem": None}
    try:
        make_into(told, job, lines)
    except Exception as error:
        # A full disk, no QEMU, no way to the store: another node may be better off.
        told["problem"] = f"{type(error).__name__}: {error}"
    return told


def make_into(told: dict[str, Any], job: Job, lines: list[str]) -> None:
    """Runs the cells, and adds their results as they arrive."""
    made, fetched = told["made"], told["fetched"]
    store, node = Store(job.store, job.options), NodeFolder(job.folder)
    listed = [json.loads(line) for line in lines]
    cells = [line for line in listed if line["kind"] == "cell"]
    if not job.anew:
        # A worker that died had put some of them there already.
        there = {cell["key"] for cell in cells if store.fs.exists(store.cell(cell["key"]))}
        made.extend({"key": key, "status": "complete", "cached": True} for key in sorted(there))
        keep = [line.get("key") not in there or line["kind"] == "machine" for line in listed]
        lines = [line for line, kept in zip(lines, keep) if kept]
    if len(made) < len(cells):
        program = node.file(job.program, store, fetched)
        for line in listed:
            if line["kind"] == "machine":
                node.machine(line["key"], job.machines[line["key"]], store, fetched)
        limit = ["--wall-limit", job.wall_limit] if job.wall_limit else []
        command = [program, "cells", "--with-parent", *limit]
        made.extend(started(command, node, store, lines))


def node_id() -> str:
    """What Ray calls this node."""
    return ray.get_runtime_context().get_node_id()


def node_name() -> str:
    """This node as people know it: its host, and the beginning of what Ray calls it."""
    return f"{socket.gethostname()}-{node_id()[:8]}"


def started(
    command: list, node: NodeFolder, store: Store, lines: list[str]
) -> Iterator[dict[str, Any]]:
    """Starts a command on a list, and puts into the store what it finishes."""
    with tempfile.TemporaryDirectory(prefix="cells-", dir=node.path) as folder:
        here = Path(folder)
        (here / "list").write_text("".join(line + "\n" for line in lines))
        with open(here / "list") as given, open(here / "errors", "w") as errors:
            process = subprocess.Popen(
                [*command, here / "cells", "--machines", node.path / "machines"],
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        with process:
            for line in process.stdout:
                cell = json.loads(line)
                if cell.get("status") == "complete":
                    content = (here / "cells" / f"{cell['key']}{CELL_SUFFIX}").read_bytes()
                    store.put(store.cell(cell["key"]), [content])
                yield cell
        if process.returncode != 0:
            said = (here / "errors").read_text().strip()
            raise RuntimeError(f"thrashlab cells ended with {process.returncode}: {said}")
