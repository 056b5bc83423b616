"""Two runs side by side, as tables with the differences marked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from engine.model.changelog import ChangelogMode, RowKind
from engine.model.zones import Zone
from storage.changelogs.run_differences import CounterPair, LatePair, PlanDifference, RecordPair, TimePair
from storage.model import NodeCounters, Record
from ui.builder.editing import operator_class
from ui.components.grid import Cell, Row, Table
from ui.forms.fields import value_text
from ui.forms.spec import fields_of
from ui.shell import words


def plan_differences(differences: Sequence[PlanDifference]) -> tuple[PlanDifference, ...]:
    """The differences in the words of forms, without those of a value that is the default."""
    return tuple(_in_words(differences))


def _in_words(differences: Sequence[PlanDifference]) -> Iterator[PlanDifference]:
    for diff in differences:
        fields = {field.name: field for field in fields_of(cls)} if (cls := operator_class(diff.operator)) else {}
        field = fields.get(diff.what)
        if field is None:
            what = diff.what.replace("_", " ") if diff.what.startswith("plan: ") else diff.what
            yield replace(diff, what=what, left=_decided(what, diff.left), right=_decided(what, diff.right))
            continue
        sides = (field.default if value is None else value for value in (diff.left, diff.right))
        left, right = (value_text(field, value) for value in sides)
        if left != right:
            yield replace(diff, what=field.title, left=left, right=right)


def _decided(what: str, value: Any) -> str:
    match what:
        case "plan: mode":
            return ChangelogMode.read(value or "").signs
        case "plan: upsert keys":
            return " or ".join(", ".join(key) for key in value or ())
    return _text(value)


def _text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else json.dumps(value, ensure_ascii=False)


def plan_table(differences: Sequence[PlanDifference], left: str, right: str) -> Table:
    """One line per parameter or decision that differs."""
    rows = [
        Row((Cell(diff.node or "pipeline", is_strong=True), Cell(diff.what), _value(diff.left), _value(diff.right)))
        for diff in differences
    ]
    return Table(("node", "what", left, right), rows)


def _value(text: str) -> Cell:
    return Cell(text, is_changed=True) if text else Cell("none", tone="quiet")


def counter_table(pairs: Sequence[CounterPair], left: str, right: str) -> Table:
    """One line per node and run, differing counts marked; nodes that differ come first."""
    rows: list[Row] = []
    for pair in pairs:
        for name, own, other in ((left, pair.left, pair.right), (right, pair.right, pair.left)):
            rows.append(Row((Cell(pair.node, is_strong=True), Cell(name), *_counts(own, other))))
    columns = ("node", "run", "in", "out", *(kind.symbol for kind in RowKind), "dropped", "late but used", "rejected")
    return Table(columns, rows, frozenset(columns[2:]))


def _counts(own: NodeCounters | None, other: NodeCounters | None) -> list[Cell]:
    if own is None:
        return [Cell("missing", tone="quiet"), *[Cell("")] * 8]
    mine, theirs = _numbers(own), _numbers(other) if other else [None] * 9
    return [
        Cell("" if number is None else f"{number:,}", is_number=True, is_changed=number != beside)
        for number, beside in zip(mine, theirs, strict=True)
    ]


def _numbers(counters: NodeCounters) -> list[int | None]:
    return [
        counters.records_in,
        counters.records_out,
        *(counters.counts[kind] for kind in RowKind),
        counters.dropped,
        counters.used,
        counters.rejected,
    ]


def time_table(pairs: Sequence[TimePair], left: str, right: str, zone: Zone | None = None) -> Table:
    """One line per watermark and number of windows."""
    rows = []
    for pair in pairs:
        is_time = pair.what == "last watermark"
        cells = [_number(value, is_time, pair.left != pair.right, zone) for value in (pair.left, pair.right)]
        rows.append(Row((Cell(pair.name, is_strong=True), Cell(pair.what), *cells)))
    return Table(("source or operator", "what", left, right), rows, frozenset({left, right}))


def _number(value: float | None, is_time: bool, changed: bool, zone: Zone | None) -> Cell:
    if value is None:
        return Cell("none", tone="quiet")
    text = words.instant(int(value), zone) if is_time else f"{value:,}"
    return Cell(text, is_number=True, is_changed=changed)


def late_pairs_table(
    pairs: Sequence[LatePair], left: str, right: str, event: int | None, zone: Zone | None = None
) -> Table:
    """One line per record that was late in one of them only, or dropped in one and used in the other."""
    rows = [
        Row(
            (
                _event_of(pair),
                Cell(pair.node, is_strong=True),
                Cell(words.instant(pair.event_time_ms, zone)),
                Cell(words.window(pair.window_start_ms, pair.window_end_ms, zone=zone)),
                _outcome(pair.left_dropped, pair.left_ms),
                _outcome(pair.right_dropped, pair.right_ms),
            ),
            pick=str(pair.left_seq or pair.right_seq),
            is_current=event in (pair.left_seq, pair.right_seq),
        )
        for pair in pairs
    ]
    return Table(
        ("event", "operator", words.event_time(zone), "window", left, right),
        rows,
        frozenset({"event"}),
    )


def _event_of(pair: LatePair) -> Cell:
    """Its event, in both runs if it is another one."""
    both = dict.fromkeys(f"{seq:,}" for seq in (pair.left_seq, pair.right_seq) if seq is not None)
    return Cell(" / ".join(both), is_number=True)


def _outcome(dropped: bool | None, by_ms: int | None) -> Cell:
    if dropped is None:
        return Cell("in time", tone="good")
    by = "" if by_ms is None else f", late by {words.duration(by_ms)}"
    return Cell(f"dropped{by}", tone="bad") if dropped else Cell(f"late but used{by}")


def record_pairs_table(
    pairs: Sequence[RecordPair], names: Sequence[str], left: str, right: str, event: int | None
) -> Table:
    """Two changelogs, position by position; a run without a record at a position says so."""
    rows = []
    for pair in pairs:
        record = pair.left or pair.right
        assert record is not None
        rows.append(
            Row(
                (
                    Cell(f"{record.seq:,}", is_number=True),
                    *_side(pair.left, names, pair.is_same),
                    *_side(pair.right, names, pair.is_same),
                ),
                pick=str(record.seq),
                is_current=record.seq == event,
            )
        )
    columns = ("event", f"{left} kind", left, f"{right} kind", right)
    return Table(columns, rows, frozenset({"event"}), frozenset({"event", columns[1], columns[3]}))


def _side(record: Record | None, names: Sequence[str], same: bool) -> tuple[Cell, Cell]:
    if record is None:
        return Cell(""), Cell("nothing", tone="quiet")
    return Cell(kinds=(record.kind,)), Cell(words.record(names, record.values), is_changed=not same)
