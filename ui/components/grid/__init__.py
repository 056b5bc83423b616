"""Our own tables and chips: kinds as badges, changed cells marked, one event highlighted, rows that can be picked.

Python makes the (escaped) HTML. The browser only scrolls and picks: by a click, or by Up, Down, Home and End while a
table has the focus. Only the rows of the current page are sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.components.grid.chips import Chip, chips_html
from ui.components.grid.table import Cell, Row, Table, html_of, number_columns
from ui.components.registering import registered

__all__ = ["Cell", "Chip", "Row", "Table", "chips", "grid", "html_of", "number_columns"]


@cache
def _renderer() -> Any:
    return registered(Path(__file__).parent, '<div class="root"></div>')


def _draw(
    key: str,
    data: dict[str, object],
    on_pick: Callable[[str], None] | None,
    on_sort: Callable[[str], None] | None = None,
) -> None:
    def picked() -> None:
        chosen = st.session_state[key].get("picked")
        if on_pick is not None and chosen is not None:
            on_pick(str(chosen))

    def sorted_by() -> None:
        chosen = st.session_state[key].get("sorted")
        if on_sort is not None and chosen is not None:
            on_sort(str(chosen))

    _renderer()(
        key=key,
        data={**data, "pickable": on_pick is not None},
        on_picked_change=picked,
        on_sorted_change=sorted_by,
    )


def grid(
    table: Table,
    *,
    key: str,
    on_pick: Callable[[str], None] | None = None,
    on_sort: Callable[[str], None] | None = None,
    height: int | None = None,
    label: str = "",
    follows: bool = True,
) -> None:
    """Draw a table. on_pick is called with the `pick` of the row that the user chose, before the page reruns.

    on_sort is called with the name in `sorts` of the column whose head was pressed. follows: scroll to the current
    row; if not, a new table is shown from its first row.
    """
    shown: dict[str, object] = {"html": html_of(table), "height": height, "label": label, "shape": "grid"}
    _draw(key, shown | {"follows": follows}, on_pick, on_sort)


def chips(shown: Sequence[Chip], *, key: str, on_pick: Callable[[str], None], label: str) -> None:
    """Draw a row of chips. on_pick is called with the `pick` of the chip that the user pressed."""
    _draw(key, {"html": chips_html(shown), "height": None, "label": label, "shape": "chips"}, on_pick)
