"""The elements that a page sent are recorded by place, for its export."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import streamlit
from streamlit.proto.Element_pb2 import Element
from streamlit.runtime.scriptrunner import RerunData, ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.local_script_runner import LocalScriptRunner


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
    with st.spinner("Looking"):
        st.markdown("drawn while something spins")
    st.session_state["kinds"] = [element.WhichOneof("type") for element in recorded()()]
    st.session_state["texts"] = [element.markdown.body for element in recorded()() if element.HasField("markdown")]


def page_with_fragments() -> None:
    import streamlit as st

    from ui.export.record import aside, recorded, start_record

    @st.fragment
    def rows() -> None:
        count = st.session_state["count"]
        with st.container():
            for at in range(count):
                st.markdown(f"row {at} of {count}")
        with aside(), st.container():
            st.markdown("tools of the rows")

    @st.fragment
    def engine() -> None:
        st.markdown(f"engine at {st.session_state['count']}")

    start_record()
    st.session_state.setdefault("count", 3)
    st.markdown("above")
    rows()
    with aside(), st.container():
        engine()
    st.markdown("below")
    st.session_state["elements"] = recorded()


def redraw_fragments(app: AppTest) -> None:
    """Draw the fragments of a page again as Streamlit does: in a new thread, without the rest of the page."""
    fragments = list(app._fragment_storage._fragments)

    def request(runner: LocalScriptRunner, data: RerunData) -> bool:
        # Without the runner's first request, which is for the whole page.
        runner._requests = ScriptRequests()
        return ScriptRunner.request_rerun(runner, replace(data, fragment_id_queue=fragments))

    with mock.patch.object(LocalScriptRunner, "request_rerun", request):
        app.run()
    assert not app.exception


def texts(elements: list[Element]) -> list[str]:
    return [element.markdown.body for element in elements]


def test_streamlit_sends_what_a_page_draws_to_the_record() -> None:
    app = AppTest.from_function(page).run()
    found = [] if app.exception else app.session_state["kinds"]
    assert "heading" in found, (
        f"Streamlit {streamlit.__version__} sends its elements another way than through ScriptRunContext.enqueue, so "
        "exported pages are empty. Adapt ui.export.record._listen."
    )


def test_elements_are_in_the_order_of_the_page_and_what_was_replaced_or_is_aside_is_left_out() -> None:
    app = AppTest.from_function(page).run()
    assert app.session_state["texts"] == ["left", "right", "drawn in its place", "drawn while something spins"]
    assert len(app.run().session_state["kinds"]) == len(app.session_state["kinds"])


def test_a_fragment_that_is_drawn_again_replaces_all_that_it_drew_before() -> None:
    app = AppTest.from_function(page_with_fragments).run()
    elements = app.session_state["elements"]
    assert texts(elements()) == ["above", "row 0 of 3", "row 1 of 3", "row 2 of 3", "below"]
    app.session_state["count"] = 1
    redraw_fragments(app)
    assert texts(elements()) == ["above", "row 0 of 1", "below"]
    app.session_state["count"] = 2
    redraw_fragments(app)
    assert texts(elements()) == ["above", "row 0 of 2", "row 1 of 2", "below"]
    app.run()
    assert texts(app.session_state["elements"]()) == texts(elements())
