"""Builds the wheel: first the program, exactly as `make build` does, then all else with maturin.

A backend of PEP 517 in the tree. The program goes into the package, because whatever
measures runs processes of it. Everything is built in the checkout's `target`, so nothing is built
twice.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

import maturin

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "target/release/thrashlab"
SHIPPED = ROOT / "python/thrashlab/bin/thrashlab"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the program and the wheel that contains it."""
    build_program()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """Builds the program and a wheel that points into this checkout."""
    build_program()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    """Packs all files of the checkout, which are what the program and the wheel are built of."""
    find_tools()
    return maturin.build_sdist(sdist_directory, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """Writes the metadata of the wheel, so that pip need not build it for them."""
    find_tools()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel


def build_program():
    """Puts the program into the package: the one that THRASHLAB_SHIPPED names, else a new one."""
    find_tools()
    os.environ["CARGO_TARGET_DIR"] = str(ROOT / "target")
    built = os.environ.get("THRASHLAB_SHIPPED")
    if built is None:
        make_program()
    ship(ROOT / built if built else BUILT)


def make_program():
    """Builds the program as `make build` does."""
    if shutil.which("make") is None:
        raise SystemExit("make is missing, which builds the program. Next step: install make")
    # make prints where cargo prints; standard output is for the caller of this.
    made = subprocess.run(
        ["make", "--no-print-directory", "binary"], cwd=ROOT, check=False, stdout=2
    )
    if made.returncode != 0:
        raise SystemExit("the program could not be built. Next step: make build, which prints why")


def ship(built):
    """Puts a program into the package."""
    SHIPPED.parent.mkdir(exist_ok=True)
    # Another file under the old name: the old one may be running.
    draft = SHIPPED.with_suffix(".new")
    shutil.copy(built, draft)
    draft.replace(SHIPPED)


def find_tools():
    """Finds maturin next to this Python, and a toolchain that rustup installed where its line of
    PATH has not been read."""
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    places = [sysconfig.get_path("scripts"), f"{home}/bin", os.environ.get("PATH", os.defpath)]
    os.environ["PATH"] = os.pathsep.join(places)


get_requires_for_build_wheel = maturin.get_requires_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
get_requires_for_build_editable = maturin.get_requires_for_build_editable
