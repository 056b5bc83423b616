"""Keys as numbers: equal rows have equal hashes and codes, different rows different codes; codes sort like rows."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar.codes import codes_of, order_of
from engine.runtime.keyed.hashing import hashes_of

COLUMNS: dict[pa.DataType, st.SearchStrategy[Any]] = {
    pa.bool_(): st.booleans(),
    pa.int8(): st.integers(-(1 << 7), (1 << 7) - 1),
    pa.int64(): st.one_of(st.integers(-3, 3), st.integers(-(1 << 63), (1 << 63) - 1)),
    pa.float32(): st.one_of(st.sampled_from([0.0, -0.0, 1.5]), st.floats(width=32)),
    pa.float64(): st.one_of(st.sampled_from([0.0, -0.0, 1.5]), st.floats()),
    pa.string(): st.one_of(st.sampled_from(["", "a", "ab", "abcdefgh", "abcdefghi"]), st.text(max_size=30)),
    pa.binary(): st.binary(max_size=20),
    pa.decimal128(20, 2): st.decimals(-(10**17), 10**17, places=2),
    pa.date32(): st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    pa.list_(pa.int32()): st.lists(st.integers(0, 3), max_size=3),
    pa.null(): st.none(),
}


@st.composite
def rows(draw: st.DrawFn) -> list[pa.Array]:
    types = draw(st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=3))
    size = draw(st.integers(0, 12))
    cut = draw(st.integers(0, 2))
    values = (st.lists(st.one_of(st.none(), COLUMNS[t]), min_size=size + cut, max_size=size + cut) for t in types)
    # A slice, so that the buffers have an offset.
    return [pa.array(draw(of_type), type_).slice(cut) for of_type, type_ in zip(values, types, strict=True)]


def same(part: Any) -> Any:
    """The identity of a part of a key: NaN equals NaN, and zero has no sign."""
    if isinstance(part, float):
        return "NaN" if part != part else part + 0.0
    return tuple(part) if isinstance(part, list) else part


@given(rows())
def test_rows_are_told_apart_by_their_codes_and_no_others(columns: list[pa.Array]) -> None:
    size = len(columns[0])
    keys = [tuple(map(same, row)) for row in zip(*(column.to_pylist() for column in columns), strict=True)]
    codes, bits = codes_of(columns, size)
    hashes = hashes_of(columns, size)
    assert len(codes) == len(hashes) == size
    assert all(0 <= code < 1 << bits for code in codes.tolist())
    by_code: dict[int, Any] = {}
    for key, code in zip(keys, codes.tolist(), strict=True):
        assert by_code.setdefault(code, key) == key
    assert len(by_code) == len(set(keys))
    assert len({(key, value) for key, value in zip(keys, hashes.tolist(), strict=True)}) == len(set(keys))


@given(rows(), st.randoms())
def test_a_hash_does_not_depend_on_the_rows_beside_it(columns: list[pa.Array], random: Any) -> None:
    size = len(columns[0])
    places = list(range(size))
    random.shuffle(places)
    moved = [column.take(pa.array(places, pa.int64())) for column in columns]
    assert hashes_of(moved, size).tolist() == [hashes_of(columns, size).tolist()[at] for at in places]


@given(st.lists(st.integers(0, 5)), st.sampled_from([3, 61, 62]))
def test_rows_are_ordered_by_code_and_then_as_they_lie(given_codes: list[int], bits: int) -> None:
    codes = np.array(given_codes, np.int64) << (bits - 3)
    assert order_of(codes, bits).tolist() == sorted(range(len(codes)), key=lambda at: (codes[at], at))


# A hash determines the bucket of a key's state, so other versions must compute the same hash.
@pytest.mark.parametrize(
    ("column", "hash_"),
    [
        (pa.array([1]), 6_238_072_747_940_578_789),
        (pa.array(["changelog"]), 583_778_533_997_886_817),
        (pa.array([Decimal("1.50")]), 3_775_569_054_957_595_571),
        (pa.array([None], pa.int64()), 6_364_136_223_846_793_005),
    ],
)
def test_a_hash_is_the_same_on_every_machine(column: pa.Array, hash_: int) -> None:
    assert int(hashes_of([column], 1)[0]) == hash_
