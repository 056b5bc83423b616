"""Mini-batch of deduplication, aggregation and joins: Flink's changelogs, bundle by bundle.

The order of the keys of a bundle is that of a hash map in Flink; here it is that of their first records.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.aggregates.function import AggregateCall
from engine.aggregates.registry import function_named
from engine.contract.bundling import Bundling
from engine.contract.columnar_kernel import ColumnarKernel, Layout
from engine.contract.kernel import Kernel
from engine.deduplication.columnar import KeepFirstColumns, KeepLastColumns, RowTimeColumns
from engine.joins.columnar import columnar_join
from engine.joins.sides import JoinKind, JoinSide
from engine.mini_batch.kernels import BundledColumns, ByTime, every, first, last
from engine.operators.aggregate import MiniBatchAggregateKernel
from tests.engine.cases import Case, check_cases

COUNT = AggregateCall(function_named("COUNT"))
CONTENT = JoinSide("NoUniqueKey", 2, None, "")
SINGLE = JoinSide("JoinKeyContainsUniqueKey", 2, (), "")
UNIQUE = JoinSide("HasUniqueKey", 2, (1,), "")
ON = {"table.exec.mini-batch.enabled": "true"}


def counting(*, retracting: bool = False, **settings: Any) -> Callable[[], Kernel]:
    return partial(MiniBatchAggregateKernel, [COUNT], retracting=retracting, **settings)


def by_time(fold: Any, *, keep_last: bool = True) -> Callable[[Layout], ColumnarKernel]:
    rule = partial(RowTimeColumns, time_at=2, width=3, keep_last=keep_last, update_before=True, tell_insert=True)
    return partial(BundledColumns, make=rule, fold=fold)


def by_arrival(**settings: bool) -> Callable[[Layout], ColumnarKernel]:
    rule = partial(KeepLastColumns, update_before=True, tell_insert=True, repeat=False, **settings)
    return partial(BundledColumns, make=rule, fold=last)


def joining(kind: JoinKind, left: JoinSide = CONTENT, right: JoinSide = CONTENT) -> Callable[[Layout], ColumnarKernel]:
    make = columnar_join(kind, (left, right), bundles=Bundling(1)).make
    assert make is not None
    return make


EVENTS = """
    seq  kind  k   v  rt    wm
    1    +I    k1  1  1000  .
    2    +I    k1  2  900   .
    3    +I    k2  3  1500  .
    4    +I    k1  4  1000  .
    5    +I    k2  5  1400  .
    6    +I    k1  6  2000  .
    7    +I    k1  7  1999  .
    8    +I    k2  8  1500  .
    9    wm                 MAX
