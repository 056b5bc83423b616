"""The script of every page, which `ui/server.py` serves: page config, navigation, and the guard around every page."""

import sys
from pathlib import Path

import streamlit as st

ROOT = str(Path(__file__).resolve().parent.parent)
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from storage.errors import StoreError  # noqa: E402
from ui.access.people import let_in  # noqa: E402
from ui.components.shell.engine_status import engine_note, start_engine  # noqa: E402
from ui.components.shell.page_tools import page_tools  # noqa: E402
from ui.components.shell.run_and_edge_picker import catch_up  # noqa: E402
from ui.components.shell.story_bar import story_bar  # noqa: E402
from ui.components.shell.story_writer import story_writer  # noqa: E402
from ui.components.shell.top_bar import inspect_bar, settle, top_bar  # noqa: E402
from ui.engines.far_files import look_at_chosen_engine  # noqa: E402
from ui.export.record import start_record  # noqa: E402
from ui.shell import workspace  # noqa: E402
from ui.shell.engine_gate import gate  # noqa: E402
from ui.shell.frame import presented  # noqa: E402
from ui.shell.guard import as_sentence, guard, take_fields  # noqa: E402
from ui.shell.navigation import follow, pages, view_of  # noqa: E402
from ui.shell.state import state  # noqa: E402

# A picture of our own: Streamlit would fetch one of its icons from a host on the Internet.
st.set_page_config(page_title="Changelog Studio", page_icon=f"{ROOT}/ui/assets/icon.svg", layout="wide")
let_in()
state.sync()
take_fields()
page = st.navigation(pages(), position="hidden")
follow(page)
view = view_of(page)
start_record()
engine_at_first = gate().status
tools = None
with guard():
    try:
        workspace.store()
    except StoreError as error:
        # No page has anything without it.
        st.error(as_sentence(error), icon=":material/error:")
        st.button("Try again", icon=":material/refresh:")
        st.stop()
    settle(view)
if state.present:
    st.html(presented(is_bare=state.is_bare))
else:
    with guard():
        tools = top_bar(view)
start_engine()
look_at_chosen_engine()
with guard():
    story_bar(view)
    story_writer(view)
    if not state.present:
        inspect_bar(view)
    page.run()
if not state.present:
    engine_note(engine_at_first)
page_tools(view, tools)
if not state.present:
    catch_up()
