"""What a replay plays: the events of a range with all that they did, and the tables as they were before the first.

A plain structure for JSON. Values are texts as the pages show them, None for NULL; the texts of long values are cut.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from engine.errors import StudioError
from engine.model.changelog import RowKind
from engine.model.pipeline import Pipeline
from engine.model.timeline import MAX_WATERMARK
from engine.model.zones import Zone
from storage import Store
from storage.event_time.model import LateRecord, Timeline
from storage.model import CascadeRecord, Edge, EventRange, Run
from storage.wanted import Filter
from ui.builder.editing import edge_key
from ui.components.event_time.late_table import outcome_of, window_of
from ui.inspect.branches import branches, inputs_of
from ui.inspect.reasons import operators_of, reasons
from ui.runs.operator_lines import pipeline_of
from ui.shell import words

MOST_EVENTS: Final = 2000
_MOST_RECORDS: Final = 20_000
_MOST_ROWS: Final = 300
_LONGEST: Final = 160
Shape = dict[str, Any]


class TooMuch(StudioError):
    """The chosen events did more than a file can play."""

    def __init__(self, edge: str) -> None:
        super().__init__(
            f"the chosen events have more than {_MOST_RECORDS:,} records on {edge}, too many for one file. "
            "Choose fewer events."
        )


def replayed(store: Store, run: Run, events: EventRange) -> Shape:
    """The events of a range, at most MOST_EVENTS of them, from its first on. Raises TooMuch, StoreError."""
    low, high = events.within(run.kept_from, run.last_seq)
    first, last = max(low, run.kept_from), max(low, min(high, run.last_seq, low + MOST_EVENTS - 1))
    chosen = EventRange(first, last)
    edges = store.runs.edges(run.run_id)
    pipeline = pipeline_of(run)
    timeline = store.timeline.timeline(run.run_id, chosen)
    whys: dict[str, int] = {}
    told = _events(store, run, range(first, last + 1), edges, timeline, whys)
    return {
        "first": first,
        "last": last,
        "edges": [_edge(store, edge, first, pipeline) for edge in edges],
        "events": told,
        "whys": list(whys),
        "watermarks": _watermarks(timeline),
        "zone": _zone(store.runs.zone(run.run_id), timeline),
    }


def _edge(store: Store, edge: Edge, first: int, pipeline: Pipeline) -> Shape:
    """An output with its table before the first event, and the edges of the graph that carry it."""
    before = store.changelog.table_as_of(edge.run_id, edge.node, first - 1, edge.port, limit=_MOST_ROWS)
    return {
        "name": edge.name,
        "role": edge.role,
        "columns": list(edge.names),
        "key": [edge.names.index(name) for name in edge.upsert_key],
        "retracts": bool(edge.counts.get(RowKind.UPDATE_BEFORE)),
        "rows": [_texts(edge.shown(row.values)) for row in before.rows],
        "more": before.total - len(before.rows),
        "drawn": [
            edge_key(link) for link in pipeline.edges if (link.source, link.source_port) == (edge.node, edge.port)
        ],
    }


def _events(
    store: Store, run: Run, seqs: range, edges: tuple[Edge, ...], timeline: Timeline, whys: dict[str, int]
) -> list[Shape]:
    """By event: its records in order of emission (edge, kind, values, why), its time, and what was late or fired.

    why: the place of the reason in `whys`.
    """
    pipeline, plan = pipeline_of(run), run.explanation
    operators, inputs = operators_of(pipeline), inputs_of(pipeline)
    zone = store.runs.zone(run.run_id)
    records: dict[int, list[CascadeRecord]] = defaultdict(list)
    chosen = EventRange(seqs[0], seqs[-1])
    wanted = Filter(from_seq=chosen.from_seq, to_seq=chosen.to_seq)
    for edge in edges:
        if not edge.total:
            continue
        page = store.changelog.page(run.run_id, edge.node, edge.port, filter=wanted, limit=_MOST_RECORDS)
        if page.total > _MOST_RECORDS:
            raise TooMuch(edge.name)
        for emitted in page.records:
            records[emitted.seq].append(CascadeRecord(edge, emitted))
    points = {row["seq"]: row for row in timeline.points.to_pylist()}
    fires: dict[int, list[str]] = defaultdict(list)
    for fire in timeline.fires.to_pylist():
        window = words.window(fire["window_start_ms"], fire["window_end_ms"], zone=zone)
        more = f" and {fire['windows'] - 1:,} more" if fire["windows"] > 1 else ""
        fires[fire["seq"]].append(f"{fire['node']} {window}{more}")
    late: dict[int, list[LateRecord]] = defaultdict(list)
    for each_late in store.late.page(run.run_id, chosen, limit=_MOST_RECORDS).records:
        late[each_late.seq].append(each_late)
    ends = {seq: source for source, seq in timeline.ends.items()}
    places = {(edge.node, edge.port): at for at, edge in enumerate(edges)}

    def told(caused: list[CascadeRecord]) -> list[list[object]]:
        # The sort is stable: records at the same position are in the order of their edges.
        in_order = sorted(caused, key=lambda each: each.record.step)
        tree = branches(tuple(in_order), inputs)
        why = {id(branch.entry): _cut(text) for branch, text in zip(tree, reasons(tree, operators, plan), strict=True)}
        return [
            [
                places[entry.edge.node, entry.edge.port],
                entry.record.kind.symbol,
                _texts(entry.edge.shown(entry.record.values)),
                whys.setdefault(why[id(entry)], len(whys)),
            ]
            for entry in in_order
        ]

    return [
        {
            "records": told(records[seq]),
            **_known(
                time=points[seq]["event_time_ms"] if seq in points else None,
                state=points[seq]["state"] if seq in points else None,
                ends=ends.get(seq),
                fires=fires.get(seq),
                late=_late(late[seq], zone) if seq in late else None,
            ),
        }
        for seq in seqs
    ]


def _known(**facts: object) -> Shape:
    return {name: fact for name, fact in facts.items() if fact is not None}


def _late(records: Iterable[LateRecord], zone: Zone | None) -> list[Shape]:
    return [
        {
            "node": record.node,
            "dropped": record.dropped,
            "text": " ".join(filter(None, (outcome_of(record), window_of(record, zone=zone)))),
        }
        for record in records
    ]


def _zone(zone: Zone | None, timeline: Timeline) -> Shape:
    """When clocks are set in the range, and how far they are ahead of UTC before each change and after the last; ms."""
    times = timeline.points.column("event_time_ms").to_pylist()
    times += [mark for mark in timeline.watermarks.column("watermark_ms").to_pylist() if mark < words.END_MS]
    if zone is None or not times:
        return {"changes": [], "offsets": [0]}
    first, last = np.searchsorted(zone.changes, [min(times), max(times)], side="right")
    return {"changes": zone.changes[first:last].tolist(), "offsets": zone.offsets[first : last + 1].tolist()}


def _watermarks(timeline: Timeline) -> list[Shape]:
    """The steps of each source's watermark, and of the combined one, as (event, ms, text)."""
    lines = [("watermark" if len(timeline.timed) == 1 else f"watermark of {name}", name) for name in timeline.timed]
    steps = timeline.watermarks.to_pylist()
    drawn = [(label, [row for row in steps if row["source"] == name], timeline.ends.get(name)) for label, name in lines]
    if timeline.is_combined:
        ends = timeline.ends
        end = max(ends.values()) if len(ends) == len(timeline.sources) else None
        drawn.append(("combined watermark", timeline.combined.to_pylist(), end))
    return [
        {
            "name": label,
            "steps": [[row["seq"], row["watermark_ms"]] for row in rows if row["watermark_ms"] < MAX_WATERMARK],
            **_known(end=end),
        }
        for label, rows, end in drawn
    ]


def _texts(values: Iterable[object]) -> list[str | None]:
    return [None if value is None else _cut(words.value(value)) for value in values]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
