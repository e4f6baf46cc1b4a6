"""The picture of the README: a terminal's screen as SVG, drawn from a real run."""

from __future__ import annotations

import re
from html import escape, unescape

from .pages import DOCS
from .sessions import SESSIONS, normalised, play

CAST = DOCS / "images" / "fix.svg"
_COLUMNS, _WIDTH, _ROW = 92, 8.2, 19
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
#: Legible on the dark screen, which is the same on a light and on a dark page.
_COLOURS = {
    31: "#ff7b72",
    32: "#7ee787",
    33: "#e3b341",
    34: "#79c0ff",
    36: "#76e3ea",
    90: "#8b949e",
}
#: Seconds until the next line shows, after a command that is typed and after any other line.
_TYPED, _PRINTED = 0.9, 0.12
_STYLE = """
text { font: 13.5px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #e6edf3;
  white-space: pre }
.b { font-weight: 600 }
g { animation: show .01s linear both }
@keyframes show { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { g { animation: none } }
"""


def record() -> str:
    """Return the SVG of the session, played now."""
    session = SESSIONS["cast"]
    commands = [one.replace("runtrue ", "runtrue --color always ") for one in session.commands]
    shown = play(session, tuple(commands)).replace("runtrue --color always ", "runtrue ")
    return _drawn(_cut(shown))


def text_of(svg: str) -> str:
    """Return the words of an SVG, without what differs each time."""
    rows = re.findall(r"<text [^>]*>(.*?)</text>", svg)
    return normalised("\n".join(unescape(re.sub(r"<[^>]+>", "", row)) for row in rows))


def _cut(shown: str) -> list[str]:
    return [line for line in shown.splitlines() if line.strip()]


def _drawn(lines: list[str]) -> str:
    height = _ROW * len(lines) + 52
    width = round(_COLUMNS * _WIDTH)
    rows, at = [], 0.3
    for number, line in enumerate(lines):
        y = 56 + number * _ROW
        rows.append(
            f'<g style="animation-delay:{at:.2f}s"><text x="16" y="{y}" xml:space="preserve">'
            f"{_spans(line)}</text></g>"
        )
        at += _TYPED if line.startswith("$") else _PRINTED
    dots = "".join(f'<circle cx="{20 + 18 * i}" cy="20" r="5" fill="#484f58"/>' for i in range(3))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="runtrue fix in a terminal">\n'
        f"<style>{_STYLE}</style>\n"
        f'<rect x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="9" fill="#0d1117" '
        f'stroke="#484f58"/>\n{dots}\n' + "\n".join(rows) + "\n</svg>\n"
    )


def _spans(line: str) -> str:
    if line.startswith("$"):
        return f'<tspan class="b">{escape(line)}</tspan>'
    out, colour, bold, room = [], "", False, _COLUMNS - 6
    for index, piece in enumerate(_SGR.split(line)):
        if index % 2:
            codes = [int(code or 0) for code in piece.split(";")]
            colour = (
                "" if 0 in codes else next((_COLOURS[c] for c in codes if c in _COLOURS), colour)
            )
            bold = 0 not in codes and (bold or 1 in codes)
        elif piece:
            text = piece if len(piece) <= room else piece[: max(room - 1, 0)] + "…"
            room -= len(text)
            fill = f' fill="{colour}"' if colour else ""
            weight = ' class="b"' if bold else ""
            out.append(f"<tspan{weight}{fill}>{escape(text)}</tspan>")
    return "".join(out)


if __name__ == "__main__":
    CAST.parent.mkdir(exist_ok=True)
    CAST.write_text(record(), encoding="utf-8")
