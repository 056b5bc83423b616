"""Positions: where in a run a record was emitted, as a sortable path below the event that caused it.

A position is (`seq`, `step`). `seq` is the ordinal of the source event, from 1. `step` is a path of
self-delimiting codes that sort as their numbers do, so that comparing two paths as bytes compares the
order of emission, and a prefix of a path is a cause:

    source record        (empty)
    its first output     00
    its second output    01
    output of a join     <step of the input> <port> <ordinal>
    output of a timer    FF <rank of the operator> <time> <seq and step of the first record> <ordinal>

A timer's path starts with FF, which no ordinal does, so records that a watermark advance fires follow
those that the record itself caused.
"""

from __future__ import annotations

from typing import Final, NamedTuple

TIMER: Final = b"\xff"
_ONE_BYTE: Final = 240
ORDINALS: Final = tuple(bytes([n]) for n in range(_ONE_BYTE))
"""The codes of the numbers below 240."""

_SIGN: Final = 1 << 63


def ordinal(n: int) -> bytes:
    """The code of a number >= 0: one byte below 240, else its length (F0..F7) and its bytes."""
    if n < _ONE_BYTE:
        return ORDINALS[n]
    size = (n.bit_length() + 7) // 8
    return bytes([_ONE_BYTE - 1 + size]) + n.to_bytes(size, "big")


def timer(rank: int, time_ms: int, origin_seq: int, origin_step: bytes) -> bytes:
    """The path of a timer's outputs, without the ordinal of each.

    rank: the operator's place in the topological order: upstream timers come first.
    time_ms: the time of the timer. origin: the position of the first record of its window.
    """
    return TIMER + ordinal(rank) + (time_ms + _SIGN).to_bytes(8, "big") + ordinal(origin_seq) + origin_step


class Firing(NamedTuple):
    """A timer as its outputs' path encodes it: the operator's rank, the time, the event that set it."""

    rank: int
    time_ms: int
    seq: int


def origin_of(step: bytes) -> Firing | None:
    """The timer that a path starts with; None if a record caused the output. The inverse of `timer`."""
    if not step.startswith(TIMER):
        return None
    rank, at = _number(step, 1)
    time_ms = int.from_bytes(step[at : at + 8], "big") - _SIGN
    seq, _ = _number(step, at + 8)
    return Firing(rank, time_ms, seq)


def _number(step: bytes, at: int) -> tuple[int, int]:
    """The number whose code begins at this place, and the place of the next one."""
    size = step[at] - _ONE_BYTE + 1
    if size <= 0:
        return step[at], at + 1
    return int.from_bytes(step[at + 1 : at + 1 + size], "big"), at + 1 + size


def hexadecimal(step: bytes) -> str:
    """A path as text: lower-case hex, empty for a source record."""
    return step.hex()


def readable(step: bytes) -> str:
    """A path for people: `1.2`, each number from 1; `timer 1` for outputs that a watermark fired; empty at a source."""
    words: list[str] = []
    numbers: list[str] = []
    at = 0
    while at < len(step):
        if step[at : at + 1] == TIMER:
            # The time and the origin of a timer explain why it fired; they are not part of the order shown.
            words, numbers = ["timer"], []
            at = _number(step, _number(step, at + 1)[1] + 8)[1]
        else:
            number, at = _number(step, at)
            numbers.append(str(number + 1))
    return " ".join([*words, *([".".join(numbers)] if numbers else [])])
