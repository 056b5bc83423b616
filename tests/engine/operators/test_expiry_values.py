"""The values of an aggregate's functions expire one by one while their group lives on. The TTL is 10 ms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.contract.expiry import expiring
from engine.contract.kernel import Input, Kernel, run
from engine.model.changelog import DELETE, INSERT
from engine.model.types import BIGINT, DOUBLE, STRING, Type
from engine.operators.aggregate import AggregateKernel
from tests.engine.cases import Case, check_cases


def grouped(function: str, type_: Type, ttl_ms: int = 10, *, retracting: bool = True) -> Callable[[], Kernel]:
    call = AggregateCall(function_named(function), 1, type=type_)
    kernel = partial(AggregateKernel, [call], retracting=retracting, emit_unchanged=True, ttl_ms=ttl_ms)
    return expiring(kernel, ttl_ms)


def of(title: str, function: str, type_: Type, given_: str, expect: str, *, retracting: bool = True) -> Case:
    return Case(title, given_, expect, grouped(function, type_, retracting=retracting), key=("k",))


test_values = check_cases(
    [
        of(
            "the largest value stays when its entry goes, and its retraction does not count any more",
            "MAX",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  9  0
            2    +I    a  5  5
            3    +I    a  4  11
            4    -D    a  9  12
            5    +I    a  1  16
            6    -D    a  4  17
            """,
            """
            seq  kind  k  m
            1    +I    a  9
            2    -U    a  9
            2    +U    a  9
            3    -U    a  9
            3    +U    a  9
            4    -U    a  9
            4    +U    a  9
            5    -U    a  9
            5    +U    a  9
            6    -U    a  9
            6    +U    a  9
            """,
        ),
        of(
            "a copy refreshes its value, and the retraction of the best one finds those that are left",
            "MIN",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  3  0
            2    +I    a  1  4
            3    +I    a  3  9
            4    +I    a  2  9
            5    +I    a  8  10
            6    -D    a  1  13
            7    -D    a  2  18
            """,
            """
            seq  kind  k  m
            1    +I    a  3
            2    -U    a  3
            2    +U    a  1
            3    -U    a  1
            3    +U    a  1
            4    -U    a  1
            4    +U    a  1
            5    -U    a  1
            5    +U    a  1
            6    -U    a  1
            6    +U    a  2
            7    -U    a  2
            7    +U    a  3
            """,
        ),
        of(
            "if nothing is left, there is no largest value, in spite of the number of values",
            "MAX",
            DOUBLE,
            """
            seq  kind  k  v    clock
            1    +I    a  5.0  0
            2    +I    a  9.0  9
            3    +I    a  9.0  18
            4    -D    a  9.0  19
            5    -D    a  9.0  19
            """,
            """
            seq  kind  k  m
            1    +I    a  5.0
            2    -U    a  5.0
            2    +U    a  9.0
            3    -U    a  9.0
            3    +U    a  9.0
            4    -U    a  9.0
            4    +U    a  9.0
            5    -U    a  9.0
            5    +U    a  NULL
            """,
        ),
        of(
            "a list loses its first values, and what is retracted is what is left of the old list",
            "LISTAGG",
            STRING,
            """
            seq  kind  k  v  clock
            1    +I    a  x  0
            2    +I    a  y  5
            3    +I    a  z  10
            4    -D    a  z  14
            5    +I    a  u  15
            6    -D    a  x  16
            7    +I    a  w  24
            """,
            """
            seq  kind  k  l
            1    +I    a  x
            2    -U    a  x
            2    +U    a  x,y
            3    -U    a  y
            3    +U    a  y,z
            4    -U    a  y,z
            4    +U    a  y
            5    -U    a  y
            5    +U    a  y,u
            6    -U    a  y,u
            6    +U    a  y,u
            7    -U    a  u
            7    +U    a  u,w
            """,
        ),
        of(
            "without retraction a text goes with its group",
            "LISTAGG",
            STRING,
            """
            seq  kind  k  v  clock
            1    +I    a  x  0
            2    +I    a  y  9
            3    +I    a  z  18
            4    +I    a  u  28
            """,
            """
            seq  kind  k  l
            1    +I    a  x
            2    -U    a  x
            2    +U    a  x,y
            3    -U    a  x,y
            3    +U    a  x,y,z
            4    +I    a  u
            """,
            retracting=False,
        ),
        of(
            "an array loses its values without retraction, too",
            "ARRAY_AGG",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  2  9
            3    +I    a  3  18
            """,
            """
            seq  kind  k  l
            1    +I    a  [1]
            2    -U    a  [1]
            2    +U    a  [1,2]
            3    -U    a  [2]
            3    +U    a  [2,3]
            """,
            retracting=False,
        ),
        of(
            "the first value stays when its entries go, and its retraction does not count any more",
            "FIRST_VALUE",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  2  5
            3    -D    a  1  9
            4    +I    a  3  12
            5    -D    a  2  16
            6    -D    a  3  17
            """,
            """
            seq  kind  k  f
            1    +I    a  1
            2    -U    a  1
            2    +U    a  1
            3    -U    a  1
            3    +U    a  2
            4    -U    a  2
            4    +U    a  2
            5    -U    a  2
            5    +U    a  2
            6    -D    a  2
            """,
        ),
        of(
            "the last value goes back to a value that is left",
            "LAST_VALUE",
            DOUBLE,
            """
            seq  kind  k  v    clock
            1    +I    a  1.0  0
            2    +I    a  2.0  6
            3    +I    a  3.0  9
            4    -D    a  3.0  12
            5    -D    a  2.0  13
            6    +I    a  4.0  14
            """,
            """
            seq  kind  k  l
            1    +I    a  1.0
            2    -U    a  1.0
            2    +U    a  2.0
            3    -U    a  2.0
            3    +U    a  3.0
            4    -U    a  3.0
            4    +U    a  2.0
            5    -U    a  2.0
            5    +U    a  NULL
            6    -U    a  NULL
            6    +U    a  4.0
            """,
        ),
        of(
            "a copy refreshes the places of its value, but not the value at the first of them",
            "LAST_VALUE",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  1  8
            3    -D    a  1  12
            4    -D    a  1  13
            """,
            """
            seq  kind  k  l
            1    +I    a  1
            2    -U    a  1
            2    +U    a  1
            3    -U    a  1
            3    +U    a  1
            4    -D    a  1
            """,
        ),
        of(
            "a percentile is over the values that are left, with or without retraction",
            "PERCENTILE",
            BIGINT,
            """
            seq  kind  k  v  clock
            1    +I    a  1  0
            2    +I    a  3  6
            3    +I    a  5  12
            """,
            """
            seq  kind  k  p
            1    +I    a  1.0
            2    -U    a  1.0
            2    +U    a  2.0
            3    -U    a  3.0
            3    +U    a  4.0
            """,
            retracting=False,
        ),
    ]
)


@pytest.mark.parametrize(
    "function", ["MIN", "MAX", "ARRAY_AGG", "LISTAGG", "COLLECT", "FIRST_VALUE", "LAST_VALUE", "PERCENTILE"]
)
@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 3)), max_size=25))
def test_an_endless_ttl_is_none(function: str, steps: list[tuple[bool, int, int]]) -> None:
    type_ = STRING if function == "LISTAGG" else BIGINT
    held: list[int | str] = []
    inputs: list[Input] = []
    for adds, place, value in steps:
        if adds or not held:
            held.append(str(value) if type_ == STRING else value)
            inputs.append(Input(len(inputs) + 1, INSERT, ("a", held[-1])))
        else:
            inputs.append(Input(len(inputs) + 1, DELETE, ("a", held.pop(place % len(held)))))
    aging, _ = run(grouped(function, type_, 1 << 60)(), inputs, now=lambda seq: seq)
    without, _ = run(grouped(function, type_, 0)(), inputs)
    assert aging.emitted == without.emitted
