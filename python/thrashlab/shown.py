"""What a notebook shows of an answer: the tables and sentences that the command prints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

#: Colours of the lines of a curve, distinguishable by most people.
_COLOURS = ("#0072b2", "#c77f00", "#009e73", "#b04f88", "#d55e00", "#5f5f5f")
_WIDTH, _HEIGHT, _MARGIN = 520, 260, 46


class Answer(dict[str, Any]):
    """What a command prints as JSON. A notebook shows what it prints as text, as Markdown."""

    def __init__(self, values: dict[str, Any], markdown: str = "") -> None:
        super().__init__(values)
        #: The command's result as Markdown.
        self.markdown = markdown

    def _repr_markdown_(self) -> str | None:
        return self.markdown or None


class Answers(list[Any]):
    """Several answers, or a list. A notebook shows what the command prints as text."""

    def __init__(self, values: Iterable[Any], markdown: str = "") -> None:
        super().__init__(values)
        #: The command's results as Markdown.
        self.markdown = markdown

    def _repr_markdown_(self) -> str | None:
        return self.markdown or None


class Chart(dict[str, Any]):
    """A chart as a Vega-Lite specification, which JupyterLab draws, or altair where it is installed."""

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        try:
            import altair
        except ImportError:
            version = str(self.get("$schema", "")).rpartition("/v")[2].partition(".")[0] or "6"
            kind = f"application/vnd.vegalite.v{version}+json"
            return {kind: dict(self), "text/plain": repr(self)}
        shown = altair.Chart.from_dict(dict(self))._repr_mimebundle_(include, exclude)
        # Some renderers add metadata.
        return shown[0] if isinstance(shown, tuple) else shown


def lines_svg(
    lines: Sequence[tuple[str, Sequence[tuple[float, float]]]], x: str, y: str, top: float
) -> str:
    """Lines of points, x on a logarithmic scale with base 2, y from 0 to `top`, as SVG."""
    from html import escape
    from math import log2

    points = [(label, [(log2(at), value) for at, value in line if at > 0]) for label, line in lines]
    every = [at for _, line in points for at, _ in line] or [0.0]
    low, high = min(every), max(every)
    span = (high - low) or 1.0

    def place(at: float, value: float) -> str:
        left = _MARGIN + (at - low) / span * (_WIDTH - 2 * _MARGIN)
        return f"{left:.1f},{_HEIGHT - _MARGIN - value / (top or 1.0) * (_HEIGHT - 2 * _MARGIN):.1f}"

    right, bottom = _WIDTH - _MARGIN, _HEIGHT - _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        f'width="{_WIDTH}" height="{_HEIGHT}" font-family="sans-serif" font-size="11" '
        f'role="img"><title>{escape(y)} over {escape(x)}</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<path d="M{_MARGIN},{_MARGIN}V{bottom}H{right}" fill="none" stroke="#5b626b"/>'
    ]
    ticks = [
        (_MARGIN, bottom + 15, "middle", f"{2**low:g}"),
        (right, bottom + 15, "middle", f"{2**high:g}"),
        (_MARGIN - 5, bottom, "end", "0"),
        (_MARGIN - 5, _MARGIN + 4, "end", f"{top:g}"),
        (_WIDTH / 2, _HEIGHT - 8, "middle", x),
        (_MARGIN, _MARGIN - 12, "middle", y),
    ]
    for left, down, anchor, text in ticks:
        parts.append(f'<text x="{left}" y="{down}" text-anchor="{anchor}">{escape(text)}</text>')
    for number, (label, line) in enumerate(points):
        colour, down = _COLOURS[number % len(_COLOURS)], _MARGIN + 14 * number
        path = " ".join(place(at, value) for at, value in line)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(
            f'<text x="{right}" y="{down}" text-anchor="end" fill="{colour}">{escape(label)}</text>'
        )
    return "".join(parts) + "</svg>"
