"""What measures: runs, experiments, sweeps, searches, and the doctor. Each is a command."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ._binary import Progress, answer, answers, one
from .folders import data_folder
from .frame import Results, load

Names = str | Sequence[str]
Seeds = int | str | Sequence[int]
_NUMBERS = count(1)


class Measured(Mapping[str, Any]):
    """What a command that measures answers, and where its run files are.

    A mapping of what the command prints as JSON. It can be used in place of its folder wherever a path is
    expected: `compare(before, after)`, `load(measured)`.
    """

    def __init__(self, summary: dict[str, Any], folder: Path) -> None:
        #: What the command printed.
        self.summary = summary
        #: The folder of the run files.
        self.folder = folder

    def __getitem__(self, key: str) -> Any:
        return self.summary[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.summary)

    def __len__(self) -> int:
        return len(self.summary)

    def __fspath__(self) -> str:
        return str(self.folder)

    def __repr__(self) -> str:
        return f"<Measured: {', '.join(self.summary)}; run files in {self.folder}>"

    def load(self) -> Results:
        """The run files as tables."""
        return load(self.folder)


def run(
    load: Names | None = None,
    *,
    subject: str | None = None,
    probe: str | None = None,
    job: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    seeds: Seeds | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Measures how a trivial interaction responds under each load, against no load.

    `settings` are the command's `--set`; further options are those of `thrashlab run`, such as
    `quick=True`, `points=5`, `interval="1s"`.
    """
    folder = _folder(output, job.partition(":")[0] if job else probe or "response")
    asked: dict[str, Any] = {
        "load": load,
        "subject": subject,
        "probe": probe,
        "job": job,
        "set": settings,
    }
    summary = answer(
        ["run"],
        progress=progress,
        events=True,
        output=folder,
        seeds=_seeds(seeds),
        **asked,
        **options,
    )
    return Measured(summary, folder)


def experiment(
    plan: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    seeds: Seeds | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Carries out a plan, the path of one or its text; a stopped one is resumed.

    Further options are those of `thrashlab experiment`. Without `output` the runs are not kept
    under the plan's name, as those of the command are, but in a folder of their own.
    """
    folder = _folder(output, "experiment")
    with _plan(plan) as path:
        summary = answer(
            ["experiment", path],
            progress=progress,
            events=True,
            output=folder,
            seeds=_seeds(seeds),
            **options,
        )
    return Measured(summary, folder)


def sweep(
    what: str | os.PathLike[str],
    range: str | tuple[Any, Any] | None = None,
    *,
    over: str | None = None,
    subject: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Measures the cost of work over a range of one parameter: curve, knee, and what changes there.

    `what` is a job, a probe, a load, or a plan; `range` is `"2M..96M"` or two ends. Further
    options are those of `thrashlab sweep`.
    """
    ends = range if isinstance(range, str) or range is None else f"{range[0]}..{range[1]}"
    folder = _folder(output, "sweep")
    asked: dict[str, Any] = {"range": ends, "over": over, "subject": subject, "set": settings}
    with _plan(what) as path:
        summary = answer(
            ["sweep", path], progress=progress, events=True, output=folder, **asked, **options
        )
    return Measured(summary, folder)


def bisect(
    plan: str | os.PathLike[str] | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Finds the step of an ordered axis at which something changed.

    The steps are the levels of a plan, or those of `run=COMMAND` with `values=[…]` or `range=…`.
    Further options are those of `thrashlab bisect`.
    """
    folder = _folder(output, "bisect")
    with _plan(plan) as path:
        command = ["bisect", *([path] if path else [])]
        summary = answer(command, progress=progress, events=True, output=folder, **options)
    return Measured(summary, folder)


def doctor(
    watch: str | None = None,
    *,
    source: str | os.PathLike[str] | None = None,
    replay: str | os.PathLike[str] | None = None,
    progress: Progress = False,
    **options: Any,
) -> Any:
    """Reports what this machine loses its time to, after watching it for a time such as `"5s"`.

    `source` are runs or published counters instead (`--from`), `replay` is a recording. Further
    options are those of `thrashlab doctor`. Of several runs the answer is a list, a diagnosis each.
    """
    asked: dict[str, Any] = {"for": watch, "from": source, "replay": replay}
    found = answers(["doctor"], progress=progress, **asked, **options)
    return found[0] if len(found) == 1 else found


def _folder(output: str | os.PathLike[str] | None, name: str) -> Path:
    """The folder that was named, or a new one where the command makes them too."""
    if output is not None:
        return Path(output)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return data_folder() / f"{stamp}-{name}-{os.getpid()}-{next(_NUMBERS)}"


def _seeds(seeds: Seeds | None) -> str | None:
    """Seeds as the command line has them; one number is that seed."""
    if seeds is None or isinstance(seeds, str):
        return seeds
    if isinstance(seeds, int):
        return f"{seeds}..{seeds}"
    if len(seeds) == 1:
        return f"{seeds[0]}..{seeds[0]}"
    return one(seeds)


@contextmanager
def _plan(plan: str | os.PathLike[str] | None) -> Iterator[str]:
    """The path of a plan; one that is a text is written down for as long as it is needed."""
    if not isinstance(plan, str) or "\n" not in plan:
        yield "" if plan is None else os.fspath(plan)
        return
    with tempfile.TemporaryDirectory(prefix="thrashlab-") as folder:
        path = Path(folder) / "plan.toml"
        path.write_text(plan)
        yield str(path)
