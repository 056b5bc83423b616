"""Ends a run from outside."""

from __future__ import annotations

from threading import Event

from engine.errors import RunCancelled


class Cancel(Event):
    """Set to cancel a run. why: the sentence with which it ends; its user's own wish needs none."""

    why: str = ""

    def error(self) -> RunCancelled:
        """The error that ends the run."""
        return RunCancelled(self.why) if self.why else RunCancelled()
