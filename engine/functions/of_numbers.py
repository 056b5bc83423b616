"""Functions of numbers. Of NaN and infinity they give what Java gives."""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from engine.functions import random_values
from engine.functions.function import Function, Writing
from engine.functions.spark_text import as_type, spark_sql
from engine.model.types import Decimal

_LOGARITHM: Final = (
    "CASE WHEN {0} > 0 THEN %s({0}) WHEN {0} = 0 THEN double('-Infinity') WHEN {0} < 0 THEN double('NaN') END"
)
_ONE: Final = "number double -> double"


def _of_one(name: str, sentence: str, example: str, result: str, signature: str = _ONE) -> Function:
    return Function(name, signature, sentence, f"{name}({example})", result)


def _logarithm(name: str, base: str, example: str, result: str) -> Function:
    return Function(
        name,
        _ONE,
        f"The logarithm of a number to the base {base}.",
        f"{name}({example})",
        result,
        spark=_LOGARITHM % name.lower(),
        bad=(f"{name}(0)", "-Infinity"),
    )


def _sign(writing: Writing, call: exp.Anonymous) -> str:
    value = writing.write(call.expressions[0])
    return as_type(spark_sql("sign({})", value), writing.type_of(value))


def _mod(writing: Writing, call: exp.Anonymous) -> str:
    number, divisor = call.expressions
    return writing.write(exp.Mod(this=number.copy(), expression=divisor.copy()))


def _ceiling(writing: Writing, call: exp.Anonymous) -> str:
    return writing.write(exp.Ceil(this=call.expressions[0].copy()))


def _round(writing: Writing, call: exp.Anonymous) -> str | None:
    """The number itself, if it is a DECIMAL with no more places: it keeps its type; in Spark it gets a digit."""
    value, places = _rounded(writing, call)
    type_ = writing.type_of(value) if places.isdigit() else None
    return value if isinstance(type_, Decimal) and type_.scale <= int(places) else None


def _truncate(writing: Writing, call: exp.Anonymous) -> str:
    """Towards zero, with the result type of ROUND."""
    value, places = _rounded(writing, call)
    if _round(writing, call) is not None:
        return value
    type_ = writing.type_of(spark_sql("round({})", [value, places]))
    cut = spark_sql("CASE WHEN {0} < 0 THEN ceil({0}, {1}) ELSE floor({0}, {1}) END", value, places)
    return as_type(cut, type_)


def _rounded(writing: Writing, call: exp.Anonymous) -> tuple[str, str]:
    value, *places = map(writing.write, call.expressions)
    return value, places[0] if places else "0"


ROWS: Final = (
    _of_one("ABS", "The number without its sign.", "-3", "3", "number Number -> Number"),
    _of_one("SQRT", "The square root.", "16", "4.0"),
    _of_one("EXP", "e to the power of the number.", "0", "1.0"),
    _of_one("SIN", "The sine of an angle in radians.", "0", "0.0"),
    _of_one("COS", "The cosine of an angle in radians.", "0", "1.0"),
    _of_one("TAN", "The tangent of an angle in radians.", "0", "0.0"),
    _of_one("COT", "The cotangent of an angle in radians.", "RADIANS(45)", "1.0000000000000002"),
    _of_one("ASIN", "The angle in radians that has this sine.", "0", "0.0"),
    _of_one("ACOS", "The angle in radians that has this cosine.", "1", "0.0"),
    _of_one("ATAN", "The angle in radians that has this tangent.", "0", "0.0"),
    _of_one("SINH", "The hyperbolic sine.", "0", "0.0"),
    _of_one("COSH", "The hyperbolic cosine.", "0", "1.0"),
    _of_one("TANH", "The hyperbolic tangent.", "0", "0.0"),
    _of_one("RADIANS", "An angle in radians.", "180", "3.141592653589793", "degrees double -> double"),
    _of_one("DEGREES", "An angle in degrees.", "PI()", "180.0", "radians double -> double"),
    _of_one("BIN", "The whole number in binary digits.", "12", "1100", "number bigint -> string"),
    _of_one("HEX", "A whole number or a text in hexadecimal digits.", "255", "FF", "number hexed -> string"),
    Function("PI", "-> double", "The number π.", "PI()", "3.141592653589793"),
    Function("E", "-> double", "Euler's number e.", "E()", "2.718281828459045"),
    Function("SIGN", "number Number -> Number", "The sign: -1, 0 or 1.", "SIGN(-3.5)", "-1.0", None, _sign),
    Function("POWER", "number double, exponent double -> double", "A number to a power.", "POWER(2, 10)", "1024.0"),
    Function("ATAN2", "y double, x double -> double", "The angle of the point (x, y).", "ATAN2(0, 1)", "0.0"),
    Function(
        "MOD", "number N, divisor N -> N", "The remainder, with the sign of the number.", "MOD(-7, 3)", "-1", None, _mod
    ),
    Function(
        "ROUND", "number N, digits int? -> N", "The number rounded to digits.", "ROUND(2.345, 2)", "2.35", write=_round
    ),
    Function(
        *("TRUNCATE", "number N, digits int? -> N", "The number cut off after digits.", "TRUNCATE(2.349, 2)", "2.34"),
        spark=None,
        write=_truncate,
    ),
    Function(
        *("CEIL", "number N -> N", "The next whole number above; of a time, the next beginning of a unit."),
        *("CEIL(1.2)", "2", None),
        syntax="CEIL(number) or CEIL(time TO unit)",
    ),
    Function("CEILING", "number N -> N", "The next whole number above.", "CEILING(1.2)", "2", None, _ceiling),
    Function(
        *("FLOOR", "number N -> N", "The next whole number below; of a time, the beginning of a unit."),
        *("FLOOR(-1.2)", "-2", None),
        syntax="FLOOR(number) or FLOOR(time TO unit)",
    ),
    _logarithm("LN", "e", "1", "0.0"),
    _logarithm("LOG10", "10", "1000", "3.0"),
    _logarithm("LOG2", "2", "8", "3.0"),
    Function(
        "LOG",
        "base double, number double? -> double",
        "The logarithm of a number to a base; without one, that of the first argument to the base e.",
        "LOG(2, 8)",
        "3.0",
        spark=_LOGARITHM % "ln",
        fuller="log({0}, {1})",
    ),
    Function(
        *(
            "RAND",
            "seed int? -> double",
            "A number from 0 to 1 that is made of the record and a seed.",
            "RAND(7)",
            "",
            None,
            random_values.rand,
        ),
        is_deterministic=False,
    ),
    Function(
        *(
            "RAND_INTEGER",
            "seed int?, bound int -> int",
            "A whole number below a bound that is made of the record and a seed.",
        ),
        *("RAND_INTEGER(10)", ""),
        spark=None,
        write=random_values.rand_integer,
        is_deterministic=False,
    ),
    Function(
        *("UUID", "-> string", "An identifier that is made of the record.", "UUID()", "", None, random_values.uuid),
        is_deterministic=False,
    ),
)
