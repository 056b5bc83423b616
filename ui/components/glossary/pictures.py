"""Small pictures for the glossary, as SVG: in the text's colour, with kinds and lateness in their colours."""

from __future__ import annotations

from typing import Final

from engine.model.changelog import SYMBOLS, RowKind
from ui.shell.theme import DROPPED, IN_TIME, KIND_COLORS, LATE_USED, ON_COLOR, SERIES


def _picture(height: int, *parts: str) -> str:
    return (
        f'<svg viewBox="0 0 300 {height}" width="300" height="{height}" aria-hidden="true" fill="none" '
        f'stroke-width="1.5">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="currentColor" font-size="11">{text}</text>'


def _dot(x: float, y: float, color: str = IN_TIME) -> str:
    return f'<circle cx="{x}" cy="{y}" r="4" fill="{color}"/>'


def _cross(x: float, y: float) -> str:
    return f'<path d="M{x - 4} {y - 4}l8 8m0-8l-8 8" stroke="{DROPPED}" stroke-width="2.5"/>'


def _line(path: str, style: str = 'opacity=".45"') -> str:
    return f'<path d="{path}" stroke="currentColor" {style}/>'


def _badge(x: float, y: float, kind: RowKind) -> str:
    return (
        f'<rect x="{x}" y="{y - 11}" width="24" height="15" rx="3" fill="{KIND_COLORS[kind]}"/>'
        f'<text x="{x + 12}" y="{y}" text-anchor="middle" fill="{ON_COLOR}" font-size="10.5" font-weight="600">'
        f"{SYMBOLS[kind]}</text>"
    )


_AXES = _line("M24 8V98H290") + _text(290, 112, "arrival", "end") + _text(28, 14, "event time")
_STEPS = f'<path d="M40 92H80V72H172V46H220V30H286" stroke="{SERIES[0]}" stroke-width="2"/>'

WATERMARK: Final = _picture(
    116,
    _AXES,
    _STEPS,
    *(_dot(x, y) for x, y in ((40, 68), (80, 48), (126, 58), (172, 22), (196, 36), (220, 8))),
    _line("M172 27V45", 'opacity=".6" stroke-dasharray="2 3"'),
    _text(166, 38, "delay", "end"),
    _text(286, 44, "watermark", "end"),
)
LATE: Final = _picture(
    116,
    _AXES,
    _STEPS,
    _line("M24 58H290", 'opacity=".6" stroke-dasharray="2 3"'),
    _text(28, 54, "end of the window"),
    _dot(60, 74),
    _dot(126, 68),
    _dot(190, 78, LATE_USED),
    _cross(260, 70),
    _text(184, 92, "late but used", "middle"),
    _text(260, 92, "dropped", "middle"),
)
RETRACTION: Final = _picture(
    92,
    _text(8, 16, "count per word"),
    _badge(8, 42, RowKind.INSERT),
    _text(38, 41, "Hello, 1"),
    _badge(8, 63, RowKind.UPDATE_BEFORE),
    _text(38, 62, "Hello, 1"),
    _badge(8, 84, RowKind.UPDATE_AFTER),
    _text(38, 83, "Hello, 2"),
    _line("M100 46H136m-5 -4l5 4l-5 4", 'opacity=".6"'),
    _text(150, 16, "words per count"),
    _badge(150, 42, RowKind.INSERT),
    _text(180, 41, "1, one word"),
    _badge(150, 63, RowKind.DELETE),
    _text(180, 62, "1, one word"),
    _badge(150, 84, RowKind.INSERT),
    _text(180, 83, "2, one word"),
)
UPSERT: Final = _picture(
    62,
    _badge(8, 38, RowKind.UPDATE_AFTER),
    _text(38, 37, "Hello, 2"),
    _line("M96 34H136m-5 -4l5 4l-5 4", 'opacity=".6"'),
    '<rect x="150" y="4" width="120" height="54" rx="3" stroke="currentColor" opacity=".45"/>',
    _line("M150 22H270M210 4V58"),
    _text(158, 17, "word (key)"),
    _text(218, 17, "count"),
    _text(158, 37, "Hello"),
    '<text x="218" y="37" fill="currentColor" font-size="11"><tspan text-decoration="line-through" opacity=".7">1'
    "</tspan> 2</text>",
    _text(158, 53, "World"),
    _text(218, 53, "1"),
)
