"""What came out of an operator for a key, beside what would have come out otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ui.components.grid import Cell, Row, Table, grid
from ui.inspect.outcomes import Outcome
from ui.inspect.outcomes import Row as Emitted
from ui.shell import words


def outcome_tables(outcome: Outcome, node: str, titles: tuple[str, str, str], key: str) -> None:
    """Draw both. titles: of what came out, of what would have, and what to say if they do not differ."""
    came, otherwise, same = titles
    named = words.record(*zip(*outcome.key, strict=True)) if outcome.key else ""
    of = f" for {words.escaped(named)}" if named else ""
    if not outcome.emitted and not outcome.otherwise:
        st.caption(f"{same}{of}.")
        return
    left, right = st.columns(2)
    for place, title, rows in ((left, came, outcome.emitted), (right, otherwise, outcome.otherwise)):
        with place:
            st.caption(f"{title}{of}")
            if rows:
                grid(_emitted(outcome, rows), key=f"{key}-{title}", label=f"{title} at {node}")
            else:
                st.markdown("Nothing.")


def _emitted(outcome: Outcome, rows: Sequence[Emitted]) -> Table:
    return Table(
        ("kind", *outcome.columns),
        [Row([Cell(kinds=(kind,)), *map(Cell.of, values)]) for kind, values in rows],
        narrow=frozenset({"kind"}),
    )
