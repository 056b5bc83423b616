"""A replay as one HTML file: the graph, the events as data, and the player. It loads nothing, and executes no data.

The player's script and styles are committed beside this file as they are: they need no build. What comes from the data
is text for the player, or escaped in the picture and in the narration; the file's own policy forbids all requests.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from engine.model.changelog import ChangelogMode, RowKind
from engine.model.story import Step, Story
from storage import Store
from storage.model import EventRange, Run
from ui.builder.picture import drawing
from ui.export.markdown import as_html, as_inline_html
from ui.export.page import theme_variables
from ui.export.picture import camera_script, picture_as_html, picture_script
from ui.replay.events import Shape, replayed
from ui.runs.operator_lines import pipeline_of
from ui.shell import theme
from ui.stories.step_words import as_markdown
from ui.stories.telling import missing

_HERE: Final = Path(__file__).parent
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
_STATES: Final = {
    "in time": theme.IN_TIME,
    "out of order": theme.OUT_OF_ORDER,
    "late but used": theme.LATE_USED,
    "dropped": theme.DROPPED,
}
# Between two nodes, for records that run along an edge.
_GAP_PX: Final = 130
_KEYS: Final = (
    ("previous", "P", "Previous event", "◀"),
    ("play", "K", "Play", "▶ ❚❚"),
    ("next", "N", "Next event", "▶"),
    ("retraction", "U", "Next retraction", "↶ retraction"),
    ("window", "W", "Next window", "⏱ window"),
    ("late", "L", "Next late record", "late"),
)


@dataclass(frozen=True)
class Opening:
    """What a replay shows when it is opened, None: its own beginning, and its reader's theme.

    event: 0 is before the first. edge: the output whose table is shown. step: of the story, from 0. theme: a name of
    `ui.shell.theme.THEMES`.
    """

    event: int | None = None
    edge: str | None = None
    step: int | None = None
    theme: str | None = None


def with_told_events(run: Run, events: EventRange, story: Story | None) -> EventRange:
    """The range with the events of the story that are outside of it."""
    steps = story.steps if story is not None else ()
    told = [step.event for step in steps if step.event and run.kept_from <= step.event <= run.last_seq]
    if told and events.from_seq is not None:
        return EventRange(min(events.from_seq, *told), max(events.to_seq or 0, *told))
    return events


def replay_as_html(
    store: Store, run: Run, events: EventRange, story: Story | None = None, opening: Opening | None = None
) -> str:
    """The file of a range of events, at most MOST_EVENTS of them, with a story's narration. Raises TooMuch, StoreError.

    Events of the story that are outside of the range belong to the file as well.
    """
    steps, opening = story.steps if story is not None else (), opening or Opening()
    data = replayed(store, run, with_told_events(run, events, story))
    data |= {"kinds": {kind.symbol: theme.KIND_COLORS[kind] for kind in RowKind}, "states": _STATES}
    data["steps"] = [{"event": step.event, "edge": step.edge} for step in steps]
    data["opening"] = {"event": opening.event, "edge": opening.edge, "step": opening.step}
    pipeline = pipeline_of(run)
    plans = {node.id: run.explanation.node(node.id) for node in pipeline.nodes}
    modes = {name: ChangelogMode.read(plan.mode) for name, plan in plans.items() if plan is not None}
    graph = picture_as_html(drawing(pipeline, modes), gap=_GAP_PX)
    title = escape(story.title if story is not None else run.name)
    about = escape(f"run {run.run_id}, {run.name}: events {data['first']:,} to {data['last']:,} of {run.last_seq:,}")
    buttons = "".join(
        f'<button id="{name}" title="{text} ({key})" aria-label="{key} {text}" aria-keyshortcuts="{key}">'
        f"<kbd>{key}</kbd> <span>{text}</span><i>{sign}</i></button>"
        for name, key, text, sign in _KEYS
    )
    narration = (
        '<section id="story" aria-live="polite"><p id="step"></p>'
        + "".join(_told(step, (*missing(store, story, step, run), *_outside(step, run, data))) for step in steps)
        + '<div class="row"><button id="back">Back</button><button id="forward" class="main">Next step</button></div>'
        "</section>"
        if story is not None
        else ""
    )
    # No text may end the script element that contains it, or begin a comment in it.
    safe = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{title}</title>'
        f"<style>{theme_variables(opening.theme)}{_text('player.css')}</style></head><body>"
        f'<header><h1>{title}</h1><p class="about">{about}</p></header>{narration}'
        f'<main><section id="graph" tabindex="0" aria-label="The pipeline">{graph}'
        '<button id="all" title="The whole graph (F)" aria-label="F Whole graph" aria-keyshortcuts="F" hidden>'
        "<kbd>F</kbd> <span>Whole graph</span><i>⤢</i></button>"
        "</section>"
        f'<nav id="player"><input type="range" id="event" aria-label="Event"><output id="now"></output>'
        f'<div class="row">{buttons}</div></nav>'
        '<p id="summary" aria-live="polite"></p>'
        '<div class="pair"><section><h2>What the event did</h2><div id="cascade" class="scroll" tabindex="0"></div>'
        '</section><section><h2>Table <select id="output" aria-label="The table of"></select></h2>'
        '<div id="table" class="scroll" tabindex="0"></div></section></div>'
        '<section id="time" hidden><h2>Event time and watermark</h2><div id="chart"></div></section></main>'
        f'<script type="application/json" id="data">{safe}</script>{camera_script()}{picture_script()}'
        f'<script type="module">{_text("player.js")}</script></body></html>'
    )


def _told(step: Step, gone: tuple[str, ...]) -> str:
    notes = "".join(f'<p class="about">{as_inline_html(sentence)}</p>' for sentence in gone)
    return f'<div class="told" hidden>{as_html(as_markdown(step.text))}{notes}</div>'


def _outside(step: Step, run: Run, data: Shape) -> tuple[str, ...]:
    """What the run has, and the file has not."""
    is_here = step.event is None or data["first"] - 1 <= step.event <= data["last"]
    is_in_run = step.event is not None and run.kept_from <= step.event <= run.last_seq
    return (f"Event {step.event:,} is not in this file.",) if is_in_run and not is_here else ()


def _text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
