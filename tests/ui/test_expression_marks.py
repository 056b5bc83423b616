"""The wrong word is found in the messages of Spark's analyzer; Spark has every offered function."""

from __future__ import annotations

import pytest

from engine.errors import ExpressionError
from engine.expressions.analyzer import TypeRules
from engine.functions import FUNCTIONS
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING
from engine.sql.typed import spark_of
from ui.components.editor.words import in_expressions, notes
from ui.forms.marking import marked_html, wrong_word

COLUMNS = Schema((Column("word", STRING), Column("cnt", BIGINT), Column("an odd name", BIGINT)))


@pytest.mark.parametrize(
    ("expression", "word"),
    [
        ("cnt > nobody + 1", "nobody"),
        ("cnt > `no body` + 1", "`no body`"),
        ("cnt > uper(word)", "uper"),
        ("cnt > )", ""),
        ("cnt >", ""),
        ("cnt > (1 + 2", ""),
        ("CASE WHEN cnt > 1 THEN", ""),
        ("cnt > 1 AND sum(cnt) > 0", "sum"),
        ("cnt > 1 AND nvl(cnt, 0) > 0", "nvl"),
    ],
)
def test_the_wrong_word_is_the_one_that_is_named(expression: str, word: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        spark_of(expression, COLUMNS, TypeRules())
    start, end = wrong_word(expression, refused.value.reason)
    assert expression[start:end] == word, refused.value.reason


def test_a_sentence_that_names_no_word_is_about_the_whole_expression() -> None:
    assert wrong_word(" cnt ", "it is of type BIGINT, but a condition must be true or false.") == (1, 4)


def test_what_was_typed_is_escaped() -> None:
    assert "<b>" not in marked_html("<b> > 1", "unknown column '<b>'. Available: cnt.")


def test_every_function_of_flink_is_offered_with_the_arguments_that_it_takes() -> None:
    assert FUNCTIONS.keys() <= notes().keys()
    told = {
        name: notes()[name].partition("\n")[0]
        for name in ("REGEXP_EXTRACT", "COALESCE", "GREATEST", "CONCAT_WS", "PI", "CEIL")
    }
    assert told == {
        "REGEXP_EXTRACT": "REGEXP_EXTRACT(text, pattern, group)",
        "COALESCE": "COALESCE(value, …)",
        "GREATEST": "GREATEST(value, value, …)",
        "CONCAT_WS": "CONCAT_WS(separator, text, …)",
        "PI": "PI()",
        "CEIL": "CEIL(number) or CEIL(time TO unit)",
    }


def test_an_expression_of_a_form_is_offered_only_what_it_may_call() -> None:
    offered = in_expressions()
    assert {"CHAR_LENGTH", "SPLIT_INDEX", "CAST", "FLOOR", "INET_ATON"} <= offered.keys()
    assert {"JSON_VALUE", "JSON_QUERY", "JSON_EXISTS", "CONVERT_TZ", "ROW"} <= offered.keys()
    assert not {"SUM", "NVL"} & offered.keys()


def test_a_function_is_told_with_what_it_gives_and_an_example() -> None:
    assert in_expressions()["CONVERT_TZ"].splitlines() == [
        "CONVERT_TZ(text, from_zone, to_zone)",
        "A time of one zone as that of another.",
        "CONVERT_TZ('2024-05-17 13:45:59', 'UTC', 'Asia/Tokyo') is 2024-05-17 22:45:59",
    ]
