"""What measures: runs, experiments, sweeps, searches, and the doctor. Each is a command."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ._binary import Progress, answer, answers, call, one
from .errors import WrongUse
from .folders import data_folder
from .frame import Results, load
from .shown import Answer, Chart

Names = str | Sequence[str]
Seeds = int | str | Sequence[int]
#: The words of a command, or a command line as it would be typed in a shell.
Command = str | Sequence[str | os.PathLike[str]]
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

    def _repr_markdown_(self) -> str:
        """What a notebook shows: the result as the command prints it."""
        shown = self.summary.markdown if isinstance(self.summary, Answer) else ""
        return f"{shown}\n\nRun files: `{self.folder}`\n"

    def load(self) -> Results:
        """The run files as tables."""
        return load(self.folder)

    def charts(self) -> dict[str, Chart]:
        """The charts of its report as Vega-Lite specifications, by name.

        A notebook draws one: `measured.charts()["commands"]`, and
        `altair.Chart.from_dict(measured.charts()["commands"])` makes it one of altair.
        """
        said = call(["report", str(self.folder), "--format", "vega", "--output", "-"], False)
        return {name: Chart(chart) for name, chart in json.loads(said).items()}


def run(
    command: Command | Mapping[str, Command] | None = None,
    *,
    load: Names | None = None,
    subject: str | None = None,
    probe: str | None = None,
    job: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    seeds: Seeds | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Measures how long a command takes, or without one how a trivial interaction responds.

    `command` is the command's words or its line; of a mapping, by name, all are timed in turn and
    compared with the first. `settings` are the command's `--set`; further options are those of
    `thrashlab run`, such as `runs=5`, `prepare="make clean"`, `quick=True`, `interval="1s"`.
    A command that fails is a result: the `failed` and `failure` of its row.
    """
    measure = "command" if command else job.partition(":")[0] if job else probe or "response"
    folder = _folder(output, measure)
    asked: dict[str, Any] = {
        "load": load,
        "subject": subject,
        "probe": probe,
        "job": job,
        "set": settings,
    }
    named, words = ([], _words(command)) if not isinstance(command, Mapping) else (_named(command), [])
    summary = answer(
        ["run", *named],
        progress=progress,
        fine=(0, 1) if command else (0,),
        events=True,
        words=words,
        output=folder,
        seeds=_seeds(seeds),
        **asked,
        **options,
    )
    return Measured(summary, folder)


def ab(
    factor: str,
    a: Any,
    b: Any,
    command: Command | None = None,
    *,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Compares two levels of one factor by turns until it is certain how they differ.

    `ab("command", "./old", "./new")`, `ab("sysctl.vm.swappiness", 60, 10, ["./bench"])`. Further
    options are those of `thrashlab ab`, such as `load="cpuload"`, `margin="5%"`, `max_blocks=20`.
    The verdict is in the `cells` of the answer's `comparison`.
    """
    folder = _folder(output, "ab")
    summary = answer(
        ["ab", factor, _level(a), _level(b)],
        progress=progress,
        fine=(0, 1),
        events=True,
        words=_words(command),
        output=folder,
        set=settings,
        **options,
    )
    return Measured(summary, folder)


def limit(
    command: Command | None = None,
    *,
    job: str | None = None,
    price: float | str | None = None,
    over: str | None = None,
    settings: Mapping[str, Any] | None = None,
    output: str | os.PathLike[str] | None = None,
    progress: Progress = True,
    **options: Any,
) -> Measured:
    """Finds the limit of memory, or of `over`, at which a command or a job gets slower, and dies.

    `price` is the acceptable extra cost: `"5%"`, or 0.05. Further options are those of
    `thrashlab limit`, such as `budget=12`.
    """
    folder = _folder(output, "limit")
    asked: dict[str, Any] = {
        "job": job,
        "price": f"{price * 100:g}%" if isinstance(price, float) else price,
        "over": over,
        "set": settings,
    }
    summary = answer(
        ["limit"],
        progress=progress,
        events=True,
        words=_words(command),
        output=folder,
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
    return Answer(found[0], found.markdown) if len(found) == 1 else found


def _words(command: Command | None) -> list[str]:
    """A command as it follows `--`: its words, or its line as one."""
    if command is None:
        return []
    words = [command] if isinstance(command, str) else [os.fspath(word) for word in command]
    if not any(words):
        raise WrongUse(f"{command!r} is not a command")
    return words


def _line(command: Command) -> str:
    return command if isinstance(command, str) else shlex.join(_words(command))


def _named(commands: Mapping[str, Command]) -> list[str]:
    """Several commands, by name, as options."""
    if not commands:
        raise WrongUse("run: no command is named")
    pairs = commands.items()
    return [word for name, it in pairs for word in (f"--command={_line(it)}", f"--name={name}")]


def _level(level: Any) -> str:
    """A level of a factor; a sequence is the words of a command."""
    return _line(level) if isinstance(level, Sequence) else str(level)


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
