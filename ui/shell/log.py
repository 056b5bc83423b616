"""The app's log: what pages do not show. It goes to the terminal, even while Spark starts.

Starting Spark takes the process's stderr away for a few seconds, to keep the JVM's noise out of the terminal; so
the log writes to a copy of it that was made before. No token of an engine gets into it.
"""

from __future__ import annotations

import logging
import os

from ui.engines.known import without_tokens


class _Discreet(logging.Formatter):
    """What clients of Spark raise may have the whole address in it."""

    def format(self, record: logging.LogRecord) -> str:
        return without_tokens(super().format(record))


def app_log() -> logging.Logger:
    """The log of the whole app."""
    logger = logging.getLogger("changelog_studio")
    if not logger.handlers:
        handler = logging.StreamHandler(os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace"))
        handler.setFormatter(_Discreet("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    return logger
