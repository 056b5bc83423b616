"""An operator's state for a key after an event, as tables that mark what the event added, changed and removed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import streamlit as st

from engine.contract.state_in_words import Description, StateTable
from engine.model.zones import Zone
from engine.replay import Going
from ui.components.grid import Cell, Row, Table, grid
from ui.components.held.held_table import of_kind
from ui.inspect.replaying import KeyState
from ui.shell import words

_SHOWN: Final = 50
_NARROW: Final = 3


def key_state(snapshot: KeyState, *, name: str, zone: Zone | None = None) -> bool:
    """Draw the state with the event's changes marked. name: of the key. True if the user asks to replay all records."""
    replayed = snapshot.now
    wants_all = False
    if snapshot.is_cut:
        st.warning(
            f"This key has {words.count(snapshot.total, 'record')} up to this event. The first {replayed.records:,} "
            f"were replayed: this is the state after event {replayed.event:,}.",
            icon=":material/content_cut:",
        )
        wants_all = st.button("Replay all of them", key=f"state-all-{name}", help="It may take some seconds.")
    earlier = {table.title: table for table in snapshot.before.state} if snapshot.before is not None else {}
    if not replayed.state:
        st.caption("No state is kept for this key.")
    if replayed.goes:
        st.markdown("\n".join(f"- {sentence}" for sentence in going_sentences(replayed.goes, replayed.now_ms, zone)))
    with _faded(left_of(replayed.goes, replayed.now_ms), name):
        for row in _rows(replayed.state):
            for place, table in zip(st.columns(len(row)) if len(row) > 1 else [st.container()], row, strict=True):
                with place:
                    # If the state before the event is not known, nothing is marked.
                    before = table if snapshot.is_cut else earlier.pop(table.title, None)
                    _draw(table, before, f"{name} {table.title}")
    for gone in earlier.values():
        st.caption(f"{words.escaped(gone.title)}: now empty.")
    return wants_all


def left_of(goes: Sequence[Going], now_ms: int) -> float:
    """How much of its TTL the youngest entry of a state has left, from 1 (just written) to 0 (expired)."""
    return max((min(1.0, max(0.0, (going.expires_ms - now_ms) / going.ttl_ms)) for going in goes), default=1.0)


def going_sentences(goes: Sequence[Going], now_ms: int, zone: Zone | None = None) -> Iterator[str]:
    """When the entries of each kind go, or went, in Markdown."""

    def at(ms: int) -> str:
        return words.moment(ms, zone)

    for kind in dict.fromkeys(going.kind for going in goes):
        own = [going for going in goes if going.kind == kind]
        gone = [going for going in own if going.expires_ms <= now_ms]
        if gone:
            last = max(going.expires_ms for going in gone)
            what = of_kind(sum(going.number for going in gone), kind)
            yield f"**{what}** expired, by {at(last)}: the next record of this key finds nothing of that."
        waiting = sorted(going.expires_ms for going in own if going.expires_ms > now_ms)
        if waiting:
            what = of_kind(sum(going.number for going in own if going.expires_ms > now_ms), kind)
            first, last = waiting[0], waiting[-1]
            until = f" to {at(last)}" if last > first else ""
            yield (
                f"**{what}** left, until {at(first)}{until}: it goes in {words.duration(first - now_ms)}"
                f"{f' to {words.duration(last - now_ms)}' if last > first else ''}, unless it is written before."
            )


@contextmanager
def _faded(left: float, name: str) -> Iterator[None]:
    """Draw the older the paler. name: of the key."""
    step = round(left * 10)
    with st.container(key=f"state-left-{step}-{name}"):
        if step < 10:
            opacity = 0.4 + 0.06 * step
            st.html(f"<style>[class*='st-key-state-left-{step}-'] {{ opacity: {opacity:.2f}; }}</style>")
        yield


def _rows(state: Description) -> list[list[StateTable]]:
    """The layout of the tables: two narrow ones share a row."""
    rows: list[list[StateTable]] = []
    for table in state:
        is_narrow = len(table.columns) <= _NARROW
        if is_narrow and rows and len(rows[-1]) == 1 and len(rows[-1][0].columns) <= _NARROW:
            rows[-1].append(table)
        else:
            rows.append([table])
    return rows


def _draw(table: StateTable, before: StateTable | None, label: str) -> None:
    st.caption(words.escaped(table.title))
    grid(state_grid(table, before), key=f"state-{label}", label=label, height=_height(table))
    notes = [table.note] if table.note else []
    if table.total > min(len(table.rows), _SHOWN):
        notes.append(f"The first {min(len(table.rows), _SHOWN):,} of {table.total:,} are shown.")
    if notes:
        st.caption(" ".join(notes))


def state_grid(table: StateTable, before: StateTable | None) -> Table:
    """The table as a grid; rows and cells that the event changed are marked, rows that it removed are struck out."""
    rows = table.rows[:_SHOWN]
    old = list(before.rows[:_SHOWN]) if before is not None else []
    gone = [row for row in old if row not in rows]
    shown: list[Row] = []
    for row in rows:
        if row in old:
            shown.append(Row([_cell(value) for value in row]))
            continue
        was = _counterpart(row, gone)
        if was is None:
            shown.append(Row([_cell(value) for value in row], tone="good"))
            continue
        gone.remove(was)
        cells = [_cell(value, changed=value != old_value) for value, old_value in zip(row, was, strict=True)]
        shown.append(Row(cells, tone="updated"))
    shown += [Row([_cell(value) for value in row], is_gone=True) for row in gone]
    numbers = frozenset(
        name
        for at, name in enumerate(table.columns)
        if rows and all(isinstance(row[at], int | float) and not isinstance(row[at], bool) for row in rows)
    )
    return Table(table.columns, shown, numbers)


def _counterpart(row: tuple[Any, ...], gone: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The row that this one replaced: of those with the same first value, the one with the most equal values."""
    alike = [(sum(a == b for a, b in zip(row, old, strict=True)), old) for old in gone if old[0] == row[0]]
    return max(alike, key=lambda item: item[0])[1] if alike else None


def _cell(value: Any, *, changed: bool = False) -> Cell:
    if isinstance(value, bool):
        return Cell("yes" if value else "no", tone="" if value else "quiet", is_changed=changed)
    if isinstance(value, dict):
        text = ", ".join(f"{words.value(key)} × {words.value(count)}" for key, count in value.items())
        return Cell(text or "none", is_changed=changed)
    if isinstance(value, list) and all(isinstance(item, tuple) and len(item) == 2 for item in value) and value:
        return Cell(", ".join(f"{words.value(key)}: {words.value(held)}" for key, held in value), is_changed=changed)
    if isinstance(value, datetime) and value.microsecond and value.microsecond % 1000 == 0:
        return Cell(value.isoformat(sep=" ", timespec="milliseconds"), is_changed=changed)
    return Cell.of(value, changed=changed)


def _height(table: StateTable) -> int | None:
    return 330 if len(table.rows) > 9 else None
