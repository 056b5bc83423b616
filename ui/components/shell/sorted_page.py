"""A page of a table that can be sorted; the session keeps the order and the page under a key."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import streamlit as st

from storage.wanted import SortOrder
from ui.components.grid import Table, grid
from ui.components.shell.pager import pager

PAGE: Final = 50


@contextmanager
def sorted_page(
    label: str,
    key: str,
    table: Table,
    total: int,
    what: str,
    height: int | None,
    on_pick: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Draw a page of a table that can be sorted; its download, drawn inside, is beside its pager."""
    grid(
        table,
        key=f"{key}-grid",
        on_pick=on_pick,
        on_sort=lambda by: _sort(key, by),
        height=height,
        label=label,
    )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        yield
        pager(key, offset_of(key), PAGE, total, what=what)


def offset_of(key: str) -> int:
    """How many rows are before the page."""
    return int(st.session_state.get(key, 0))


def order_of(key: str) -> SortOrder | None:
    """The order that was chosen."""
    order: SortOrder | None = st.session_state.get(f"{key}-order")
    return order


def _sort(key: str, by: str) -> None:
    """Sort by a column, the largest first; the second time, the smallest first. Return to the first page."""
    order = order_of(key)
    is_turned = order is not None and order.by == by and order.descending
    st.session_state[f"{key}-order"] = SortOrder(by, descending=not is_turned)
    st.session_state[key] = 0
