"""flink-faker's tables: expressions, types, the same records in any partitioning, and scripts that use it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.contract.scan import ReadPart
from engine.errors import PipelineError
from engine.expressions.analyzer import TypeRules
from engine.reading.faker.choosing import Chooser
from engine.reading.faker.patterns import text_of, tree_of
from engine.script import script_of, sql_of
from engine.sources.faker import Faker
from engine.sql import SqlRejected
from tests.engine.script.scripts import whole
from tests.engine.sources.reading import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path()
SCRIPT = """
CREATE TEMPORARY TABLE orders (
  order_id INT,
  status STRING,
  tags ARRAY<STRING>,
  points MAP<STRING, INT>,
  house ROW<name STRING, points INT>,
  ts TIMESTAMP(3),
  WATERMARK FOR ts AS ts - INTERVAL '5' SECOND
) WITH (
  'connector' = 'faker',
  'number-of-rows' = '50',
  'rows-per-second' = '10',
  'fields.order_id.expression' = '#{number.numberBetween ''0'',''100''}',
  'fields.status.expression' = '#{Options.option ''RECEIVED'',''SHIPPED'')}',
  'fields.status.null-rate' = '0.5',
  'fields.tags.expression' = '#{Color.name}',
  'fields.tags.length' = '3',
  'fields.points.key.expression' = '#{house_of_cards.character}',
  'fields.points.value.expression' = '#{number.digit}',
  'fields.house.name.expression' = '#{regexify ''(red|blue){1}''}',
  'fields.house.points.expression' = '#{number.numberBetween ''10'',''20''}',
  'fields.ts.expression' = '#{date.past ''15'',''5'',''SECONDS''}'
);
SELECT * FROM orders;
"""


def column(expression: str, type_: str = "STRING", **more: Any) -> dict[str, Any]:
    return {"name": "c", "type": type_, "expression": expression, **more}


def parts(**parameters: Any) -> list[ReadPart]:
    scan = Faker.model_validate(parameters).scan("n", HERE)
    return [read_part for part in scan.parts for read_part in scan.read(part)]


def values(expression: str, type_: str = "STRING", rows: int = 200, **more: Any) -> list[Any]:
    [part] = parts(rows=rows, rate=1, start_ms=0, columns=[column(expression, type_, **more)])
    assert not part.rejected
    found: list[Any] = part.records.column("c").to_pylist()
    return found


@pytest.mark.parametrize(
    ("expression", "pattern"),
    [
        ("#{number.numberBetween '3','5'}", "[34]"),
        ("#{Options.option 'A','it''s'}", "A|it's"),
        ("#{options.option 'RECEIVED','SHIPPED')}", "RECEIVED|SHIPPED"),
        ("#{regexify '[A-C]{2}-(x|yy)[0-9]{1,2}'}", "[A-C]{2}-(x|yy)[0-9]{1,2}"),
        ("#{bothify '??-##'}", "[a-z]{2}-[0-9]{2}"),
        ("#{Name.first_name} (#{number.digits '3'})", r"\w+ \([0-9]{3}\)"),
        ("#{Internet.uuid}", "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ("#{GameOfThrones.character}", "character [0-9]+"),
        ("#{date.past '15','5','SECONDS'}", r"19(69-12-31|70-01-01) .{12}"),
        ("#{harry_potter.spells}", r"[A-Z][a-z]+( [A-Z][a-z]+)?"),
        ("#{Food.dishes}", "[a-z ]+"),
        ("#{time.past '15','SECONDS'}", r"(23:59:|00:0).*"),
        ("#{date.between '2024-01-01 00:00:00','2024-01-02 00:00:00'}", "2024-01-01 .{12}"),
        ("plain", "plain"),
    ],
)
def test_a_text_has_the_form_of_its_expression(expression: str, pattern: str) -> None:
    made = values(expression)
    assert all(re.fullmatch(pattern, each) for each in made), made[:3]
    assert len(set(made)) > 1 or expression == "plain"


def test_past_and_future_are_relative_to_the_record() -> None:
    past = values("#{date.past '15','5','SECONDS'}", "TIMESTAMP(3)")
    future = values("#{date.future '2','MINUTES'}", "TIMESTAMP(3)")
    for number, (before, after) in enumerate(zip(past, future, strict=True)):
        now_s = number
        assert -15 <= before.timestamp() - now_s <= -5
        assert 0 < after.timestamp() - now_s <= 120


def test_every_type_has_its_values() -> None:
    assert set(values("#{number.digit}", "INT")) == set(range(10))
    assert all(0 <= each <= 100 for each in values("#{commerce.price}", "DECIMAL(5, 2)"))
    assert set(values("#{bool.bool}", "BOOLEAN")) == {True, False}
    assert {len(each) for each in values("#{color.name}", "ARRAY<STRING>", length=3)} == {3}
    keyed = [{"name": "key", "expression": "k"}, {"name": "value", "expression": "#{number.digit}"}]
    assert {tuple(key for key, _ in each) for each in values("", "MAP<STRING, INT>", elements=keyed)} == {("k",)}
    fields = [{"name": "a", "expression": "#{number.digit}"}, {"name": "b", "expression": "x"}]
    assert {each["b"] for each in values("", "ROW<a INT, b STRING>", elements=fields)} == {"x"}
    share = sum(each is None for each in values("x", null_rate=0.5)) / 200
    assert 0.3 < share < 0.7


def test_a_value_that_does_not_fit_its_type_is_a_rejected_row() -> None:
    [part] = parts(rows=2, columns=[column("#{Name.fullName}", "INT")])
    assert part.records.num_rows == 0
    assert [each.reason.rpartition('" ')[2] for each in part.rejected] == ["is not an INT"] * 2


def test_the_same_seed_gives_the_same_records_in_any_cut(spark: SparkSession) -> None:
    source = Faker.model_validate(
        {"rows": 30, "columns": [column("#{Name.fullName}"), column("#{regexify '[a-z]{9}'}") | {"name": "d"}]}
    )
    whole = read(spark, source, HERE)[0]
    cuts = [row for at in range(0, 30, 7) for row in read(spark, source.cut(at, min(at + 7, 30)), HERE)[0]]
    assert cuts == whole
    assert read(spark, source.model_copy(update={"seed": 2}), HERE)[0] != whole


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "c has no expression"),
        ("#{Name.fullName", "has no closing brace"),
        ("#{}", "names no function"),
        ("#{number.numberBetween '1'}", "needs 2 arguments"),
        ("#{number.numberBetween 'a','b'}", "'a' is no number"),
        ("#{date.past '5','FORTNIGHTS'}", "FORTNIGHTS is no unit"),
        ("#{regexify '[a-'}", "is no regular expression"),
        ("#{regexify '(?=a)b'}", "cannot be turned into texts"),
    ],
)
def test_what_is_wrong_with_an_expression_is_said_before_the_run(expression: str, why: str) -> None:
    with pytest.raises(PipelineError, match=re.escape(why)):
        Faker.model_validate({"columns": [column(expression)]}).derive("n", HERE)


@pytest.mark.parametrize("pattern", ["a*", "[^a]+", r"\d{3}\w?", "(a|b(c|d)){2}", "x{0,5}$", "."])
def test_a_text_of_a_pattern_matches_it(pattern: str) -> None:
    choose = Chooser()
    for number in range(50):
        choose.begin(1, pattern, number)
        assert re.fullmatch(pattern, text_of(tree_of(pattern), choose))


@pytest.mark.parametrize(
    ("pattern", "length"), [("((((a{99}){99}){99}){99}){99}", 1000), ("(((((){999}){999}){999}){999}){999}", 0)]
)
def test_repetitions_of_repetitions_end_where_the_text_is_full(pattern: str, length: int) -> None:
    choose = Chooser()
    choose.begin(1, pattern, 0)
    assert len(text_of(tree_of(pattern), choose)) == length


def test_a_script_with_faker_is_read_run_and_written_back(spark: SparkSession) -> None:
    analyzer = TypeRules()
    script = script_of(SCRIPT, analyzer, HERE, "s")
    assert any("house_of_cards.character} is not known here" in warning for warning in script.warnings)
    [source] = [node for node in script.pipeline.nodes if node.operator == "faker"]
    rows = read(spark, Faker.model_validate(source.parameters), HERE)[0]
    assert len(rows) == 50
    written = sql_of(script.pipeline, analyzer, HERE).text
    assert "'fields.points.key.expression' = '#{house_of_cards.character}'" in written
    [again] = [node for node in script_of(written, analyzer, HERE, "s").pipeline.nodes if node.operator == "faker"]
    assert again.parameters == source.parameters


def test_a_wrong_number_in_a_table_is_said_with_its_option(spark: SparkSession) -> None:
    with pytest.raises(SqlRejected, match=r"'fields.status.null-rate' is a number, not 'half'"):
        whole(script_of(SCRIPT.replace("'0.5'", "'half'"), TypeRules(), HERE, "s"))
