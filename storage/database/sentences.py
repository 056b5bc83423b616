"""What DuckDB's messages say to users."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

# DuckDB tells of an error in Python with its traceback.
_AWAY: Final = re.compile(r"^(?:[\w.]+\.)?(?:UnknownFile|BucketError|BucketAway): (.*)$", re.MULTILINE)
_MISSING: Final = re.compile(r'No files found that match the pattern "([^"]*)"|Cannot (?:open|access) file "([^"]*)"')


def failure_in(text: str, files: Collection[str] | None = None) -> str | None:
    """What DuckDB's message says of records in a workspace that cannot be read; None if nothing.

    files: those in workspaces; without them, a file that is missing is taken for one.
    """
    if (away := _AWAY.search(text)) is not None:
        return away[1]
    missing = _MISSING.search(text)
    # Where there is no such file, DuckDB looks for a folder.
    place = (missing[1] or missing[2]).removesuffix("/**/*.parquet") if missing else ""
    is_away = place and (files is None or place in files)
    return f"There is no file {place} on this machine." if is_away else None


def first_sentence(text: str) -> str:
    """DuckDB's message without its class, its hints and its stack."""
    line = text.strip().splitlines()[0] if text.strip() else "no reason was given"
    line = re.sub(r"^(\w+ )*(Error|exception): ", "", line)
    return line if line.endswith((".", "!")) else f"{line}."
