"""The folders that sources of a shared studio may read: CHANGELOG_STUDIO_FOLDERS.

The variable is a comma-separated list of folders on this machine and URI prefixes. If it is not set, a source reads
all that the studio's own user may read. Paths are resolved before they are compared. A URI is decoded first, as often
as it has something to decode, because a server may do so too; one that then leads out of a folder, or that servers
read in more than one way, is in no folder.

The studio itself adds its folders of uploads and posted rows, and after RECORDINGS the one of recordings, which only
the source Recording reads.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final
from urllib.parse import unquote

ENVIRONMENT: Final = "CHANGELOG_STUDIO_FOLDERS"
RECORDINGS: Final = "recordings="
"""In the variable, before a folder of which nothing but recordings is read, and by their own source only."""
# Of a segment servers may leave out what follows a semicolon, and spaces at its ends.
_LEADS_UP: Final = re.compile(r"\s*\.{1,2}\s*(;.*)?")
_WEB: Final = ("http", "https")
_COPIES: Final[ContextVar[tuple[Path, ...]]] = ContextVar("folders with the studio's own copies of files", default=())


@contextmanager
def copies_in(folder: Path) -> Iterator[None]:
    """Inside this block, a folder may be read too: it has copies that the studio made of files that may be read."""
    token = _COPIES.set((*_COPIES.get(), folder.resolve()))
    try:
        yield
    finally:
        _COPIES.reset(token)


def may_be_read(path: Path | str, environ: Mapping[str, str] = os.environ, *, is_recording: bool = False) -> bool:
    """Whether a file, a folder or a URI (a text) is in one of the named folders; True if none are named.

    is_recording: whether the source Recording reads it.
    """
    if ENVIRONMENT not in environ:
        return True
    places = _places(environ)
    if isinstance(path, str):
        return _is_plain(path) and any(_is_below(path, place) for place in places)
    roots = [place.removeprefix(RECORDINGS) for place in places if is_recording or not place.startswith(RECORDINGS)]
    try:
        real = path.resolve()
        folders = [*_COPIES.get(), *(Path(place).resolve() for place in roots if "://" not in place)]
        return any(map(real.is_relative_to, folders))
    except (OSError, RuntimeError, ValueError):
        # A loop of links, the home of an unknown user, or a character that file names cannot have.
        return False


def is_on_named_host(uri: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Whether a URI is in one of the named folders that names its host too, and not all hosts of a scheme."""
    return _is_plain(uri) and any(_is_below(uri, place) for place in _places(environ) if not place.endswith("://"))


def refused(path: str) -> str:
    """The message for a path that may not be read."""
    return (
        f"path: {path[:200]} is in none of the folders that this studio reads. Drop the file on the form, or ask "
        f"whoever runs the studio to name its folder in {ENVIRONMENT}."
    )


def _places(environ: Mapping[str, str]) -> list[str]:
    """The named folders and URI prefixes; a prefix that servers read in more than one way names nothing."""
    places = [place.strip() for place in environ.get(ENVIRONMENT, "").split(",")]
    return [place for place in places if place and ("://" not in place or _is_plain(place))]


def _is_plain(uri: str) -> bool:
    """Whether every server reads the path of a URI in the same way, and none finds a way up in it."""
    scheme, _, rest = uri.partition("://")
    # Outside of the web, options of the file system, such as another server, would follow.
    if scheme.lower() not in _WEB and re.search(r"[?#]", rest):
        return False
    try:
        return all(
            text.isprintable() and "\\" not in text and not any(map(_LEADS_UP.fullmatch, text.split("/")[1:]))
            for decoded in _decoded(rest)
            for text in (decoded, unicodedata.normalize("NFKC", decoded))
        )
    except UnicodeDecodeError:
        return False


def _decoded(text: str) -> Iterator[str]:
    """A text, then what it is once decoded, and so on. Raises UnicodeDecodeError."""
    yield text
    while (decoded := unquote(text, errors="strict")) != text:
        yield (text := decoded)


def _is_below(uri: str, place: str) -> bool:
    """Whether a plain URI is a place, or below it. A place without a host names all hosts."""
    (server, inside), (named, folder) = map(_parts, (uri, place.rstrip("/") if not place.endswith("://") else place))
    is_there = server == named or (named.endswith("://") and server.startswith(named))
    return is_there and (not folder or inside == folder or inside.startswith(f"{folder}/"))


def _parts(uri: str) -> tuple[str, str]:
    """The scheme with the server, which is never decoded, and the decoded path."""
    scheme, _, rest = uri.partition("://")
    server, _, inside = rest.partition("/")
    *_, decoded = _decoded(inside)
    return f"{scheme}://{server}".lower(), decoded
