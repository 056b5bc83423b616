"""Patterns of paths: `*`, `?` and `[...]` in a part, `**` for any number of parts; as in shells, not for hidden names.

Only folders that can lead to a match are looked at, and no more than MOST_LOOKED names: a pattern such as `/*/*/*/*`
would go through the whole machine.
"""

from __future__ import annotations

import contextlib
import fnmatch
import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

MOST_LOOKED: Final = 200_000
"""The most names of files and folders that one pattern may look at, which takes some seconds."""


class TooWide(Exception):
    """The pattern looks at more than MOST_LOOKED names."""


def path_matches(path: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern."""
    at = _from(pattern, 0)
    for name in path:
        at = _after(pattern, at, name)
    return len(pattern) in at


def matching(place: Path) -> Iterator[Path]:
    """The paths on this machine that match a pattern. Raises TooWide.

    Below `**`, a folder is not visited from within itself, as links may lead there.
    """
    fixed = next(at for at, part in enumerate(place.parts) if glob.has_magic(part))
    pattern = place.parts[fixed:]
    return _Walk(pattern).below(Path(*place.parts[:fixed]), _from(pattern, 0), ())


class _Walk:
    """The walk for one pattern: at, the places in the pattern where a folder's names may match."""

    def __init__(self, pattern: Sequence[str]) -> None:
        self.pattern = pattern
        self.looked = 0

    def below(self, folder: Path, at: frozenset[int], within: tuple[str, ...]) -> Iterator[Path]:
        real = os.path.realpath(folder)
        if real in within and "**" in self.pattern:
            return
        for name in self._names(folder, at):
            self.looked += 1
            if self.looked > MOST_LOOKED:
                raise TooWide
            after = _after(self.pattern, at, name)
            path = folder / name
            if len(self.pattern) in after:
                yield path
            if after - {len(self.pattern)} and os.path.isdir(path):
                yield from self.below(path, after, (*within, real))

    def _names(self, folder: Path, at: frozenset[int]) -> Sequence[str]:
        parts = [self.pattern[place] for place in at if place < len(self.pattern)]
        if not any(map(glob.has_magic, parts)):
            # Folders that may not be listed can still be entered.
            return [part for part in sorted(set(parts)) if os.path.lexists(folder / part)]
        with contextlib.suppress(OSError):
            return sorted(os.listdir(folder))
        return ()


def _from(pattern: Sequence[str], at: int) -> frozenset[int]:
    """A place in the pattern, and those after it that need no name: `**` matches no part as well."""
    end = at
    while end < len(pattern) and pattern[end] == "**":
        end += 1
    return frozenset(range(at, end + 1))


def _after(pattern: Sequence[str], at: frozenset[int], name: str) -> frozenset[int]:
    places: set[int] = set()
    for place in at:
        if place == len(pattern):
            continue
        part = pattern[place]
        is_hidden = name.startswith(".") and not part.startswith(".")
        if part == "**":
            places |= frozenset() if is_hidden else _from(pattern, place)
        elif name == part or (not is_hidden and fnmatch.fnmatchcase(name, part)):
            places |= _from(pattern, place + 1)
    return frozenset(places)
