"""The columnar join of inputs that are unique by the join key equals the plain one."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar import Layout
from engine.columnar.join import columnar_join
from engine.joins import JoinKind, JoinSide
from engine.operators.join import PairingJoin, SemiAntiJoin
from tests.engine.columnar.equality import ALL_KINDS, INSERTS, Given, Rules, check_equal, inputs

LEFT, RIGHT = (pa.string(), pa.int64()), (pa.string(), pa.float64(), pa.binary())
SINGLE = (
    JoinSide("JoinKeyContainsUniqueKey", len(LEFT), (), ""),
    JoinSide("JoinKeyContainsUniqueKey", len(RIGHT), (), ""),
)
MANY = JoinSide("NoUniqueKey", 2, None, "")


def rules(kind: JoinKind) -> Rules:
    """Both kernels of a join whose sides have one row per key."""
    make = columnar_join(kind, *SINGLE, has_condition=False, is_bundled=False).make
    assert make is not None
    output = LEFT if kind.is_left_only else (*LEFT, *RIGHT)
    cls = SemiAntiJoin if kind.is_left_only else PairingJoin
    return Rules(partial(cls, kind, *SINGLE), make, Layout((pa.string(), pa.int64()), (LEFT, RIGHT), output))


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


@pytest.mark.parametrize(
    ("sides", "has_condition", "is_bundled", "why"),
    [
        (SINGLE, False, False, "columnar: both inputs are unique by the join key"),
        (SINGLE, True, False, "record by record: who meets whom depends on a further condition"),
        (SINGLE, False, True, "record by record: mini-batch folds the changes of a bundle first"),
        ((SINGLE[0], MANY), False, False, "record by record: the right input may have many rows per join key"),
    ],
)
def test_the_choice_says_why(sides: tuple[JoinSide, JoinSide], has_condition: bool, is_bundled: bool, why: str) -> None:
    choice = columnar_join(JoinKind.LEFT, *sides, has_condition=has_condition, is_bundled=is_bundled)
    assert choice.why == why
    assert (choice.make is not None) == why.startswith("columnar")
