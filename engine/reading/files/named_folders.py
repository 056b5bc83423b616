"""The folders that sources may read, where a studio that others use names them: CHANGELOG_STUDIO_FOLDERS.

It is a list with commas, of folders of this machine and beginnings of URIs. Not set, a source reads what whoever runs
the studio may read. What is meant is where a path leads, not how it is written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = "CHANGELOG_STUDIO_FOLDERS"


def may_be_read(path: Path | str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a file, a folder or a URI (a text) is in one of the named folders; yes where none are named."""
    named = environ.get(ENVIRONMENT)
    if named is None:
        return True
    places = [place.strip() for place in named.split(",") if place.strip()]
    if isinstance(path, str):
        beginnings = [f"{place.rstrip('/')}/" for place in places if "://" in place]
        return ".." not in path.split("/") and path.startswith(tuple(beginnings))
    try:
        real = path.resolve()
        return any(real.is_relative_to(Path(place).resolve()) for place in places if "://" not in place)
    except (OSError, RuntimeError):
        return False


def refused(path: str) -> str:
    """What to say of a path that may not be read."""
    return (
        f"path: {path[:200]} is in none of the folders that this studio reads. Drop the file on the form, or ask "
        f"whoever runs the studio to name its folder in {ENVIRONMENT}."
    )
