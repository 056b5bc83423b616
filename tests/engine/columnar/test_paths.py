"""Columnar paths equal those of `engine.model.position`, byte for byte."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.paths import common_width, extended, longer, taken, timer_paths
from engine.model.position import ordinal, timer

ORDINALS = st.one_of(st.integers(0, 239), st.sampled_from([240, 255, 256, 70_000, 1 << 40, 1 << 62]))
STEPS = st.one_of(
    st.lists(st.just(b""), max_size=6),
    st.lists(st.binary(min_size=2, max_size=2), max_size=6),
    st.lists(st.binary(min_size=30, max_size=30), max_size=6),
    st.lists(st.binary(max_size=5), max_size=6),
)


def array_of(steps: list[bytes], skipped: int) -> pa.Array:
    """The paths as a slice of a longer array, so that its buffers have an offset."""
    return pa.array([b"zz"] * skipped + steps, pa.binary())[skipped:]


@given(steps=STEPS, skipped=st.integers(0, 2), data=st.data())
def test_paths_are_extended_by_their_ordinals(steps: list[bytes], skipped: int, data: st.DataObject) -> None:
    given_steps = array_of(steps, skipped)
    number = data.draw(ORDINALS)
    numbers = data.draw(st.lists(ORDINALS, min_size=len(steps), max_size=len(steps)))
    one, each = extended(given_steps, number), extended(given_steps, np.array(numbers, np.int64))
    one.validate(full=True)
    each.validate(full=True)
    assert one.to_pylist() == [step + ordinal(number) for step in steps]
    assert each.to_pylist() == [step + ordinal(n) for step, n in zip(steps, numbers, strict=True)]
    widths = set(map(len, steps)) or {0}
    assert common_width(given_steps) == (widths.pop() if len(widths) == 1 else None)


@given(steps=STEPS, skipped=st.integers(0, 2), suffix=st.binary(max_size=3))
def test_paths_get_the_suffix_of_a_view(steps: list[bytes], skipped: int, suffix: bytes) -> None:
    found = longer(array_of(steps, skipped), suffix)
    found.validate(full=True)
    assert found.to_pylist() == [step + suffix for step in steps]


@given(steps=STEPS, skipped=st.integers(0, 2), rank=ORDINALS, data=st.data())
def test_paths_of_timers(steps: list[bytes], skipped: int, rank: int, data: st.DataObject) -> None:
    size = len(steps)
    times = data.draw(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=size, max_size=size))
    seqs = data.draw(st.lists(ORDINALS, min_size=size, max_size=size))
    found = timer_paths(rank, np.array(times, np.int64), np.array(seqs, np.int64), array_of(steps, skipped))
    assert found.to_pylist() == [timer(rank, *origin) for origin in zip(times, seqs, steps, strict=True)]


@given(steps=STEPS, skipped=st.integers(0, 2), data=st.data())
def test_paths_are_taken_by_place(steps: list[bytes], skipped: int, data: st.DataObject) -> None:
    places = data.draw(st.lists(st.integers(0, len(steps) - 1), max_size=9)) if steps else []
    found = taken(array_of(steps, skipped), np.array(places, np.int64))
    found.validate(full=True)
    assert found.to_pylist() == [steps[place] for place in places]