"""


def joined(title: str, columnar: Callable[[Layout], ColumnarKernel], bundle: int, given: str, expect: str) -> Case:
    return Case(title, given, expect, key=("k",), ports=2, bundle=bundle, columnar=columnar)


BUNDLES = [
    Case(
        "a group says once per bundle what it has come to",
        kernel=counting(),
        key=("word",),
        bundle=3,
        given="""
            seq  kind  word  wm
            1    +I    a     .
            2    +I    b     .
            3    +I    a     .
            4    +I    c     .
            5    +I    b     .
            6    +I    a     .
            7    +I    a     .
            8    +I    a     .
            9    +I    d     .
            10   wm          MAX
        """,
        expect="""
            seq  kind  word  cnt
            3    +I    a     2
            3    +I    b     1
            6    +I    c     1
            6    -U    b     1
            6    +U    b     2
            6    -U    a     2
            6    +U    a     3
            9    -U    a     3
            9    +U    a     5
            9    +I    d     1
        """,
    ),
    Case(
        "a bundle that is not full ends with the watermark, and the next one counts anew",
        kernel=counting(),
        key=("word",),
        bundle=3,
        given="""
            seq  kind  word  wm
            1    +I    a     .
            2    +I    a     1000
            3    +I    a     .
            4    +I    b     .
            5    +I    a     .
            6    +I    a     .
            7    wm          MAX
        """,
        expect="""
            seq  kind  word  cnt
            2    +I    a     2
            5    -U    a     2
            5    +U    a     4
            5    +I    b     1
            7    -U    a     4
            7    +U    a     5
        """,
    ),
    Case(
        "a group that comes and goes within a bundle is not heard of, one that goes is deleted once",
        kernel=counting(retracting=True),
        key=("k",),
        bundle=4,
        given="""
            seq  kind  k  wm
            1    +I    a  .
            2    -D    a  .
            3    -D    x  .
            4    +I    b  .
            5    -U    b  .
            6    +U    b  .
            7    -D    b  .
            8    +I    c  .
        """,
        expect="""
            seq  kind  k  cnt
            4    +I    b  1
            8    -D    b  1
            8    +I    c  1
        """,
    ),
    Case(
        "a group whose largest value is 0 or NULL is there like any other",
        kernel=partial(MiniBatchAggregateKernel, [AggregateCall(function_named("MAX"), 1)], retracting=False),
        key=("k",),
        bundle=2,
        given="""
            seq  kind  k  v     wm
            1    +I    a  0     .
            2    +I    b  NULL  .
        """,
        expect="""
            seq  kind  k  max
            2    +I    a  0
            2    +I    b  NULL
        """,
    ),
    Case(
        "a group that is empty for a moment within a bundle has not changed",
        kernel=counting(retracting=True),
        key=("k",),
        bundle=1000,
        given="""
            seq  kind  k  wm
            1    +I    b  10
            2    -U    b  .
            3    +U    b  20
        """,
        expect="""
            seq  kind  k  cnt
            1    +I    b  1
        """,
    ),
    Case(
        "with a state ttl a group in a bundle is emitted even if it has not changed",
        kernel=counting(retracting=True, emit_unchanged=True),
        key=("k",),
        bundle=1000,
        given="""
            seq  kind  k  wm
            1    +I    b  10
            2    -U    b  .
            3    +U    b  20
        """,
        expect="""
            seq  kind  k  cnt
            1    +I    b  1
            3    -U    b  1
            3    +U    b  1
        """,
    ),
    Case(
        "the first row by arrival goes out at the end of its bundle",
        columnar=partial(BundledColumns, make=KeepFirstColumns, fold=first),
        key=("k",),
        bundle=3,
        given=EVENTS,
        expect="""
            seq  kind  k   v  rt
            3    +I    k1  1  1000
            3    +I    k2  3  1500
        """,
    ),
    Case(
        "the last row by arrival is that of the bundle",
        columnar=by_arrival(),
        key=("k",),
        bundle=3,
        given=EVENTS,
        expect="""
            seq  kind  k   v  rt
            3    +I    k1  2  900
            3    +I    k2  3  1500
            6    -U    k1  2  900
            6    +U    k1  6  2000
            6    -U    k2  3  1500
            6    +U    k2  5  1400
            9    -U    k1  6  2000
            9    +U    k1  7  1999
            9    -U    k2  5  1400
            9    +U    k2  8  1500
        """,
    ),
    Case(
        "over a changelog only the last change of a bundle counts, be it a delete",
        columnar=by_arrival(on_changelog=True),
        key=("k",),
        bundle=3,
        given="""
            seq  kind  k  v  wm
            1    +I    a  1  .
            2    +I    b  1  .
            3    -D    b  1  .
            4    +U    a  2  .
            5    -D    a  2  .
            6    +I    b  3  .
        """,
        expect="""
            seq  kind  k  v
            3    +I    a  1
            6    -D    a  1
            6    +I    b  3
        """,
    ),
    Case(
        "by event time every change of a bundle goes out",
        columnar=by_time(every),
        key=("k",),
        bundle=3,
        given=EVENTS,
        expect="""
            seq  kind  k   v  rt
            3    +I    k1  1  1000
            3    +I    k2  3  1500
            6    -U    k1  1  1000
            6    +U    k1  4  1000
            6    -U    k1  4  1000
            6    +U    k1  6  2000
            9    -U    k2  3  1500
            9    +U    k2  8  1500
        """,
    ),
    Case(
        "by event time, compacted, only the latest row of a bundle goes out",
        columnar=by_time(ByTime(2, keep_last=True)),
        key=("k",),
        bundle=3,
        given=EVENTS,
        expect="""
            seq  kind  k   v  rt
            3    +I    k1  1  1000
            3    +I    k2  3  1500
            6    -U    k1  1  1000
            6    +U    k1  6  2000
            9    -U    k2  3  1500
            9    +U    k2  8  1500
        """,
    ),
    Case(
        "the latest of equal times is the last, the earliest the first",
        columnar=by_time(ByTime(2, keep_last=False), keep_last=False),
        key=("k",),
        bundle=4,
        given="""
            seq  kind  k  v  rt    wm
            1    +I    a  1  1000  .
            2    +I    a  2  900   .
            3    +I    a  3  900   .
            4    +I    a  4  950   .
        """,
        expect="""
            seq  kind  k  v  rt
            4    +I    a  2  900
        """,
    ),
    joined(
        "an inner join joins what is left of a bundle",
        columnar=joining(JoinKind.INNER),
        bundle=100,
        given="""
            seq  kind  port  k  v   wm
            1    +I    0     a  1   .
            2    -D    0     a  1   .
            3    +I    0     a  2   .
            4    +I    0     b  3   .
            5    +I    1     a  10  .
            6    +I    1     b  20  .
            7    -D    1     b  20  .
            8    +I    1     b  21  .
            9    wm                 MAX
        """,
        expect="""
            seq  kind  k  x  k0  y
            9    +I    a  2  a   10
            9    +I    b  3  b   21
        """,
    ),
    joined(
        "a left join takes the right side of a bundle first, and does not pad in vain",
        columnar=joining(JoinKind.LEFT),
        bundle=2,
        given="""
            seq  kind  port  k  v   wm
            1    +I    0     a  1   .
            2    +I    1     a  10  .
            3    +I    0     b  2   .
            4    +I    0     b  2   .
        """,
        expect="""
            seq  kind  k  x  k0    y
            2    +I    a  1  a     10
            4    +I    b  2  NULL  NULL
            4    +I    b  2  NULL  NULL
        """,
    ),
    joined(
        "where a row of the inner side is replaced, its partners are not padded in between",
        columnar=joining(JoinKind.LEFT, SINGLE, SINGLE),
        bundle=2,
        given="""
            seq  kind  port  k  v   wm
            1    +I    0     a  1   .
            2    +I    1     a  10  .
            3    -U    1     a  10  .
            4    +U    1     a  11  .
            5    -D    1     a  11  .
            6    +I    0     c  1   .
        """,
        expect="""
            seq  kind  k  x  k0    y
            2    +I    a  1  a     10
            4    -U    a  1  a     10
            4    +I    a  1  a     11
            6    -D    a  1  a     11
            6    +I    a  1  NULL  NULL
            6    +I    c  1  NULL  NULL
        """,
    ),
    joined(
        "by unique key a bundle keeps the first row that goes and the last that comes",
        columnar=joining(JoinKind.INNER, UNIQUE, CONTENT),
        bundle=6,
        given="""
            seq  kind  port  k  v   wm
            1    +I    0     a  1   .
            2    -U    0     a  1   .
            3    +U    0     a  1   .
            4    +I    1     a  9   .
            5    +I    0     a  2   .
            6    -D    0     a  2   .
        """,
        expect="""
            seq  kind  k  x  k0  y
            6    +I    a  1  a   9
        """,
    ),
]

test_bundles = check_cases(BUNDLES)
