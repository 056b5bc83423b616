"""Names that are not taken. Names of columns and ids of nodes differ in more than case."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Final

LONGEST_ID: Final = 100
"""The largest number of characters of a node's id."""


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """The name of a column, or if it is taken, the name with the first free number: k, k0, k1, as in Flink."""
    return _first_free(chain([wanted], (f"{wanted}{number}" for number in count())), taken)


def free_id(wanted: str, taken: Iterable[str], separator: str = "_") -> str:
    """The id of a node, or if it is taken, the id with the first free number: a, a_2, a_3."""
    numbers = (f"{separator}{number}" for number in count(2))
    return _first_free((with_suffix(wanted, suffix) for suffix in chain([""], numbers)), taken)


def with_suffix(node_id: str, suffix: str) -> str:
    """An id with a suffix. A long id is cut off before the suffix."""
    return f"{node_id[: LONGEST_ID - len(suffix)]}{suffix}"


def _first_free(candidates: Iterator[str], taken: Iterable[str]) -> str:
    used = {name.lower() for name in taken}
    return next(name for name in candidates if name.lower() not in used)
