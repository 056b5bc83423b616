"""The elements that a page sent are recorded by place, for its export."""

from __future__ import annotations

import streamlit
from streamlit.testing.v1 import AppTest


def page() -> None:
    import streamlit as st

    from ui.export.record import aside, recorded, start_record

    start_record()
    st.header("Late records")
    with aside():
        st.caption("Spark is starting.")
    left, right = st.columns(2)
    right.markdown("right")
    left.markdown("left")
    st.empty().markdown("drawn at first").markdown("drawn in its place")
    st.session_state["kinds"] = [element.WhichOneof("type") for element in recorded()()]
    st.session_state["texts"] = [element.markdown.body for element in recorded()() if element.HasField("markdown")]


def test_streamlit_sends_what_a_page_draws_to_the_record() -> None:
    app = AppTest.from_function(page).run()
    found = [] if app.exception else app.session_state["kinds"]
    assert "heading" in found, (
        f"Streamlit {streamlit.__version__} sends its elements another way than through ScriptRunContext.enqueue, so "
        "exported pages are empty. Adapt ui.export.record._listen."
    )


def test_elements_are_in_the_order_of_the_page_and_what_was_replaced_or_is_aside_is_left_out() -> None:
    app = AppTest.from_function(page).run()
    assert app.session_state["texts"] == ["left", "right", "drawn in its place"]
    assert len(app.run().session_state["kinds"]) == len(app.session_state["kinds"])
