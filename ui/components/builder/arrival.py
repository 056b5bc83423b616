"""How several sources interleave, for the whole pipeline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import streamlit as st

from ui.builder.drafting import Drafting
from ui.builder.editing import operator_class, set_arrival
from ui.shell.pending import pending

_MODES: Final[Mapping[str, str]] = {
    "one_after_the_other": "one source after the other",
    "in_turn": "in turn, one record of each",
    "by_event_time": "by event time, each source in its own order",
    "by_column": "by each source's arrival column",
    "listed": "in the order listed",
    "recorded": "as they were recorded",
}
_HOW: Final = (
    "By event time, sources are merged and each keeps its own order: what is late in a source stays late. By arrival "
    "columns all records are sorted: none is late if these are the event times."
)
_ENDS: Final[Mapping[str, str]] = {
    "at_its_last_record": "its watermark reaches the maximum at once",
    "together": "its watermark waits for the other sources",
}


def arrival_editor(drafting: Drafting) -> None:
    """Draw the choices; with fewer than two sources there is nothing to interleave."""
    pipeline = drafting.pipeline
    sources = [node.id for node in pipeline.nodes if getattr(operator_class(node.operator), "role", "") == "source"]
    if len(sources) < 2:
        st.caption("With two or more sources, choose here how their records interleave.")
        return
    arrival = pipeline.arrival
    key = f"arrival|{drafting.key}|{drafting.generation('arrival')}"

    def bind(name: str, shown: str, read: Callable[[str], object] = str) -> str:
        def take(raw: str) -> None:
            if key.endswith(f"|{drafting.generation('arrival')}"):
                drafting.edit(set_arrival(drafting.pipeline, **{name: read(raw)}), redraw=False)

        pending().draw(f"{key}|{name}", shown, take)
        return f"{key}|{name}"

    def choose(title: str, name: str, titles: Mapping[str, str], shown: str, help: str | None = None) -> None:
        keys = list(titles)
        st.selectbox(title, keys, keys.index(shown), format_func=titles.__getitem__, key=bind(name, shown), help=help)

    choose("Records of the sources arrive", "mode", _MODES, arrival.mode, _HOW)
    if arrival.mode == "listed":
        order = ", ".join(arrival.order)
        st.text_area(
            f"The source of each event ({', '.join(sources)})",
            order,
            key=bind("order", order, _names),
            placeholder=", ".join([*sources, sources[0]]),
            height=80,
        )
    if arrival.mode == "recorded":
        return
    choose(
        "After a source's last record",
        "ends",
        _ENDS,
        arrival.ends,
        "At once: the source no longer holds back the combined watermark. Otherwise all sources end together, "
        "after the last event of all sources.",
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())
