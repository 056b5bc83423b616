"""What Spark says of an expression that fails, as a user reads it: no setting or class of Spark's or Java's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from engine.spark.failures import reason_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TRY = "Use TRY_CAST, which gives NULL then, or filter such records before."
_ZERO = "Divide by NULLIF(x, 0), which gives NULL then, or filter such records before."
SAID = [
    ("1 / id", f"a number is divided by zero. {_ZERO}"),
    ("1 % id", f"a number is divided by zero, for its remainder. {_ZERO}"),
    ("CAST(word AS INT)", f"'x' is no INT. {_TRY}"),
    ("CAST(word AS TIMESTAMP_NTZ)", f"'x' is no TIMESTAMP. {_TRY}"),
    ("CAST(word AS TIMESTAMP)", f"'x' is no TIMESTAMP_LTZ. {_TRY}"),
    ("CAST(id + 1e300 AS BIGINT)", f"1.0E300 is too large for BIGINT. {_TRY}"),
    ("CAST(id + 300 AS TINYINT)", f"300 is too large for TINYINT. {_TRY}"),
    ("CAST(id + 123.456 AS DECIMAL(3, 1))", f"123.456 is too large for DECIMAL(3, 1). {_TRY}"),
    ("9223372036854775807 + id + 1", "a number becomes larger than its type can hold."),
    ("ABS(-9223372036854775807 - 1 + id)", "a number becomes larger than its type can hold."),
    ("ARRAY(1, 2)[id + 5]", "an ARRAY of 2 elements has none at 5. Compare with CARDINALITY before."),
    ("try_element_at(array(1), CAST(id AS INT))", "an ARRAY has no element at 0. Places count from 1."),
    ("try_variant_get(try_parse_json(word), 'a.b', 'int')", "'a.b' is no path of a JSON text. Write one such as"),
    ("ELT(id + 9, word, word)", "an ARRAY of 2 elements has none at 9."),
    ("to_timestamp(word, 'yyyy')", "'x' does not have the form that the pattern says."),
    ("date_format(current_date() + CAST(id AS INT), 'QQQQQQ')", "in the pattern of a time is not known."),
    ("date_format(current_date() + CAST(id AS INT), 'bbb')", "in the pattern of a time is not known."),
    ("regexp_extract(word, CONCAT('(', word))", "'(x' in regexp_extract is no regular expression."),
    ("word RLIKE CONCAT('[', word)", "'[x' in rlike is no regular expression."),
    ("unbase64(CONCAT(word, word, word, word, word))", "an expression cannot be computed: Last unit does not have"),
    ("map(id, 1, id, 2)", "a MAP has the key 0 twice. Leave one of them out."),
    ("map(NULLIF(id, 0), 1)", "a MAP has NULL as a key."),
    ("make_timestamp(2024, 13, 1, 1, 1, id)", "Invalid value for MonthOfYear"),
    ("decode(CAST(word AS BINARY), CONCAT('no-', word))", "decode cannot take this charset: expects one of the"),
]


@pytest.mark.parametrize(("expression", "said"), SAID, ids=[expression for expression, _ in SAID])
def test_an_expression_that_fails_is_explained(spark: SparkSession, expression: str, said: str) -> None:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever Spark raises
        spark.range(1).selectExpr("id", "concat('x', repeat('', CAST(id AS INT))) AS word").selectExpr(
            expression
        ).collect()
    told = reason_of(caught.value)
    assert said in told
    assert not re.search(r"spark|java|try_|SQL function|Job aborted|SQLSTATE|legacy", told), told


def test_an_error_that_only_java_has_is_explained() -> None:
    """A constant pattern, which Spark compiles with its code."""
    lost = "Lost task 0.0 in stage 58.0 (TID 48) (localhost executor driver): "
    raised = (
        "java.util.regex.PatternSyntaxException: Unclosed character class near index 0\n[\n^\n\tat java.base/java.util"
    )
    told = reason_of(
        RuntimeError(f"Job aborted due to stage failure: Task 0 in stage 58.0 failed 1 times, {lost}{raised}")
    )
    assert told == "a regular expression cannot be read: Unclosed character class near index 0."
