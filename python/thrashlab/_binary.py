"""The program `thrashlab`, which comes with the package, as a process: whatever measures.

What the process prints on standard error is passed on while it runs; Ctrl-C reaches it, and is
raised here when it has cleaned up; its last words become the message of an exception.
"""

from __future__ import annotations

import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .errors import CouldNotMeasure, ThrashlabError, WrongUse
from .shown import Answer, Answers

BINARY = Path(__file__).parent / "bin" / "thrashlab"

#: What is shown of a program at work: everything on standard error, nothing, or each event (of a
#: command without events, each line) to a function.
Progress = bool | Callable[[Any], None]

WRONG_USE = 2
COULD_NOT_MEASURE = 3
INTERRUPTED = 130

#: How lines begin that may turn out to be the reason for the end.
_WORDS = ("thrashlab: ", "error: ")
#: How often it is looked whether the process has ended, while something else holds its pipes.
_LOOK_EVERY_S = 0.1
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Becomes the program: the console script `thrashlab`."""
    os.execv(BINARY, [str(BINARY), *sys.argv[1:]])


def answer(
    command: Sequence[str],
    *,
    progress: Progress = True,
    fine: tuple[int, ...] = (0,),
    text: str | None = None,
    events: bool = False,
    words: Sequence[str] = (),
    **options: Any,
) -> Any:
    """What a command answers as JSON. `text` is its standard input.

    `events` marks a command with events, which `progress` gets if it is a function. `words` follow
    `--`: a command of the user.
    """
    with _markdown() as (copy, markdown):
        asked = [*command, "--json", *copy, *arguments(options)]
        said = json.loads(call(asked, progress, fine, text, events, words))
        return Answer(said, markdown()) if isinstance(said, dict) else Answers(said, markdown())


def answers(command: Sequence[str], *, progress: Progress = True, **options: Any) -> Answers:
    """The answers of a command that prints one after the other."""
    with _markdown() as (copy, markdown):
        said = call([*command, "--json", *copy, *arguments(options)], progress)
        shown = markdown()
    decoder, found, at = json.JSONDecoder(), [], 0
    while said[at:].strip():
        at += len(said[at:]) - len(said[at:].lstrip())
        value, at = decoder.raw_decode(said, at)
        found.append(value)
    return Answers(found, shown)


@contextmanager
def _markdown() -> Iterator[tuple[list[str], Callable[[], str]]]:
    """The options for a copy of the result as Markdown, and what reads it."""
    with tempfile.NamedTemporaryFile(prefix="thrashlab-", suffix=".md") as file:
        path = Path(file.name)
        yield ["--markdown-copy", file.name], lambda: path.read_text(encoding="utf-8")


def arguments(options: Mapping[str, Any]) -> list[str]:
    """Options as the command line spells them.

    A list is joined by commas, a mapping becomes `NAME=VALUE` each, `None` and `False` are left
    out.
    """
    words: list[str] = []
    for name, value in options.items():
        option = "--" + name.strip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            for key, part in value.items():
                words.append(f"{option}={key}={one(part)}")
        else:
            words.append(f"{option}={one(value)}")
    return words


def one(value: Any) -> str:
    """A value, or several, as one word."""
    if isinstance(value, str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, range):
        if value.step != 1 or not value:
            raise WrongUse(f"{value} is not one number after the other")
        return f"{value.start}..{value.stop - 1}"
    if isinstance(value, Sequence):
        return ",".join(one(part) for part in value)
    return str(value)


def call(
    command: Sequence[str],
    progress: Progress = True,
    fine: tuple[int, ...] = (0,),
    text: str | None = None,
    events: bool = False,
    words: Sequence[str] = (),
) -> str:
    """Runs a command; returns its standard output, or raises its error."""
    last = ["--", *words] if words else []
    with _Events(progress if events and callable(progress) else None) as listener:
        return _call([*command, *listener.arguments, *last], progress, fine, text, listener)


def _call(
    command: Sequence[str],
    progress: Progress,
    fine: tuple[int, ...],
    text: str | None,
    events: _Events,
) -> str:
    process = subprocess.Popen(
        [str(BINARY), *command],
        pass_fds=events.passed,
        stdin=subprocess.PIPE if text is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Ctrl-C on a terminal reaches Python alone, which hands it on, once.
        start_new_session=True,
        # It makes two system calls, which is safe with other threads.
        preexec_fn=_ends_with(os.getpid()),  # noqa: PLW1509
    )
    interrupted = False
    try:
        events.started()
        conversation = _Conversation(process, progress, events)
        while True:
            try:
                conversation.go_on(text)
                break
            except KeyboardInterrupt:
                interrupted = True
                process.send_signal(signal.SIGINT)
    finally:
        _end(process)
    if interrupted or process.returncode == INTERRUPTED:
        raise KeyboardInterrupt("thrashlab was stopped, and has cleaned up")
    if process.returncode not in fine:
        raise _reason(process.returncode, conversation.last_words())
    conversation.say_rest()
    return conversation.said.decode()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Waits for the process; one that is no longer listened to is stopped first."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None and not pipe.closed:
            pipe.close()


def _ends_with(parent: int) -> Callable[[], None]:
    """What a child does before it becomes the program: it asks for Ctrl-C if Python is killed."""
    prctl, interrupt = _LIBC.prctl, int(signal.SIGINT)

    def before() -> None:
        prctl(_PR_SET_PDEATHSIG, interrupt)
        if os.getppid() != parent:
            os._exit(INTERRUPTED)

    return before


def _reason(code: int, words: str) -> ThrashlabError:
    """The exception for an exit code."""
    words = words.removeprefix("thrashlab: ").removeprefix("error: ")
    if code < 0:
        words = f"{words}\nthe program was ended by {signal.Signals(-code).name}".lstrip()
    kind = {WRONG_USE: WrongUse, COULD_NOT_MEASURE: CouldNotMeasure}.get(code, ThrashlabError)
    return kind(words or f"thrashlab ended with {code}", code)


class _Events:
    """The events of a process, as JSON lines on a pipe of their own."""

    def __init__(self, tell: Callable[[Any], None] | None) -> None:
        self.tell = tell
        self.reader: int | None = None
        self._writer: int | None = None
        self._rest = b""

    def __enter__(self) -> _Events:
        if self.tell is not None:
            self.reader, self._writer = os.pipe()
        return self

    def __exit__(self, *_: object) -> None:
        self.started()
        if self.reader is not None:
            os.close(self.reader)

    @property
    def arguments(self) -> list[str]:
        """The options that name the pipe."""
        return [] if self._writer is None else ["--events", f"/dev/fd/{self._writer}"]

    @property
    def passed(self) -> tuple[int, ...]:
        """The end of the pipe that the program writes to."""
        return () if self._writer is None else (self._writer,)

    def started(self) -> None:
        """The program has its end of the pipe."""
        if self._writer is not None:
            os.close(self._writer)
            self._writer = None

    def heard(self, piece: bytes) -> None:
        """Reports the events that are complete."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            self.tell(json.loads(line))


