"""RAND(), RAND_INTEGER(n) and UUID() in VALUES: made of the place in the script, so that a run can be repeated."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Final
from uuid import UUID

from engine.sql.algebra import Expr
from engine.sql.rejected import SqlRejected

RANDOM: Final = ("RAND", "RAND_INTEGER", "UUID")


def random_value(name: str, values: Sequence[Any], item: Expr) -> Any:
    """The value of a call. values: its arguments, of which the last one of RAND_INTEGER is the bound; else seeds."""
    at = next((node.meta for node in item.walk() if "line" in node.meta), {})
    generator = Random(f"{name} {list(values)} {at.get('line')} {at.get('col')}")
    if name == "UUID":
        return str(UUID(int=generator.getrandbits(128), version=4))
    if name == "RAND":
        return generator.random()
    if not values or not isinstance(values[-1], int) or values[-1] < 1:
        message = "RAND_INTEGER takes a bound of at least 1: RAND_INTEGER(10) is a number from 0 to 9."
        raise SqlRejected(message, item)
    return generator.randrange(values[-1])
