"""The folders that sources of a shared studio may read: CHANGELOG_STUDIO_FOLDERS.

The variable is a comma-separated list of folders on this machine and URI prefixes. If it is not set, a source reads
all that the studio's own user may read. Paths are resolved before they are compared.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

ENVIRONMENT: Final = "CHANGELOG_STUDIO_FOLDERS"


def may_be_read(path: Path | str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a file, a folder or a URI (a text) is in one of the named folders; True if none are named."""
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
    except (OSError, RuntimeError, ValueError):
        # A loop of links, the home of an unknown user, or a character that file names cannot have.
        return False


def refused(path: str) -> str:
    """The message for a path that may not be read."""
    return (
        f"path: {path[:200]} is in none of the folders that this studio reads. Drop the file on the form, or ask "
        f"whoever runs the studio to name its folder in {ENVIRONMENT}."
    )
