"""The folders for what later processes use again: a JAVA_HOME, an archive of classes, compiled code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def cache_folders(environ: Mapping[str, str]) -> list[Path]:
    """The user's cache folder, and the Python environment itself for a home that cannot be written."""
    home = Path(environ.get("HOME") or Path.home())
    user = home / "Library" / "Caches" if sys.platform == "darwin" else home / ".cache"
    return [Path(environ.get("XDG_CACHE_HOME") or user), Path(sys.prefix) / "var" / "cache"]
