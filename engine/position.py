"""Positions: where in a run a record was emitted, as a sortable path below the event that caused it.

A position is (`seq`, `step`). `seq` is the ordinal of the source event, from 1. `step` is a path of
self-delimiting codes that sort as their numbers do, so that comparing two paths as bytes compares the
order of emission, and a prefix of a path is a cause:

    source record        (empty)
    its first output     00
    its second output    01
    output of a join     <step of the input> <port> <ordinal>
    output of a timer    FF <rank of the operator> <time> <seq and step of the first record> <ordinal>

A timer's path starts with FF, which no ordinal does, so whatever a watermark advance fires comes after
whatever the record itself caused.
"""

from __future__ import annotations

from typing import Final

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
    """The path of what a timer emits, without the ordinal of each output.

    rank: the operator's place in the topological order: upstream timers come first.
    time_ms: what the timer waited for. origin: the position of the first record of its window.
    """
    return TIMER + ordinal(rank) + (time_ms + _SIGN).to_bytes(8, "big") + ordinal(origin_seq) + origin_step


def hexadecimal(step: bytes) -> str:
    """A path as text: lower-case hex, empty for a source record."""
    return step.hex()
