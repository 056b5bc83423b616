"""What was noticed when the document was read: over the canvas, until the next edit or until somebody closes it."""

from __future__ import annotations

import streamlit as st

from ui.builder.drafting import Drafting
from ui.components.builder.stand_ins import empty_tables
from ui.shell.guard import as_sentence, guarded


def notices(drafting: Drafting) -> None:
    """Draw them, and the tables that wait for rows."""
    if not drafting.notices:
        return
    with st.container(key="bench-notice", horizontal=True, vertical_alignment="top", gap="xsmall", wrap=False):
        first, *others = map(as_sentence, drafting.notices)
        with st.container(gap="xsmall"):
            st.info(first, icon=":material/info:")
            if others:
                with st.expander("One more note" if len(others) == 1 else f"{len(others)} more notes"):
                    st.markdown("\n\n".join(others))
        st.button(
            "",
            icon=":material/close:",
            key="notices-close",
            help="Close these notes",
            type="tertiary",
            on_click=guarded(_close),
            args=(drafting,),
        )
    empty_tables(drafting)


def _close(drafting: Drafting) -> None:
    drafting.notices = ()
