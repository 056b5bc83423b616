"""A chart of a query's result, if two of its columns fit: a number, text or time, and a number."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from storage.queries.queries import QueryResult
from ui.shell import theme, words

_NUMBERS: Final = (int, float, Decimal)
_FEW: Final = 40


def _holds(result: QueryResult, at: int, types: tuple[type, ...]) -> bool:
    values = [row[at] for row in result.rows if row[at] is not None]
    return bool(values) and all(isinstance(value, types) and not isinstance(value, bool) for value in values)


def axes(result: QueryResult) -> tuple[list[str], list[str]]:
    """The columns that fit the horizontal and the vertical axis."""
    along = [name for at, name in enumerate(result.columns) if _holds(result, at, (*_NUMBERS, str, date, datetime))]
    up = [name for at, name in enumerate(result.columns) if _holds(result, at, _NUMBERS)]
    return along, up


def query_chart(result: QueryResult) -> None:
    """Draw the chart with a choice of its columns; nothing if none fit."""
    along, up = axes(result)
    if len(result.rows) < 2 or not up or len({*along, *up}) < 2:
        return
    with st.expander("Chart", icon=":material/show_chart:"):
        first = along[0]
        with st.container(horizontal=True):
            x = st.selectbox("Horizontal", along, index=along.index(first), key="sql-x")
            others = [name for name in up if name != x] or up
            y = st.selectbox("Vertical", others, index=len(others) - 1, key="sql-y")
        at_x, at_y = result.columns.index(x), result.columns.index(y)
        xs: list[Any] = [_in_chart(row[at_x]) for row in result.rows]
        ys = [None if row[at_y] is None else float(row[at_y]) for row in result.rows]
        chart = theme.figure(340)
        if len(xs) <= _FEW and all(isinstance(value, str) for value in xs):
            chart.add_bar(x=xs, y=ys, name=words.in_chart(y))
        else:
            chart.add_scattergl(
                x=xs, y=ys, mode="lines+markers" if len(xs) <= 200 else "markers", name=words.in_chart(y)
            )
        chart.update_xaxes(title=words.in_chart(x))
        chart.update_yaxes(title=words.in_chart(y))
        theme.draw_figure(chart, "sql-chart")


def _in_chart(value: object) -> object:
    return words.in_chart(value) if isinstance(value, str) else value
