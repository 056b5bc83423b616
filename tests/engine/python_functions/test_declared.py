"""The declarations of Python code, read without running it."""

from __future__ import annotations

import pytest

from engine.model.type_texts import spark_type
from engine.model.types import BIGINT, INT, STRING, TIMESTAMP_NTZ
from engine.python_functions.declared import Declared, Kind, Rejected, functions_in


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f(a, b=1):\n    return a", Declared("f", 1, None, Kind.SCALAR, 1, 2)),
        ("def f(*a): ...", Declared("f", 1, None, Kind.SCALAR, 0, None)),
        ("@udf(result_type='BIGINT')\ndef f(a): ...", Declared("f", 2, BIGINT, Kind.SCALAR, 1, 1)),
        (
            "@udf(result_type=DataTypes.DECIMAL(10, 2))\ndef f(): ...",
            Declared("f", 2, spark_type("decimal(10,2)"), Kind.SCALAR, 0, 0),
        ),
        ("@table.udf\ndef f(a): ...", Declared("f", 2, None, Kind.SCALAR, 1, 1)),
        ("f = udf(lambda s: s.upper(), result_type='STRING')", Declared("f", 1, STRING, Kind.SCALAR, 1, 1)),
        (
            "f = udf(Upper(), result_type=DataTypes.TIMESTAMP(3))",
            Declared("f", 1, TIMESTAMP_NTZ, Kind.SCALAR, 0, None),
        ),
        ("f = udf(lambda a: a, ['INT'], 'INT')", Declared("f", 1, INT, Kind.SCALAR, 1, 1)),
        (
            "f = udf(f=lambda a: a, result_type=DataTypes.ARRAY(DataTypes.INT()))",
            Declared("f", 1, spark_type("array<int>"), Kind.SCALAR, 1, 1),
        ),
        (
            "f = udf(g, result_type=DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE().not_null()))",
            Declared("f", 1, spark_type("map<string,double>"), Kind.SCALAR, 0, None),
        ),
        (
            "@udf(result_type=DataTypes.ROW([DataTypes.FIELD('a b', DataTypes.INT()),"
            " DataTypes.FIELD('c', DataTypes.STRING())]))\ndef f(a): ...",
            Declared("f", 2, spark_type("struct<`a b`:int,`c`:string>"), Kind.SCALAR, 1, 1),
        ),
        (
            "@udtf(result_types=['STRING', DataTypes.INT()])\ndef f(a): ...",
            Declared("f", 2, spark_type("array<struct<`f0`:string,`f1`:int>>"), Kind.TABLE, 1, 1),
        ),
        (
            "@udtf(result_types='ROW<a INT, b STRING>')\ndef f(a): ...",
            Declared("f", 2, spark_type("array<struct<`a`:int,`b`:string>>"), Kind.TABLE, 1, 1),
        ),
        (
            "@udtf(result_types='INT')\ndef f(a): ...",
            Declared("f", 2, spark_type("array<struct<`f0`:int>>"), Kind.TABLE, 1, 1),
        ),
    ],
)
def test_a_function_with_its_type_and_the_number_of_its_arguments(code: str, found: Declared) -> None:
    assert functions_in(code) == {"f": found}


def test_what_else_stands_in_a_text_is_not_looked_at() -> None:
    code = "import os\nx = 1\nclass A: ...\ndef g(): ...\nos.remove('x')\nf = h(g)\n"
    assert list(functions_in(code)) == ["g"]


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("def f(:\n    return", "line 1: it is no Python: invalid syntax."),
        ("x = (\n", "line 1: it is no Python: '(' was never closed."),
        ("\x00", "it is no Python"),
        ("async def f(): ...", "line 1: f is async; write it with def alone."),
        ("\nclass A: ...\nf = udtaf(A(), result_type='INT')", "line 3: f is a table aggregate function, which SQL"),
        ("class A: ...\nf = udaf(A(), result_type='INT')", "line 2: f has no method accumulate; an aggregate"),
        ("@udaf(result_type='INT', func_type='pandas')\ndef f(a): ...", "line 1: f takes whole columns"),
        ("@udf(result_type='INT', func_type='pandas')\ndef f(a): ...", "line 1: f takes whole columns"),
        ("@udf(result_type='WORD')\ndef f(a): ...", "line 1: unknown type 'WORD'"),
        ("@udf(result_type=T)\ndef f(a): ...", "line 1: T is no type. Write DataTypes.BIGINT(), or 'BIGINT'."),
        ("@udf(result_type=DataTypes.ROW([a]))\ndef f(a): ...", "line 1: a is no field."),
        ("x = 1\n" * 20_000, "the code has 120,000 characters; at most 100,000 are read."),
        ("-" * 90_000 + "1", "it is no Python"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_line(code: str, sentence: str) -> None:
    with pytest.raises(Rejected) as refused:
        functions_in(code)
    assert str(refused.value).startswith(sentence)
