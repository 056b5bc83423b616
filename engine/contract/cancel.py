"""Ends a run from outside."""

from __future__ import annotations

from threading import Event

from engine.errors import RunCancelled, RunFailed, StudioError


class Cancel(Event):
    """Set to end a run. why: the sentence with which it ends; its user's own wish needs none.

    is_failure: it ends because it cannot go on, not because somebody wants it to.
    """

    why: str = ""
    is_failure: bool = False

    def error(self) -> StudioError:
        """The error that ends the run."""
        if self.is_failure:
            return RunFailed(self.why)
        return RunCancelled(self.why) if self.why else RunCancelled()
