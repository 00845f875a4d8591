"""The native part of thrashlab."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

class Frame:
    """A table in Arrow's memory layout."""

    @property
    def column_names(self) -> list[str]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

def load(paths: list[Path], threads: int) -> dict[str, Frame]: ...
def curve(
    references: NDArray[np.uint64],
    *,
    pages: bool,
    units: list[int],
    sets: list[int],
    ways: int,
    rate: float | None,
    keys: int | None,
    seed: int,
    window: int | None,
) -> tuple[str, dict[str, Frame]]: ...
