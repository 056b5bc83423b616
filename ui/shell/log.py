"""The app's log: the details that pages do not show. It goes to the terminal, even while Spark starts.

The start of Spark redirects the process's stderr for a few seconds, to keep the JVM's output out of the terminal.
Therefore the log writes to a copy of stderr that was made before. Tokens of engines are removed from the log.
"""

from __future__ import annotations

import logging
import os

from ui.engines.known import without_tokens


class _Discreet(logging.Formatter):
    """Removes tokens: the errors of Spark clients may contain a complete address."""

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
