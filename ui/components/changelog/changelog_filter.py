"""The filter of a changelog's records: kinds (with their counts), text, conditions on columns, a range of events."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from engine.model.changelog import ChangelogMode, RowKind
from storage.model import Edge
from storage.wanted import Filter, Term
from ui.components.changelog.terms import FilterError, check_values, parse_terms
from ui.components.grid import Chip, chips
from ui.shell.guard import as_sentence
from ui.shell.state import state

_IN_ADDRESS: Final = "-in-address"


def changelog_filter(edge: Edge, last_seq: int) -> Filter:
    """Draw the filter in one row, as the address has it. Conditions that cannot be read are told and do not filter."""
    key = f"{edge.run_id}-{edge.table}"
    kinds_column, searched, matched, first, last = st.columns([3.2, 2, 2, 1.15, 1.15], vertical_alignment="center")
    with kinds_column:
        kinds = _kinds(edge, f"kinds-{key}")
    text = searched.text_input(
        "Contains",
        **_as_in_address(f"text-{key}", state.contains or ""),
        placeholder="contains text",
        label_visibility="collapsed",
        icon=":material/search:",
    )
    with matched:
        typed = _where(edge, key)
    begin, end = _events(state.events or "", last_seq)
    with first:
        bottom = _event("from", last_seq, _as_in_address(f"from-{key}", begin))
    with last:
        top = _event("to", last_seq, _as_in_address(f"to-{key}", end))
    wanted = Filter(kinds, (text or "").strip(), _terms(edge, typed), bottom, top)
    shown = {
        "kinds": " ".join(kind.symbol for kind in RowKind if kind in kinds),
        "contains": wanted.text,
        "where": typed,
        "events": "" if bottom is None and top is None else f"{bottom or ''}-{top or ''}",
    }
    drawn = {f"text-{key}": wanted.text, f"where-{key}": shown["where"], f"from-{key}": bottom, f"to-{key}": top}
    for widget, value in drawn.items():
        st.session_state[f"{widget}{_IN_ADDRESS}"].value = value
    if any((state.text(name) or "") != value for name, value in shown.items()):
        state.update(**{name: value or None for name, value in shown.items()})
    return wanted


def rows_where(edge: Edge) -> Filter:
    """Draw the conditions on columns alone, as the address has them. They are those of the changelog's filter."""
    key = f"{edge.run_id}-{edge.table}-alone"
    typed = _where(edge, key)
    st.session_state[f"where-{key}{_IN_ADDRESS}"].value = typed
    if (state.where or "") != typed:
        state.update(where=typed or None)
    return Filter(terms=_terms(edge, typed))


def _where(edge: Edge, key: str) -> str:
    """Draw the field of the conditions; return what is typed."""
    typed: str | None = st.text_input(
        "Where",
        **_as_in_address(f"where-{key}", state.where or ""),
        placeholder=_example(edge),
        label_visibility="collapsed",
        icon=":material/filter_alt:",
        help="Conditions on columns: =, <>, <, >, LIKE, IN, IS NULL, with commas or AND between them.",
    )
    return (typed or "").strip()


def _terms(edge: Edge, typed: str) -> tuple[Term, ...]:
    """The conditions as typed; none, and a sentence below, if they cannot be read."""
    try:
        terms = parse_terms(typed, edge.names)
        check_values(edge, terms)
    except FilterError as error:
        st.caption(f":red[{as_sentence(error)}]")
        return ()
    return terms


@dataclass
class _InAddress:
    """A value of the address, and how often it was another one than the widget had given it."""

    value: str | int | None
    changes: int = 0


def _as_in_address(key: str, value: str | int | None) -> dict[str, Any]:
    """The key of a widget and its first value: another widget whenever the address has another value than it gave."""
    held = st.session_state.setdefault(f"{key}{_IN_ADDRESS}", _InAddress(value))
    if held.value != value:
        held.value, held.changes = value, held.changes + 1
    first = st.session_state.setdefault(f"{key}{_IN_ADDRESS}-{held.changes}", value)
    return {"key": f"{key}-{held.changes}" if held.changes else key, "value": first}


def _events(text: str, last_seq: int) -> tuple[int | None, int | None]:
    """The range of events in the address; an end that is not an event of the run is open."""
    ends = (int(part) if part.isdecimal() else 0 for part in (text.partition("-")[0], text.partition("-")[2]))
    begin, end = (seq if 1 <= seq <= last_seq else None for seq in ends)
    return begin, end


def _event(end: str, last_seq: int, widget: dict[str, Any]) -> int | None:
    """Draw one end of the range of events; None if that end is open."""
    event: int | None = st.number_input(
        f"{end.capitalize()} event",
        1,
        max(last_seq, 1),
        **widget,
        placeholder=end,
        label_visibility="collapsed",
    )
    return event


def _kinds(edge: Edge, key: str) -> frozenset[RowKind]:
    """Draw one chip per kind that the edge can carry, with its count; pressed chips filter, none pressed shows all."""
    chosen = frozenset(kind for kind in RowKind if kind.symbol in (state.kinds or "").split())

    def toggle(symbol: str) -> None:
        after = chosen ^ {RowKind.of(symbol)}
        state.update(kinds=" ".join(kind.symbol for kind in RowKind if kind in after) or None)

    carried = ChangelogMode.read(edge.mode)
    shown = [Chip(kind, edge.counts.get(kind, 0), kind in chosen) for kind in RowKind if kind in carried]
    chips(shown, key=key, on_pick=toggle, label="Kinds")
    return chosen


def _example(edge: Edge) -> str:
    name = (edge.upsert_key or edge.names or ("column",))[0]
    return f"{name} = value, ..."
