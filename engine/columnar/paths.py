"""Steps (the paths of `engine.model.position`) as Arrow arrays: an output extends the path of its record or timer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.contract.columnar_kernel import Longs
from engine.model.position import ORDINALS, TIMER, ordinal

Bytes = NDArray[np.uint8]

_ONE_BYTE: Final = len(ORDINALS)
_SIGN: Final = np.uint64(1 << 63)
# Wider paths are copied as blocks, not column by column.
_NARROW: Final = 24


def extended(steps: pa.Array, ordinals: int | NDArray[Any]) -> pa.Array:
    """Each path with an output's ordinal appended: one for all, or one per path."""
    if isinstance(ordinals, int):
        return longer(steps, ordinal(ordinals))
    codes = codes_of(ordinals)
    return _widened(steps, _data(codes).reshape(-1, 1)) if common_width(codes) == 1 else _joined(steps, codes)


def longer(steps: pa.Array, suffix: bytes) -> pa.Array:
    """Each path with the same suffix."""
    return _widened(steps, np.frombuffer(suffix, np.uint8)[np.newaxis])


def _widened(steps: pa.Array, suffixes: Bytes) -> pa.Array:
    """Each path with a row of bytes appended: one for all, or one per path."""
    width, more = common_width(steps), suffixes.shape[1]
    if width is None:
        tail = pa.scalar(suffixes.tobytes(), pa.binary()) if len(suffixes) == 1 else fixed(suffixes)
        return _joined(steps, tail)
    wider = np.empty((len(steps), width + more), np.uint8)
    data = _data(steps).reshape(len(steps), width)
    if width <= _NARROW:
        for at in range(width):
            wider[:, at] = data[:, at]
    else:
        wider[:, :width] = data
    wider[:, width:] = suffixes
    return fixed(wider)


def taken(steps: pa.Array, places: NDArray[np.integer[Any]]) -> pa.Array:
    """The paths of the records at these places."""
    if common_width(steps) == 0:
        return steps[:1].take(pa.array(np.zeros(0, np.int64))) if not len(places) else empty(len(places))
    return steps.take(pa.array(places))


def timer_paths(rank: int, times_ms: Longs, seqs: Longs, steps: pa.Array) -> pa.Array:
    """The paths of timers' outputs, without the ordinal of each output: `engine.model.position.timer` for many timers.

    times_ms: the time of each timer. seqs, steps: the position of the first record of its window.
    """
    front = pa.scalar(TIMER + ordinal(rank), pa.binary())
    times = (times_ms.view(np.uint64) ^ _SIGN).astype(">u8")
    return _joined(front, fixed(times.view(np.uint8).reshape(len(times_ms), 8)), codes_of(seqs), steps)


def codes_of(numbers: NDArray[Any]) -> pa.Array:
    """The codes of numbers >= 0, as by `engine.model.position.ordinal`."""
    if not (numbers >= _ONE_BYTE).any():
        return fixed(numbers.astype(np.uint8).reshape(len(numbers), 1))
    wide = np.empty((len(numbers), 9), np.uint8)
    wide[:, 1:] = numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)
    # 0 if the number fits into the first byte, else the number of bytes after it.
    sizes = np.zeros(len(numbers), np.int64)
    sizes[numbers >= _ONE_BYTE] = 1
    for size in range(2, 9):
        sizes[numbers >= 1 << (8 * (size - 1))] = size
    wide[:, 0] = np.where(sizes == 0, wide[:, 8], sizes + (_ONE_BYTE - 1))
    used_bytes = np.arange(9) > (8 - sizes)[:, np.newaxis]
    used_bytes[:, 0] = True
    offsets = np.zeros(len(numbers) + 1, np.int32)
    np.cumsum(sizes + 1, out=offsets[1:])
    return _binary(offsets, wide[used_bytes])


def digits_of(steps: pa.Array) -> Iterator[tuple[Longs, int]]:
    """Numbers that sort as the paths do, the most significant first, with their bits; without those common to all."""
    width, starts = common_width(steps), _offsets(steps) - (_offsets(steps)[0] if len(steps) else 0)
    sizes = np.diff(starts).astype(np.int64)
    longest = int(sizes.max(initial=0))
    data = np.concatenate((_data(steps), np.zeros(longest, np.uint8)))
    for at in range(longest):
        digits = data[at : len(data) - longest : longest] if width else np.where(sizes > at, data[starts[:-1] + at], 0)
        if not (digits == digits[0]).all():
            yield digits.astype(np.int64), 8
    # A path precedes those that begin with it, even if they go on with zeros.
    if width is None:
        yield sizes, longest.bit_length()


def empty(size: int) -> pa.Array:
    """The empty paths of `size` source records."""
    return fixed(np.empty((size, 0), np.uint8))


def fixed(rows: Bytes) -> pa.Array:
    """Paths of one width: a row of bytes each."""
    size, width = rows.shape
    offsets = np.arange(0, size * width + 1, width, dtype=np.int32) if width else np.zeros(size + 1, np.int32)
    return _binary(offsets, np.ascontiguousarray(rows).reshape(-1))


def common_width(steps: pa.Array) -> int | None:
    """The length of the paths if all are equally long, else None; 0 without paths."""
    if not len(steps):
        return 0
    offsets = _offsets(steps)
    width = int(offsets[1] - offsets[0])
    if int(offsets[-1] - offsets[0]) != width * len(steps):
        return None
    return width if not width or bool((np.diff(offsets) == width).all()) else None


def _offsets(steps: pa.Array) -> NDArray[np.int32]:
    offsets: NDArray[np.int32] = np.frombuffer(steps.buffers()[1], np.int32)
    return offsets[steps.offset : steps.offset + len(steps) + 1]


def _data(steps: pa.Array) -> Bytes:
    data = steps.buffers()[2]
    if not len(steps) or data is None:
        return np.zeros(0, np.uint8)
    offsets = _offsets(steps)
    bytes_: Bytes = np.frombuffer(data, np.uint8)
    return bytes_[int(offsets[0]) : int(offsets[-1])]


def _binary(offsets: NDArray[np.int32], data: Bytes) -> pa.Array:
    return pa.Array.from_buffers(pa.binary(), len(offsets) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def _joined(*parts: pa.Array | pa.Scalar) -> pa.Array:
    return pc.binary_join_element_wise(*parts, pa.scalar(b"", pa.binary()))
