"""Aggregate functions in Python on bare kernels: changelogs, state between epochs, and errors."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.aggregates.accumulators import compile_calls
from engine.aggregates.function import AggregateCall
from engine.aggregates.python_function import functions_of
from engine.aggregates.registry import function_named
from engine.contract.kernel import Kernel
from engine.contract.state_in_words import Label, Names
from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, STRING
from engine.model.windowing import Windowing, WindowKind
from engine.operators.aggregate import AggregateKernel
from engine.python_functions.aggregates import PythonAggregate
from engine.python_functions.containers import ListView, MapView, Row, as_plain, from_plain
from engine.python_functions.loading import FunctionFailed
from engine.windows.session_kernel import SessionWindowKernel
from tests.engine.cases import Case, check_cases

WEIGHTED = """
from pyflink.common import Row
from pyflink.table import AggregateFunction, DataTypes
from pyflink.table.udf import udaf

class Weighted(AggregateFunction):
    def create_accumulator(self):
        return Row(total=0, weight=0)
    def accumulate(self, acc, value, weight):
        if value is not None:
            acc["total"], acc[1] = acc.total + value * weight, acc["weight"] + weight
    def retract(self, acc, value, weight):
        if value is not None:
            acc[0] -= value * weight
            acc[1] -= weight
    def merge(self, acc, others):
        for other in others:
            acc[0] += other[0]
            acc[1] += other[1]
    def get_value(self, acc):
        return acc[0] // acc[1] if acc[1] else None
    def get_result_type(self):
        return DataTypes.BIGINT()

f = udaf(Weighted())
"""
TEXTS = """
from pyflink.table import AggregateFunction, ListView, MapView
from pyflink.table.udf import udaf

class Texts(AggregateFunction):
    def create_accumulator(self):
        return [ListView(), MapView()]
    def accumulate(self, acc, text):
        acc[0].add(text)
        acc[1][text] = (acc[1].get(text) or 0) + 1
    def retract(self, acc, text):
        left = list(acc[0])
        left.remove(text)
        acc[0].clear()
        acc[0].add_all(left)
        acc[1].put(text, acc[1][text] - 1)
        if not acc[1].get(text):
            acc[1].remove(text)
    def merge(self, acc, others):
        for other in others:
            acc[0].extend(other[0])
            for text, times in other[1].items():
                acc[1][text] = (acc[1][text] or 0) + times
    def get_value(self, acc):
        return "".join(map(str, acc[0])) + "|" + str(len(list(acc[1].keys())))

