"""The filter of a changelog's records: kinds (with their counts), text, `column = value`, a range of events."""

from __future__ import annotations

import re
from typing import Final

import streamlit as st

from engine.errors import unknown_name
from engine.model.changelog import RowKind
from storage.model import Edge, Filter
from ui.components.grid import Chip, chips
from ui.shell.guard import as_sentence
from ui.shell.theme import mode_of

_PAIR: Final = re.compile(r"""\s*(?:"([^"]+)"|([^=,"]+?))\s*=\s*(?:'((?:[^']|'')*)'|([^,']*?))\s*(?:,|$)""")


class FilterError(ValueError):
    """The text is not a valid filter; the message says how to write one."""


def parse_equals(text: str, names: tuple[str, ...]) -> tuple[tuple[str, object], ...]:
    """`word = Hello, cnt = 2` as (column, value) pairs; NULL unquoted is NULL. Raises FilterError."""
    pairs: list[tuple[str, object]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _PAIR.match(text, at)
        if match is None:
            message = f"write column = value, several with commas between them; got {text[at:].strip()!r}."
            raise FilterError(message)
        typed = (match[1] or match[2]).strip()
        name = next((name for name in names if name.lower() == typed.lower()), None)
        if name is None:
            message = f"{unknown_name('column', typed, names)}."
            raise FilterError(message)
        if match[3] is not None:
            pairs.append((name, match[3].replace("''", "'")))
        else:
            pairs.append((name, None if match[4].upper() == "NULL" else match[4]))
        at = match.end()
    return tuple(pairs)


def changelog_filter(edge: Edge, last_seq: int) -> Filter:
    """Draw the filter in one row. An invalid `column = value` is reported and does not filter."""
    key = f"{edge.run_id}-{edge.table}"
    kinds_column, searched, matched, first, last = st.columns([3.2, 2, 2, 1.15, 1.15], vertical_alignment="center")
    with kinds_column:
        kinds = _kinds(edge, f"kinds-{key}")
    text = searched.text_input(
        "Contains",
        key=f"text-{key}",
        placeholder="contains text",
        label_visibility="collapsed",
        icon=":material/search:",
    )
    typed = matched.text_input(
        "Column = value",
        key=f"equals-{key}",
        placeholder=_example(edge),
        label_visibility="collapsed",
        icon=":material/filter_alt:",
    )
    with first:
        bottom = _event("from", last_seq, key)
    with last:
        top = _event("to", last_seq, key)
    equals: tuple[tuple[str, object], ...] = ()
    try:
        equals = parse_equals(typed or "", edge.names)
    except FilterError as error:
        st.caption(f":red[{as_sentence(error)}]")
    return Filter(kinds, (text or "").strip(), equals, bottom, top)


def _event(end: str, last_seq: int, key: str) -> int | None:
    """Draw one end of the range of events; None if that end is open."""
    return st.number_input(
        f"{end.capitalize()} event",
        1,
        max(last_seq, 1),
        None,
        key=f"{end}-{key}",
        placeholder=end,
        label_visibility="collapsed",
    )


def _kinds(edge: Edge, key: str) -> frozenset[RowKind]:
    """Draw one chip per kind that the edge can carry, with its count; pressed chips filter, none pressed shows all."""
    chosen: frozenset[RowKind] = st.session_state.get(f"{key}-chosen", frozenset())

    def toggle(symbol: str) -> None:
        st.session_state[f"{key}-chosen"] = chosen ^ {RowKind.of(symbol)}

    carried = mode_of(edge.mode)
    shown = [Chip(kind, edge.counts.get(kind, 0), kind in chosen) for kind in RowKind if kind in carried]
    chips(shown, key=key, on_pick=toggle, label="Kinds")
    return chosen


def _example(edge: Edge) -> str:
    name = (edge.upsert_key or edge.names or ("column",))[0]
    return f"{name} = value"
