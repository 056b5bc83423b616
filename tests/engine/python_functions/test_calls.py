"""Functions in Python on Arrow columns: arguments, conversion of results, and errors."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engine.model.type_texts import spark_type
from engine.model.types import BIGINT
from engine.python_functions.calls import PythonCall
from engine.python_functions.loading import FunctionFailed

NUMBERS = pa.array([1, None, 3], pa.int64())


def call(code: str, type_: str = "bigint", *arguments: pa.Array, is_table: bool = False) -> list[Any]:
    made = PythonCall(code, "f", spark_type(type_), "r", ("a",) * len(arguments), is_table).on(arguments, 3)
    assert made.type == spark_type(type_).arrow
    values: list[Any] = made.to_pylist()
    return values


def failure(code: str, type_: str) -> str:
    """The sentence, of one line, with which a call over the numbers fails."""
    with pytest.raises(FunctionFailed) as failed:
        call(code, type_, NUMBERS)
    assert "\n" not in str(failed.value)
    return str(failed.value)


@pytest.mark.parametrize(
    ("type_", "value"),
    [
        ("tinyint", -5),
        ("bigint", 1 << 60),
        ("double", 0.5),
        ("string", "ä 𝄞"),
        ("boolean", True),
        ("binary", b"\x00\xff"),
        ("decimal(10,2)", Decimal("1.50")),
        ("date", date(1969, 12, 31)),
        ("timestamp_ntz", datetime(2024, 1, 1, 0, 0, 0, 5)),  # noqa: DTZ001 - it has no zone
        ("timestamp", datetime(2024, 1, 1, tzinfo=UTC)),
        ("array<int>", [1, None]),
        ("array<map<string,int>>", [[("a", 1)], []]),
        ("struct<`a`:int,`b`:array<struct<`c`:string>>>", {"a": 1, "b": [{"c": "x"}, None]}),
    ],
)
def test_a_value_of_any_type_goes_through_and_null_is_none(type_: str, value: Any) -> None:
    column = pa.array([value, None, value], spark_type(type_).arrow)
    assert call("def f(x):\n    return x", type_, column) == [value, None, value]


def test_a_map_is_a_dict_and_a_row_a_tuple() -> None:
    maps = pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64()))
    assert call("def f(m):\n    return None if m is None else m.get('a', 0)", "bigint", maps) == [1, 0, None]
    rows = pa.array([{"a": 1, "b": 2}] * 3)
    assert call("def f(row):\n    a, b = row\n    return a + b", "bigint", rows) == [3, 3, 3]
    assert call("def f(n):\n    return {'k': n}", "map<string,bigint>", NUMBERS)[2] == [("k", 3)]


@pytest.mark.parametrize("made", ["(n, 'x')", "[n, 'x']", "{'a': n, 'b': 'x'}", "Row(n, 'x')", "Row(a=n, b='x')"])
def test_a_row_may_be_given_in_many_ways(made: str) -> None:
    code = f"from pyflink.common import Row\ndef f(n):\n    return {made}"
    assert call(code, "struct<`a`:bigint,`b`:string>", NUMBERS)[0] == {"a": 1, "b": "x"}


def test_the_rows_of_a_table_function_come_as_it_makes_them() -> None:
    code = "def f(n):\n    for at in range(n or 0):\n        yield at, str(at)"
    type_ = "array<struct<`f0`:int,`f1`:string>>"
    assert call(code, type_, NUMBERS, is_table=True)[0] == [{"f0": 0, "f1": "0"}]
    bare = "def f(n):\n    return [n]"
    assert call(bare, "array<struct<`f0`:bigint>>", NUMBERS, is_table=True)[0] == [{"f0": 1}]
    assert call("def f(n):\n    return None", type_, NUMBERS, is_table=True) == [None] * 3


def test_the_functions_of_pyflink_run_without_pyflink() -> None:
    code = (
        "import pyflink.table as t\n"
        "from pyflink.table import DataTypes\n"
        "from pyflink.table.udf import ScalarFunction, udf\n"
        "class Times(ScalarFunction):\n"
        "    def open(self, context):\n"
        "        self.by = 10\n"
        "    def eval(self, n):\n"
        "        return None if n is None else n * self.by\n"
        "f = udf(Times(), result_type=t.DataTypes.BIGINT().not_null())\n"
    )
    assert call(code, "bigint", NUMBERS) == [10, None, 30]


@pytest.mark.parametrize(
    "code",
    [
        "import pyflink.table.udf as udf\n@udf.udf(result_type='BIGINT')\ndef f(n):\n    return n",
        "from pyflink.table import udf as u\nf = u.udf(f=lambda n: n, result_type='BIGINT')",
        "from pyflink.table.udf import udtf, udf\nf = udf(lambda n: n, ['BIGINT'], 'BIGINT')",
        "import pyflink.table\n@pyflink.table.udf\ndef f(n):\n    return n",
    ],
)
def test_they_may_be_imported_and_decorated_in_many_ways(code: str) -> None:
    assert call(code, "bigint", NUMBERS) == [1, None, 3]


def test_without_arguments_it_is_called_for_every_record() -> None:
    assert call("n = 0\ndef f():\n    global n\n    n += 1\n    return n") == [1, 2, 3]


def test_what_was_loaded_stays_where_it_was_loaded() -> None:
    loaded = PythonCall("def f(x):\n    return x", "f", BIGINT, "r", ("a",))
    loaded.on([NUMBERS], 3)
    again = pickle.loads(pickle.dumps(loaded))
    assert again == loaded
    assert again.on([NUMBERS], 3).to_pylist() == [1, None, 3]


@pytest.mark.parametrize(
    ("code", "type_", "sentence"),
    [
        (
            "def g(x):\n    return 1 // x\ndef f(x):\n    return g(0)",
            "bigint",
            "f(1) failed: ZeroDivisionError: integer division or modulo by zero (line 2 of its code)",
        ),
        ("def f(x):\n    raise ValueError('a\\nb')", "bigint", "f(1) failed: ValueError: a b (line 2 of its code)"),
        ("def f(x):\n    raise SystemExit(3)", "bigint", "f(1) failed: SystemExit: 3 (line 2 of its code)"),
        ("import nothing.there\ndef f(x): ...", "int", "its code cannot be loaded: ModuleNotFoundError: No module"),
        ("def f(x): ...\ndel f", "int", "its code cannot be loaded: KeyError: 'f'"),
    ],
)
def test_an_error_is_one_line_with_what_was_given_and_where_it_came_from(code: str, type_: str, sentence: str) -> None:
    assert failure(code, type_).startswith(sentence)


@pytest.mark.parametrize(
    ("returned", "type_", "called", "given", "reason"),
    [
        ("'x'", "bigint", "f(1)", "'x'", ": "),
        ("300 if x == 3 else 1", "tinyint", "f(3)", "300", ""),
        ("1", "boolean", "f(1)", "1", ": int is no bool"),
        ("1", "string", "f(1)", "1", ": "),
        ("'ab'", "array<string>", "f(1)", "'ab'", ": str"),
        ("[1]", "map<string,int>", "f(1)", "[1]", ": "),
        ("1, 2, 3", "struct<`a`:int,`b`:int>", "f(1)", "(1, 2, 3)", ": a row has 2 fields, but 3"),
        ("{'c': 1}", "struct<`a`:int>", "f(1)", "{'c': 1}", ""),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_type(
    returned: str, type_: str, called: str, given: str, reason: str
) -> None:
    sentence = f"{called} failed: it gave {given}, which does not fit {spark_type(type_).flink}{reason}"
    assert failure(f"def f(x):\n    return {returned}", type_).startswith(sentence)
