"""What of the workbench is open: the panel, the drawer with its height, and the tab that the drawer shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

import streamlit as st

from ui.builder.drafting import Drafting
from ui.runs.overlay import Overlay

Size = Literal["closed", "half", "full"]
RECORDS: Final = "Records"
LATE: Final = "Late"
SQL: Final = "SQL"
TABS: Final = (RECORDS, "Table as of", LATE, "Plan", SQL, "Problems")
_KEY: Final = "bench"
TAB: Final = "drawer-tab"


@dataclass
class Bench:
    """is_closed: the panel was put away. chosen: the drawer's height, None: nobody chose. tab: what it shows."""

    is_closed: bool = False
    chosen: Size | None = None
    tab: str = RECORDS

    def close_panel(self, drafting: Drafting) -> None:
        """Put the panel away, until something is selected."""
        drafting.selection = None
        self.is_closed = True

    def open_panel(self) -> None:
        """Show the panel, whatever is selected."""
        self.is_closed = False

    def is_panel_open(self, drafting: Drafting) -> bool:
        """Whether the panel is seen; who selects something wants its form."""
        if self.is_closed and drafting.selection is not None:
            self.is_closed = False
        return not self.is_closed

    def size(self, shown: Overlay | None) -> Size:
        """The drawer's height: what was chosen; else it opens once there is a run to be read."""
        return self.chosen or ("half" if shown is not None else "closed")

    def open_drawer(self, tab: str) -> None:
        """Show a tab of the drawer."""
        self.tab = tab
        if self.chosen in (None, "closed"):
            self.chosen = "half"


def bench() -> Bench:
    """The session's."""
    found = st.session_state.to_dict().get(_KEY)
    if not isinstance(found, Bench):
        found = st.session_state[_KEY] = Bench()
    return found