f = udaf(f=Texts(), result_type="STRING", accumulator_type="STRING", func_type="general")
"""


def call(code: str, *arguments: str, at: int = 1, name: str = "f", **more: Any) -> AggregateCall:
    return AggregateCall(functions_of(code)[name], at, arguments=tuple(map(spark_type, arguments)), **more)


def aggregate(*calls: AggregateCall, retracting: bool = True) -> Callable[[], Kernel]:
    return partial(AggregateKernel, calls, retracting=retracting)


test_a_function_in_python = check_cases(
    [
        Case(
            "takes rows back and sees NULLs; a group without rows goes",
            kernel=aggregate(call(WEIGHTED, "bigint", "bigint", at=1, distinct=False)),
            key=("k",),
            given="""
                seq  kind  k  vw
                1    +I    a  [5,1]
                2    +I    b  [7,2]
                3    +I    a  [1,3]
                4    -U    a  [5,1]
                5    +U    a  [9,1]
                6    -D    b  [7,2]
                7    +I    b  [NULL,1]
                8    -D    c  [1,1]
            """,
            expect="""
                seq  kind  k  f
                1    +I    a  5
                2    +I    b  7
                3    -U    a  5
                3    +U    a  2
                4    -U    a  2
                4    +U    a  1
                5    -U    a  1
                5    +U    a  3
                6    -D    b  7
                7    +I    b  NULL
            """,
        ),
        Case(
            "keeps views, beside functions of Flink's and DISTINCT",
            kernel=aggregate(
                call(TEXTS, "string"),
                AggregateCall(function_named("COUNT"), 1, STRING),
                call(TEXTS, "string", distinct=True),
            ),
            key=("k",),
            given="""
                seq  kind  k  s
                1    +I    a  x
                2    +I    a  y
                3    +I    a  x
                4    -D    a  x
                5    -D    a  x
            """,
            expect="""
                seq  kind  k  f     n  d
                1    +I    a  x|1   1  x|1
                2    -U    a  x|1   1  x|1
                2    +U    a  xy|2  2  xy|2
                3    -U    a  xy|2  2  xy|2
                3    +U    a  xyx|2  3  xy|2
                4    -U    a  xyx|2  3  xy|2
                4    +U    a  yx|2  2  xy|2
                5    -U    a  yx|2  2  xy|2
                5    +U    a  y|1   1  y|1
            """,
        ),
        Case(
            "merges sessions",
            kernel=partial(
                SessionWindowKernel,
                Windowing(WindowKind.SESSION, 5),
                [call(TEXTS, "string")],
                retracting=False,
            ),
            given="""
                seq  kind  rt  s  wm
                1    +I    0   x  0
                2    +I    8   y  0
                3    +I    4   z  0
                4    wm    .   .  MAX
            """,
            expect="""
                seq  kind  start  end    f
                4    +I    0      13000  yxz|3
            """,
        ),
    ]
)


@given(st.lists(st.tuples(st.sampled_from("+-"), st.integers(0, 3), st.integers(0, 2)), max_size=12), st.data())
def test_whatever_is_kept_between_epochs_goes_on_as_if_it_had_stayed(changes: Any, data: st.DataObject) -> None:
    compiled = compile_calls([call(WEIGHTED, "bigint", "bigint", at=0)], retracting=True)
    kept, stayed = compiled.create(), compiled.create()
    for kind, *values in changes:
        if data.draw(st.booleans()):
            kept = pickle.loads(pickle.dumps(kept))
        for acc in (kept, stayed):
            (compiled.accumulate if kind == "+" else compiled.retract)(acc, (tuple(values),))
        assert compiled.value(kept) == compiled.value(stayed)


def test_what_is_kept_is_plain_and_what_is_merged_stays_as_it_is() -> None:
    value = Row(1, ListView(["a"]), MapView({("b", 2): [None, {"c": 1.5}]}))
    plain = as_plain(value)
    assert b"engine" not in pickle.dumps(plain)
    back = from_plain(plain)
    assert back == value
    assert [type(each) for each in (back, *back)] == [Row, int, ListView, MapView]
    function = PythonAggregate(TEXTS, "f", STRING, (STRING,))
    one, other = function.accumulate(None, "x"), function.accumulate(None, "y")
    assert function.value(function.merge(None, one)) == "x|1"
    merged = function.merge(other, one)
    function.accumulate(merged, "z")
    assert function.value(one) == "x|1"
    assert function.value(None) == "|0"


def test_its_accumulator_is_shown() -> None:
    compiled = compile_calls([call(WEIGHTED, "bigint", "bigint", at=0)], retracting=True)
    acc = compiled.create()
    compiled.accumulate(acc, ((5, 2),))
    names = Names([[Label("v", "bigint")]], [])
    (kept,) = [each for each in compiled.kept if each.word.what == "accumulator of f"]
    for held in (acc, pickle.loads(pickle.dumps(acc))):
        assert kept.value(held, names) == [10, 2]


CLASS = "class f:\n    def create_accumulator(self):\n        return {made}\n    def accumulate(self, acc, v):\n"
CLASS += "        {body}\n    def get_value(self, acc):\n        return {value}\n    def get_result_type(self):\n"
CLASS += "        return 'BIGINT'\n"


@pytest.mark.parametrize(
    ("parts", "sentence"),
    [
        ({"body": "acc[0] += v"}, "f.accumulate(None) failed: TypeError: unsupported operand .* (line 5 of its code)"),
        ({"value": "'x'"}, "f.get_value() failed: it gave 'x', which does not fit BIGINT: "),
        ({"made": "1 // 0"}, "f.create_accumulator() failed: ZeroDivisionError: .* (line 3 of its code)"),
        ({"made": "{1}"}, "its accumulator cannot be kept: a set is not kept, .*; use a dict."),
        ({"made": "object()"}, "its accumulator cannot be kept: a object is not kept; use Python's numbers, texts"),
    ],
)
def test_an_error_names_function_values_and_line(parts: dict[str, str], sentence: str) -> None:
    code = CLASS.format(**{"made": "[0]", "body": "pass", "value": "1", **parts})
    function = functions_of(code)["f"].called((BIGINT,))
    with pytest.raises(FunctionFailed) as failed:
        function.value(pickle.loads(pickle.dumps(function.accumulate(None, None))))
    start, _, end = sentence.partition(".*")
    assert str(failed.value).startswith(start)
    assert end in str(failed.value)
    assert "\n" not in str(failed.value)