class _Conversation:
    """What goes to a process and comes from it, on one thread, so that Ctrl-C is never lost."""

    def __init__(
        self, process: subprocess.Popen[bytes], progress: Progress, events: _Events
    ) -> None:
        self.process = process
        self.said = bytearray()
        self._events = events
        self._tell = _teller(False if events.tell else progress)
        self._rest = b""
        self._held: list[str] = []
        self._given = 0
        self._pipes = selectors.DefaultSelector()
        for pipe in filter(None, (process.stdout, process.stderr)):
            self._pipes.register(pipe, selectors.EVENT_READ)
        if events.reader is not None:
            self._pipes.register(events.reader, selectors.EVENT_READ)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            self._pipes.register(process.stdin, selectors.EVENT_WRITE)

    def go_on(self, text: str | None) -> None:
        """Talks until the process has ended and nothing more comes."""
        given = (text or "").encode()
        while self._pipes.get_map():
            ready = self._pipes.select(_LOOK_EVERY_S)
            if not ready and self.process.poll() is not None:
                break
            for key, _ in ready:
                self._serve(key.fileobj, given)
        self._pipes.close()

    def _serve(self, pipe: Any, given: bytes) -> None:
        if pipe is self.process.stdin:
            self._give(pipe, given)
            return
        piece = os.read(pipe if isinstance(pipe, int) else pipe.fileno(), 1 << 16)
        if not piece:
            self._pipes.unregister(pipe)
        elif pipe == self._events.reader:
            self._events.heard(piece)
        elif pipe is self.process.stdout:
            self.said += piece
        else:
            *lines, self._rest = (self._rest + piece).split(b"\n")
            for line in lines:
                self._line(line.decode(errors="replace"))

    def _give(self, pipe: Any, given: bytes) -> None:
        try:
            self._given += os.write(pipe.fileno(), given[self._given : self._given + (1 << 16)])
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._given = len(given)
        if self._given >= len(given):
            self._pipes.unregister(pipe)
            pipe.close()

    def _line(self, line: str) -> None:
        """A line may be the reason for the end; the exception reports that."""
        if any(held.startswith("error: ") for held in self._held):
            self._held.append(line)
            return
        self.say_rest()
        if line.startswith(_WORDS):
            self._held.append(line)
        else:
            self._tell(line)

    def say_rest(self) -> None:
        """Prints what turned out not to be the reason."""
        for line in self._held:
            self._tell(line)
        self._held.clear()

    def last_words(self) -> str:
        """The reason."""
        return "\n".join([*self._held, self._rest.decode(errors="replace")]).strip()


def _teller(progress: Progress) -> Callable[[str], None]:
    if callable(progress):
        return progress
    if progress:
        return lambda line: print(line, file=sys.stderr, flush=True)
    return lambda line: None
