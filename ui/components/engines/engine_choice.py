"""The choice of the engine for a run: a select box of the known engines."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.errors import EngineUnavailable
from ui.builder.drafting import Drafting
from ui.engines.chosen import choose, chosen
from ui.engines.known import default_name, engine_of, master_of, names
from ui.shell.pending import pending, widget_value
from ui.shell.words import escaped

_HELP: Final = "The engine that executes the run. Add clusters and Spark Connect servers on the page Engines."
_WIDTH_PX: Final = 190


def draft_engine(drafting: Drafting) -> None:
    """Draw the choice next to the builder's run button, if there are several engines."""
    options = names()
    if len(options) < 2:
        return
    shown, key = chosen(), f"engine|{drafting.key}"
    pending().draw(key, shown, choose)
    st.selectbox(
        "Engine",
        options,
        options.index(shown) if shown in options else 0,
        key=key,
        help=_HELP,
        label_visibility="collapsed",
        width=_WIDTH_PX,
    )


def run_engine(engine: str, *, key: str, only_if_several: bool = False) -> None:
    """Draw the choice for a repeated run, initially the earlier run's engine; `chosen_engine` reads it."""
    options = names()
    is_there = engine in options or (bool(engine) and _is_address(engine))
    if is_there and engine not in options:
        options.append(engine)
    if only_if_several and len(options) < 2:
        return
    shown = engine if is_there else default_name()
    st.selectbox("Engine", options, options.index(shown) if shown in options else 0, key=key, help=_HELP, width=260)
    if engine and not is_there:
        st.caption(f"This run used {escaped(engine)}, which is no longer in your list of engines.")


def chosen_engine(key: str, engine: str) -> str | None:
    """The engine chosen in `run_engine`; if that was not drawn, the earlier run's engine. None for the default."""
    choice: str | None = widget_value(key)
    return choice or (engine if engine and (engine in names() or _is_address(engine)) else None)


def _is_address(engine: str) -> bool:
    try:
        engine_of(master_of(engine))
    except EngineUnavailable:
        return False
    return True
