"""The pipeline at an event: edges with records of the event are lit and show them; a click selects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import streamlit as st

from engine.model.changelog import SYMBOLS, ChangelogMode
from engine.model.pipeline import Pipeline
from storage.event_time.model import LateRecord
from storage.model import CascadeRecord, Run
from ui.builder.editing import edge_key, operator_class
from ui.builder.picture import catalog, colors, document, hint
from ui.components.builder.canvas import component
from ui.components.changelog.record_list import in_one_line
from ui.components.event_time.late_link import open_late_file
from ui.shell import words
from ui.shell.guard import guarded
from ui.shell.state import state
from ui.shell.theme import pens

_RECORDS: Final = 4
_LONGEST: Final = 60
_ROW_PX: Final = 132
_LEAST_PX: Final = 210
_MOST_PX: Final = 380
Shape = dict[str, Any]


def time_canvas(
    run: Run,
    pipeline: Pipeline,
    event: int,
    cascade: Sequence[CascadeRecord],
    late: Sequence[LateRecord],
    *,
    node: str | None,
    edge: str,
    on_pick: Callable[[str | None, str | None], None],
) -> None:
    """Draw the pipeline. late: for which operators the event's record was late.

    node, edge: the selected ones; on_pick gets the node or the edge that the user clicks. What was late opens its file.
    """
    carried: dict[str, list[CascadeRecord]] = {}
    for entry in cascade:
        carried.setdefault(entry.edge.name, []).append(entry)
    key = f"time-canvas-{run.run_id}"
    height = None if state.present else _height(pipeline)
    data = {
        "run": run.run_id,
        "name": pipeline.name or run.name,
        "event": event,
        "height": height,
        "presented": state.present,
        "colors": colors(),
        "pens": pens(),
        "catalog": catalog(),
        "document": document(pipeline),
        "nodes": _nodes(run, pipeline, carried, late),
        "edges": _edges(pipeline, carried),
        "selected": node,
        "shown": edge,
    }

    def picked() -> None:
        pick = (st.session_state.get(key) or {}).get("picked")
        if pick and "late" in pick:
            open_late_file(run.run_id, event)
        elif pick:
            on_pick(pick.get("node"), pick.get("edge"))

    component()(key=key, data=data, height=height or "stretch", on_picked_change=guarded(picked))


def _nodes(
    run: Run, pipeline: Pipeline, carried: Mapping[str, Sequence[CascadeRecord]], late: Sequence[LateRecord]
) -> dict[str, Shape]:
    """By node its strategy and state, whether the event touched it (it received or emitted a record), and what of it
    was late there.
    """
    touched = {entry.edge.node for entries in carried.values() for entry in entries}
    touched |= {edge.target for edge in pipeline.edges if _source(edge.source, edge.source_port) in carried}
    facts: dict[str, Shape] = {}
    for node in pipeline.nodes:
        cls = operator_class(node.operator)
        shape: Shape = {"hint": hint(node), "isLit": node.id in touched}
        if cls is not None:
            shape["outputs"] = list(cls.output_ports(node.parameters))
        plan = run.explanation.node(node.id)
        if plan is not None:
            shape["mode"] = [SYMBOLS[kind] for kind in sorted(ChangelogMode.read(plan.mode))]
            if plan.role != "source":
                shape |= {"strategy": plan.strategy, "state": plan.state}
        facts[node.id] = shape
    for name, records in _by_node(late).items():
        dropped = sum(record.dropped for record in records)
        by = max(record.lateness_ms or 0 for record in records)
        facts.setdefault(name, {}).update(
            isLit=True,
            hint=f"the watermark was {words.duration(by)} past it" if 0 < by < words.END_MS else records[0].reason,
            run={"state": "late", "in": None, "out": None, "dropped": dropped, "used": len(records) - dropped}
            | {"rejected": 0},
        )
    return facts


def _by_node(late: Sequence[LateRecord]) -> dict[str, list[LateRecord]]:
    by_node: dict[str, list[LateRecord]] = {}
    for record in late:
        by_node.setdefault(record.node, []).append(record)
    return by_node


def _edges(pipeline: Pipeline, carried: Mapping[str, Sequence[CascadeRecord]]) -> dict[str, Shape]:
    facts: dict[str, Shape] = {}
    for edge in pipeline.edges:
        name = _source(edge.source, edge.source_port)
        entries = carried.get(name, ())
        facts[edge_key(edge)] = {
            "edge": name,
            "records": [_record(entry) for entry in entries[:_RECORDS]],
            "more": max(0, len(entries) - _RECORDS),
        }
    return facts


def _record(entry: CascadeRecord) -> Shape:
    text = ", ".join(words.value(value) for value in entry.edge.shown(entry.record.values))
    title = in_one_line(entry.edge, entry.record)
    short = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return {"kind": entry.record.kind.symbol, "text": short, "title": title}


def _source(node: str, port: str) -> str:
    return node if port == "out" else f"{node}.{port}"


def _height(pipeline: Pipeline) -> int:
    """The height in pixels, with room for the widest layer."""
    depth: dict[str, int] = {}
    for node in pipeline.sorted_nodes():
        depth[node.id] = 1 + max((depth[edge.source] for edge in pipeline.inputs(node.id)), default=-1)
    layers = list(depth.values())
    widest = max((layers.count(layer) for layer in set(layers)), default=1)
    return min(_MOST_PX, max(_LEAST_PX, widest * _ROW_PX))
