"""The range of events that a chart shows: a slider, which a drag over the chart also moves."""

from __future__ import annotations

import streamlit as st

from ui.shell.state import state


def seq_range(run_id: int, first: int, last: int) -> tuple[int, int]:
    """Draw the slider if there are enough events to choose from; return the range, by default all events."""
    if last - first < 2:
        return first, last
    key = f"range-{run_id}"
    low, high = st.session_state.get(key, state.range or (first, last))
    low, high = max(first, min(low, last)), max(first, min(high, last))
    st.session_state[key] = (low, high) if low < high else (first, last)

    def whole() -> None:
        st.session_state[key] = (first, last)

    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.slider(
            "Events shown",
            first,
            last,
            key=key,
            help="Drag over the chart to zoom into a range; the chart then shows more detail.",
        )
        st.button(
            "Whole run",
            key=f"{key}-whole",
            icon=":material/zoom_out_map:",
            on_click=whole,
            disabled=st.session_state[key] == (first, last),
        )
    chosen: tuple[int, int] = st.session_state[key]
    state.update(range=f"{chosen[0]}-{chosen[1]}" if chosen != (first, last) else None)
    return chosen
