"""Files that are opened at the same time: many objects of a bucket, each of which takes as long as the network does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from engine.reading.files.input_files import InputFile

AT_ONCE: Final = 32
_T = TypeVar("_T")


def in_groups(files: Sequence[InputFile], most: int) -> Iterator[Sequence[InputFile]]:
    """Objects of a bucket in groups of at most so many, other files one by one.

    The first one is alone: it has the columns, and usually enough rows.
    """
    at = 0
    while at < len(files):
        size = most if at and not files[at].is_here and files[at].storage is None else 1
        yield files[at : at + size]
        at += size


def of_each(read: Callable[[InputFile], _T], files: Sequence[InputFile]) -> list[_T]:
    """What is read of each file of a group. Raises what the first one raises that cannot be read."""
    if len(files) == 1:
        return [read(files[0])]
    with ThreadPoolExecutor(min(len(files), AT_ONCE)) as pool:
        return list(pool.map(read, files))
