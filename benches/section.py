"""A section of the summary: what one benchmark found, as Markdown, and how it is started alone."""

import os
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class NotPossible(Exception):
    """A benchmark that this machine does not allow; the text says what to do about it."""


@dataclass
class Requirement:
    """One thing that must hold, the figure that was found, and whether it holds."""

    text: str
    found: str
    met: bool


@dataclass
class Section:
    """What one benchmark found."""

    title: str
    paragraphs: list = field(default_factory=list)
    requirements: list = field(default_factory=list)

    def add(self, paragraph):
        """Adds a paragraph or a table."""
        self.paragraphs.append(paragraph)

    def require(self, text, found, met):
        """Adds a requirement."""
        self.requirements.append(Requirement(text, found, met))

    def markdown(self):
        """The section as Markdown."""
        ends = [
            f"Requirement {'met' if each.met else '**not met**'}: {each.text}; found {each.found}."
            for each in self.requirements
        ]
        return "\n\n".join([f"## {self.title}", *self.paragraphs, *ends]) + "\n"


def table(head, rows):
    """A Markdown table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def binary_argument(given=None):
    """The thrashlab to measure: an argument, else $THRASHLAB, else cargo's release build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    path = Path(given or os.environ.get("THRASHLAB") or target / "release" / "thrashlab")
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is not a program: build it (cargo build --release) or name another one")
    return path.resolve()


def attempt(name, benchmark, binary):
    """Runs a benchmark; one that cannot be done is a section that says why."""
    print(f"{name} …", file=sys.stderr, flush=True)
    try:
        return benchmark(binary)
    except NotPossible as why:
        return Section(name, [f"Not measured: {why}."])
    except Exception as error:  # the other benchmarks are still to be run
        traceback.print_exc()
        section = Section(name)
        said = " ".join(f"{type(error).__name__}: {error}".split())
        section.require("the benchmark runs", said, False)
        return section


def main(name, benchmark):
    """The command line of one benchmark: `python3 benches/NAME.py [BINARY]`."""
    section = attempt(name, benchmark, binary_argument(*sys.argv[1:2]))
    print(section.markdown())
    sys.exit(0 if all(each.met for each in section.requirements) else 1)
