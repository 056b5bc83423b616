"""The wrong word is found in the messages of Spark's analyzer; Spark has every offered function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engine.errors import ExpressionError
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING
from engine.spark.analyzer import SparkAnalyzer
from ui.forms.functions import SIGNATURES
from ui.forms.marking import marked_html, wrong_word

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = Schema((Column("word", STRING), Column("cnt", BIGINT), Column("an odd name", BIGINT)))


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("cnt > nobody + 1", "nobody"),
        ("cnt > `no body` + 1", "`no body`"),
        ("cnt > uper(word)", "uper"),
        ("cnt > )", ")"),
        ("cnt >", ""),
        ("cnt > 1 AND rand() > 0", "rand"),
        ("cnt + array(1)", "cnt + array(1)"),
        ("  ", ""),
    ],
)
def test_the_wrong_word_is_the_one_that_spark_names(spark: SparkSession, expression: str, word: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        SparkAnalyzer(lambda: spark).type_of(expression, COLUMNS, "big", "condition")
    start, end = wrong_word(expression, refused.value.reason)
    assert expression[start:end] == word, refused.value.reason


def test_a_sentence_that_names_no_word_is_about_the_whole_expression() -> None:
    assert wrong_word(" cnt ", "it is of type bigint, but a condition must be true or false.") == (1, 4)


def test_what_was_typed_is_escaped() -> None:
    assert "<b>" not in marked_html("<b> > 1", "unknown column '<b>'. Available: cnt.")


def test_every_function_that_is_offered_is_spark_s(spark: SparkSession) -> None:
    there = {row[0] for row in spark.sql("SHOW FUNCTIONS").collect()} | {"cast", "try_cast"}
    assert not SIGNATURES.keys() - there
