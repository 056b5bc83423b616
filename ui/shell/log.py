"""The app's log: what pages do not show. It goes to the terminal, even while Spark starts.

Starting Spark takes the process's stderr away for a few seconds, to keep the JVM's noise out of the terminal; so
the log writes to a copy of it that was made before.
"""

from __future__ import annotations

import logging
import os


def app_log() -> logging.Logger:
    """The log of the whole app."""
    logger = logging.getLogger("changelog_studio")
    if not logger.handlers:
        handler = logging.StreamHandler(os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace"))
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    return logger
