"""Clicks on the points of a chart in which a drag selects.

Streamlit sends clicks only where no drag selects: in other charts it sets Plotly's `clickmode` to `event`. Plotly then
tells of clicks, but Streamlit does not listen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from ui.components.registering import registered
from ui.shell.guard import guarded


@cache
def _component() -> Any:
    return registered(Path(__file__).parent, "<span></span>")


def on_point_click(chart: str, pick: Callable[[Any], None], opens: str) -> None:
    """Call `pick` with the customdata of a point of the chart with this key when it is clicked.

    opens: the key of the part of the page that may open then.
    """
    key = f"{chart}-click"

    @guarded
    def clicked() -> None:
        if (point := st.session_state[key].get("point")) is not None:
            pick(point["customdata"])

    _component()(key=key, data={"chart": chart, "opens": opens}, on_point_change=clicked)
