"""The folders of this user that thrashlab keeps things in (XDG Base Directory Specification)."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """The folder of what can be rebuilt."""
    return _own("XDG_CACHE_HOME", ".cache")


def data_folder() -> Path:
    """Results."""
    return _own("XDG_DATA_HOME", ".local/share")


def _own(variable: str, below_home: str) -> Path:
    named = os.environ.get(variable, "")
    return Path(named if os.path.isabs(named) else Path.home() / below_home) / "thrashlab"
