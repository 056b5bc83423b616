"""The columnar joins equal the plain one, for all kinds of unique keys of each side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.columnar.in_process import ChunkLoop
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import InShortChunks, Layout
from engine.contract.kernel import Input, Kernel, Output, run_key
from engine.joins.columnar import columnar_join
from engine.joins.columnar_rows import identities
from engine.joins.equal_keys import Matches
from engine.joins.pairs import paired
from engine.joins.sides import JoinKind, JoinSide
from engine.mini_batch.bundles import Bundles, KeyedRecord
from engine.model.timeline import Timeline
from engine.model.types import BIGINT, BINARY, DOUBLE, STRING, TIMESTAMP
from tests.engine.columnar.equality import ALL_KINDS, INSERTS, Given, Rules, check_equal, inputs, run_both_ways
from tests.engine.columnar.join_by_record import BundledJoin, PairingJoin, SemiAntiJoin

LEFT, RIGHT = (pa.string(), pa.int64()), (pa.string(), pa.float64(), pa.binary())
SINGLE = (
    JoinSide("JoinKeyContainsUniqueKey", len(LEFT), (), ""),
    JoinSide("JoinKeyContainsUniqueKey", len(RIGHT), (), "", (STRING, DOUBLE, BINARY)),
)
# Rows of a side with many rows per key. Some differ only in their microseconds, which their code does not include.
MANY = (pa.string(), pa.int64(), pa.int64())
MANY_TYPES = (STRING, BIGINT, TIMESTAMP)
BY_CONTENT = JoinSide("NoUniqueKey", 3, None, "", MANY_TYPES)
BY_KEY = JoinSide("HasUniqueKey", 3, (2, 0), "", MANY_TYPES)
BY_NUMBER = JoinSide("HasUniqueKey", 3, (1,), "", MANY_TYPES)
ONE = JoinSide("JoinKeyContainsUniqueKey", 3, (), "", MANY_TYPES)


def rules(
    kind: JoinKind,
    sides: tuple[JoinSide, JoinSide] = SINGLE,
    ttls_ms: tuple[int, int] = (0, 0),
    matches: Callable[[], Matches] | None = None,
    bundles: Bundling | None = None,
) -> Rules:
    """Both kernels of a join."""
    make = columnar_join(kind, sides, ttls_ms, matches, bundles).make
    assert make is not None
    values = (LEFT, RIGHT) if sides is SINGLE else (MANY, MANY)
    output = values[0] if kind.is_left_only else (*values[0], *values[1])
    cls = SemiAntiJoin if kind.is_left_only else PairingJoin
    plain: Callable[[], Kernel] = partial(cls, kind, *sides, matches, ttls_ms)
    if bundles is not None:
        plain = partial(BundledJoin, plain, kind, *sides)
    return Rules(plain, make, Layout((pa.string(), pa.int64()), values, output))


keys = st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, None]))
texts = st.sampled_from(["a", "", None])
rows = (
    st.tuples(texts, st.none() | st.integers(-5, 5)),
    st.tuples(texts, st.none() | st.floats(allow_nan=True), st.none() | st.binary(max_size=3)),
)
kinds = st.sampled_from(JoinKind)


@given(kinds, inputs(keys=keys, rows=rows, kinds=ALL_KINDS))
def test_records_of_any_kind_come_to_the_same(kind: JoinKind, given: Given) -> None:
    check_equal(rules(kind), given)


@given(kinds, inputs(keys=keys, rows=rows, kinds=INSERTS))
def test_inserts_come_to_the_same(kind: JoinKind, given: Given) -> None:
    check_equal(rules(kind), given)


@given(kinds, inputs(keys=st.just(("a", 1)), rows=rows, kinds=ALL_KINDS, max_size=60))
def test_many_records_of_one_key_come_to_the_same(kind: JoinKind, given: Given) -> None:
    check_equal(rules(kind), given)


# Few values, so that retracted rows are often present.
many = st.sampled_from(
    [("a", 0, 0), ("a", 1, 400), ("a", 0, 400), ("a", None, 2000), (None, 0, None), ("longer text", 1, 0)]
)
two = st.sampled_from([("a", 0, 0), ("a", 0, 400)])
few_keys = st.sampled_from([("a", 1), ("b", 1), (None, 1)])
sides = st.sampled_from([BY_CONTENT, BY_KEY, BY_NUMBER, ONE])
pairs_of_sides = st.tuples(sides, sides)
FEW_TAKEN_BACK = (0, 0, 2, 2, 1, 3)


@given(kinds, pairs_of_sides, inputs(keys=few_keys, rows=(many, many), kinds=FEW_TAKEN_BACK, min_size=15))
def test_many_rows_per_key_come_to_the_same(kind: JoinKind, sides: tuple[JoinSide, JoinSide], given: Given) -> None:
    check_equal(rules(kind, sides), given)


@given(kinds, pairs_of_sides, inputs(keys=few_keys, rows=(many, many), kinds=INSERTS, min_size=10))
def test_many_inserts_per_key_come_to_the_same(kind: JoinKind, sides: tuple[JoinSide, JoinSide], given: Given) -> None:
    check_equal(rules(kind, sides), given)


@given(
    kinds, pairs_of_sides, inputs(keys=st.just(("a", 1)), rows=(two, two), kinds=ALL_KINDS, min_size=10, max_size=40)
)
def test_many_rows_of_one_key_come_to_the_same(kind: JoinKind, sides: tuple[JoinSide, JoinSide], given: Given) -> None:
    check_equal(rules(kind, sides), given)


TTLS = st.sampled_from([(4, 4), (3, 9), (0, 5), (6, 0)])


@settings(max_examples=120)
@given(
    kinds,
    pairs_of_sides,
    TTLS,
    inputs(keys=few_keys, rows=(many, many), kinds=FEW_TAKEN_BACK, min_size=10, max_size=40, has_clock=True),
)
def test_rows_that_expire_come_to_the_same(
    kind: JoinKind, sides: tuple[JoinSide, JoinSide], ttls_ms: tuple[int, int], given: Given
) -> None:
    check_equal(rules(kind, sides, ttls_ms), given)


@given(kinds, TTLS, inputs(keys=keys, rows=rows, kinds=ALL_KINDS, max_size=40, has_clock=True))
def test_single_rows_that_expire_come_to_the_same(kind: JoinKind, ttls_ms: tuple[int, int], given: Given) -> None:
    check_equal(rules(kind, SINGLE, ttls_ms), given)


def test_the_rule_is_the_same_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    run_both_ways(paired, monkeypatch)

    @settings(max_examples=30)
    @given(
        kinds,
        pairs_of_sides,
        TTLS | st.just((0, 0)),
        inputs(keys=few_keys, rows=(many, many), kinds=FEW_TAKEN_BACK, min_size=10, has_clock=True),
    )
    def check(kind: JoinKind, sides: tuple[JoinSide, JoinSide], ttls_ms: tuple[int, int], given: Given) -> None:
        check_equal(rules(kind, sides, ttls_ms), given)

    check()


def test_the_rows_of_a_key_expire_one_by_one() -> None:
    of = rules(JoinKind.INNER, (BY_CONTENT, BY_CONTENT), (10, 20))
    line = Timeline.of([])
    loop = ChunkLoop(of.columnar, of.layout, line, Output(line), lambda seq: 4 * (seq - 1))
    run_key(loop, [Input(1, 0, ("a", 1, 1), 0), Input(2, 0, ("b", 2, 2), 1)], line, ("a", 1), None)
    assert loop.entries() == [(0, 10, 1), (1, 24, 1)]


def test_a_record_that_meets_more_rows_than_one_byte_can_number_comes_to_the_same() -> None:
    records = [(("a", 1), Input(seq, 0, ("", seq, seq), 0)) for seq in range(1, 301)]
    records += [(("a", 1), Input(301 + at, kind, ("", 0, 0), 1)) for at, kind in enumerate((0, 3, 0))]
    found = check_equal(rules(JoinKind.LEFT, (BY_CONTENT, BY_CONTENT)), Given(tuple(records), epochs=(301,)))
    assert len(found.emitted) == 300 + 3 * 600


@given(st.lists(st.tuples(st.integers(0, 2), texts, st.none() | st.integers(0, 2))))
def test_equal_rows_of_a_group_have_one_identity(given: list[tuple[int, str | None, int | None]]) -> None:
    columns = [pa.array([row[at] for row in given], type_) for at, type_ in ((1, pa.string()), (2, pa.int64()))]
    numbers = identities(np.array([row[0] for row in given], np.int64), columns).tolist()
    assert len(set(numbers)) == len(set(given)) == len(set(zip(given, numbers, strict=True)))


def _differ() -> Matches:
    return lambda pair: pair[1] != pair[4]


@settings(max_examples=120)
@given(
    kinds,
    pairs_of_sides,
    TTLS | st.just((0, 0)),
    inputs(keys=few_keys, rows=(many, many), kinds=FEW_TAKEN_BACK, min_size=10, max_size=40, has_clock=True),
)
def test_rows_that_meet_a_condition_come_to_the_same(
    kind: JoinKind, sides: tuple[JoinSide, JoinSide], ttls_ms: tuple[int, int], given: Given
) -> None:
    check_equal(rules(kind, sides, ttls_ms, _differ), given)


@settings(max_examples=150)
@given(
    kinds.filter(lambda kind: not kind.is_left_only),
    pairs_of_sides,
    st.sampled_from([None, _differ]),
    st.integers(1, 8),
    inputs(keys=few_keys, rows=(many, many), kinds=FEW_TAKEN_BACK, min_size=10, max_size=40),
)
def test_bundles_come_to_the_same(
    kind: JoinKind,
    sides: tuple[JoinSide, JoinSide],
    matches: Callable[[], Matches] | None,
    size: int,
    given: Given,
) -> None:
    bundling = Bundling(size)
    keyed = [KeyedRecord(key, item) for key, item in given.records]
    bundled = Bundles(bundling, np.zeros(0, np.int64), 0).bundled(keyed, 2)
    ended = tuple((key, item) for key, item in bundled if item.end is not None)
    check_equal(rules(kind, sides, (0, 0), matches, bundling), Given(ended))


@pytest.mark.parametrize(
    ("given_", "matches", "bundles", "why"),
    [
        ((0, 0), None, None, "columnar: rows meet by the join key alone"),
        ((5, 0), None, None, "columnar: rows meet by the join key alone"),
        ((0, 0), _differ, None, "columnar: a further condition is checked pair by pair"),
        ((0, 0), None, Bundling(3), "columnar: rows meet by the join key alone, bundle by bundle"),
    ],
)
def test_the_choice_says_why(
    given_: tuple[int, int], matches: Callable[[], Matches] | None, bundles: Bundling | None, why: str
) -> None:
    assert columnar_join(JoinKind.LEFT, SINGLE, given_, matches, bundles).why == why


@pytest.mark.parametrize("bundles", [None, Bundling(3)])
def test_a_join_that_tests_each_pair_takes_few_records_at_once(bundles: Bundling | None) -> None:
    for matches, is_short in ((_differ, True), (None, False)):
        found = rules(JoinKind.INNER, (BY_CONTENT, BY_CONTENT), (0, 0), matches, bundles)
        kernel = found.columnar(found.layout)
        assert isinstance(kernel, InShortChunks)
        assert (kernel.most_rows is not None) is is_short
