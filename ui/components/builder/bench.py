"""The open parts of the workbench: the panel, and the drawer with its height and its tab."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from ui.builder.drafting import Drafting
from ui.runs.overlay import Overlay
from ui.shell.kept import kept

Size = Literal["closed", "half", "full"]
RECORDS: Final = "Records"
LATE: Final = "Late"
SQL: Final = "SQL"
PROBLEMS: Final = "Problems"
TABS: Final = (RECORDS, "Table as of", LATE, "Plan", SQL, PROBLEMS)
_KEY: Final = "bench"
TAB: Final = "drawer-tab"


@dataclass
class Bench:
    """The open parts. drawer_size: None until one is chosen. asks: the question before a live run that is open.

    shows_settings: the panel is open although nothing is selected.
    """

    shows_settings: bool = False
    drawer_size: Size | None = None
    tab: str = RECORDS
    asks: Literal["a second one", "it ends"] | None = None

    def close_panel(self, drafting: Drafting) -> None:
        """Close the panel until something is selected."""
        drafting.selection = None
        self.shows_settings = False

    def open_settings(self, drafting: Drafting) -> None:
        """Show the settings of the pipeline in the panel."""
        drafting.selection = None
        self.shows_settings = True

    def size(self, shown: Overlay | None) -> Size:
        """The drawer's height: the chosen one; else half if there is a run to show, or closed."""
        return self.drawer_size or ("half" if shown is not None else "closed")

    def open_drawer(self, tab: str) -> None:
        """Show a tab of the drawer."""
        self.tab = tab
        if self.drawer_size in (None, "closed"):
            self.drawer_size = "half"


def bench() -> Bench:
    """The bench of the session."""
    return kept(_KEY, Bench)
