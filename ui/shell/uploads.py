"""Uploaded files: stored beside the store under the hash of their content, never changed.

The same file uploaded twice is stored once, and a pipeline that names it always reads the same bytes.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import IO, Final, NamedTuple

from engine.reading.files.archives import unzipped
from engine.reading.files.dropped import as_read

FOLDER: Final = "files"
# File systems allow 255; a character beyond ASCII takes up to four.
_NAME_BYTES: Final = 100


class Kept(NamedTuple):
    """The path to write into a pipeline, relative to the store's folder, and what was changed in the file."""

    path: str
    note: str | None = None


def keep_dropped(stream: IO[bytes], name: str, folder: Path, endings: Collection[str]) -> list[Kept]:
    """Store a file that somebody dropped, or the files with these endings in a zip file, as sources read them.

    Raises OSError, PipelineError.
    """
    kept = []
    for own_name, content in unzipped(stream, name, endings):
        chunks, note = as_read(content, own_name)
        kept.append(Kept(keep(chunks, own_name, folder), note))
    return kept


def keep(chunks: Iterable[bytes], name: str, folder: Path) -> str:
    """Store a file; returns the path to write into a pipeline, relative to `folder`. Raises OSError."""
    target = folder / FOLDER
    target.mkdir(parents=True, exist_ok=True)
    partial = target / f".{secrets.token_hex(8)}.part"
    digest = hashlib.sha256()
    try:
        with partial.open("wb") as output:
            for chunk in chunks:
                digest.update(chunk)
                output.write(chunk)
        relative = Path(FOLDER) / digest.hexdigest()[:16] / safe_name(name)
        (folder / relative).parent.mkdir(exist_ok=True)
        os.replace(partial, folder / relative)
    finally:
        partial.unlink(missing_ok=True)
    return relative.as_posix()


def safe_name(name: str) -> str:
    """The file's own name, fit for any file system."""
    plain = re.sub(r"[^\w.\- ]", "_", Path(name.replace("\\", "/")).name).strip(". ")
    return plain.encode(errors="replace")[-_NAME_BYTES:].decode(errors="ignore") or "file"


def first_lines(path: Path, most: int = 8, width: int = 160) -> list[str]:
    """The first lines of a text file, long ones truncated; [] if it is not a text file or cannot be read."""
    try:
        with path.open("rb") as file:
            raw = file.read(64 * 1024)
    except (OSError, ValueError):
        # ValueError: a name that no file can have.
        return []
    if b"\0" in raw:
        return []
    lines = raw.decode("utf-8", errors="replace").splitlines()[:most]
    return [line if len(line) <= width else line[:width] + "…" for line in lines]
