"""The columns of an edge: type, event time, and whether they are part of an upsert key."""

from __future__ import annotations

from html import escape

import streamlit as st

from engine.contract.derived import Derived
from ui.shell.theme import LINE, muted


def schema_table(derived: Derived) -> None:
    """Draw the columns with their types, as Flink writes them; keys and event time are named beside them."""
    in_keys = {name for key in derived.upsert_keys for name in key}
    rows = "".join(
        f'<tr><td style="{_CELL}">{escape(column.name)}</td><td style="{_CELL}">'
        f'<code style="font-size:.82rem">{escape(column.type.flink)}</code></td><td style="{_CELL}">'
        f"{muted(', '.join(_roles(column.name in in_keys, column.time is not None)))}</td></tr>"
        for column in derived.schema
    )
    st.html(f'<table style="border-collapse:collapse;width:100%;font-size:.88rem"><tbody>{rows}</tbody></table>')


_CELL = f"padding:.2rem .6rem .2rem 0;border:0;border-bottom:1px solid {LINE}"


def _roles(is_key: bool, is_time: bool) -> list[str]:
    return [*(["key"] if is_key else []), *(["event time"] if is_time else [])]
