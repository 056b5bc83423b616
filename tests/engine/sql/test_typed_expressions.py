"""A text in Flink SQL means the same in the field of a form as in a script: the same changelog, or the same refusal.

(field, form, script)    how a text is typed in a form, and how a script has it
VALUES, CONDITIONS       the texts: where Flink SQL and Spark SQL differ, among others
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Parameters, marks_of
from engine.errors import ExpressionError, StudioError
from engine.expressions.analyzer import TypeRules
from engine.expressions.flink_sql import FlinkSql, flink
from engine.model.pipeline import Edge, Node, Pipeline
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING, TIMESTAMP_NTZ, Timestamp
from engine.planner import check
from engine.registry import operators, sources
from engine.sql.in_flink import in_flink
from engine.sql.nodes import emitter
from engine.sql.typed import spark_of
from tests.conformance.case import Case, cases_in
from tests.engine.script.scripts import exported, read
from tests.golden.trace import run_locally

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE: Final = Path(__file__).parent
_COMPUTED: Final = "/* computed */"
_ROWS: Final = [
    [1, 7, 2, None, 40, 2.5, "9.75", "hello", [5, 6], {"k": 3}, [1, "x"], "2024-03-01 10:20:30.123"],
    [2, -7, 2, 4, 41, -0.5, "1.25", "12.7", [], {}, [None, "y"], "2024-03-03 23:59:59.999"],
    [3, 9, 4, 9, 42, 1e3, "0.10", "it's", [9], {"k": None}, [3, None], "2024-03-09 00:00:00"],
]
TABLE: Final = f"""
-- studio.rows: {json.dumps(_ROWS)}
CREATE TABLE t (
  id INT, a INT, b INT, n INT, big BIGINT, x DOUBLE, p DECIMAL(10, 2), s STRING, l ARRAY<INT>, m MAP<STRING, INT>,
  r ROW<n INT, w STRING>, ts TIMESTAMP(3){_COMPUTED}, WATERMARK FOR ts AS ts - INTERVAL '1' SECOND
);
"""
OTHER: Final = """
-- studio.rows: [[1, 3, 2, "2024-03-01 10:20:31"], [2, -3, 2, "2024-03-03 23:59:59"], [3, 9, 2, "2024-03-09 00:00:00"]]
CREATE TABLE u (uid INT, ua INT, ub INT, uts TIMESTAMP(3), WATERMARK FOR uts AS uts - INTERVAL '1' SECOND);
"""
UPSERTS: Final = """
-- studio.rows: [["+U", 1, 7, 2], ["+U", 1, 3, 2], ["+U", 1, 9, 2], ["-D", 1, 9, 2]]
CREATE TABLE w (id INT, a INT, b INT, PRIMARY KEY (id) NOT ENFORCED) WITH (
  'connector' = 'upsert-kafka', 'topic' = 'w', 'properties.bootstrap.servers' = 'b:9092', 'key.format' = 'json',
  'value.format' = 'json'
);
"""

VALUES: Final = (
    # Division, remainders, and what is wider than both sides.
    *("a / b", "-a / b", "a / 2 * 2", "big / a", "p / 3", "a / x", "a % b", "MOD(a, b)", "p * p", "a * 1.5", "10 / 4"),
    # Elements count from 1; a missing one is NULL.
    *("l[1]", "l[2]", "l[a]", "m['k']", "r.n", "r.w || '!'", "ARRAY[a, b][2]", "CARDINALITY(l)", "MAP['q', a]['q']"),
    # Casts.
    *("CAST(x AS INT)", "TRY_CAST(s AS INT)", "CAST('1.7' AS INT)", "CAST(a AS CHAR(4))", "CAST(s AS VARCHAR(2))"),
    *("CAST('x' AS CHAR(3)) || '|'", "CAST(a > b AS STRING)", "CAST(p AS DECIMAL(4, 1))", "CAST(l AS STRING)"),
    *("CAST(ts AS STRING)", "CAST(r AS STRING)", "CAST(ts AS DATE)", "CAST('2024-01-01' AS TIMESTAMP)"),
    # Texts.
    *("SUBSTRING(s, 2)", "SUBSTRING(s FROM 2 FOR 2)", "SUBSTRING(s, -3)", "SPLIT_INDEX(s, 'l', 1)", "UPPER(s) || '!'"),
    *("POSITION('l' IN s)", "TRIM(BOTH 'h' FROM s)", "REGEXP_EXTRACT(s, '(l+)', 1)", "'it''s'", "'a\\b'", "'\"'"),
    *("CHAR_LENGTH(s)", "LPAD(s, 7, '*')", "OVERLAY(s PLACING 'XX' FROM 2)", "CONCAT_WS('-', s, CAST(n AS STRING))"),
    # NULL.
    *("n + 1", "COALESCE(n, a / b)", "NULLIF(a, 7)", "CASE WHEN n > 1 THEN 1 ELSE 2 END", "GREATEST(a, n)"),
    *("n IS DISTINCT FROM a", "IF(n > 1, 'x', 'y')", "s || CAST(NULL AS STRING)", "n IN (4, NULL)"),
    # Times.
    *("ts + INTERVAL '1' DAY", "ts - INTERVAL '1-2' YEAR TO MONTH", "FLOOR(ts TO HOUR)", "CEIL(ts TO DAY)", "YEAR(ts)"),
    *("TIMESTAMPDIFF(MINUTE, TIMESTAMP '2024-01-01 00:00:00', ts)", "DATE_FORMAT(ts, 'yyyy-MM')", "DAYOFWEEK(ts)"),
    *("EXTRACT(QUARTER FROM ts)", "TIMESTAMPADD(HOUR, 1, ts)", "TO_TIMESTAMP('2024-01-01 00:00:00')", "ts > TIMESTAMP"),
    *("DATE '2024-02-01'", "INTERVAL '1' HOUR", "TO_TIMESTAMP_LTZ(big, 0)", "TIME '10:00:00'", "UNIX_TIMESTAMP(s)"),
    # Numbers and JSON.
    *("ROUND(x, 1)", "ROUND(p, 1)", "TRUNCATE(x, 0)", "SIGN(a)", "POWER(a, 2)", "JSON_VALUE('{\"k\": 1}', '$.k')"),
    # Refused, by both.
    *("a +", "q / 2", "NVL(n, 0)", "DATE_TRUNC('day', ts)", "a b", "r.q", "l[", "A / B"),
)
FEW: Final = ("a / b", "l[1]", "CAST(s AS VARCHAR(2))", "ts + INTERVAL '1' HOUR", "COALESCE(n, a / b)", "q")
CONDITIONS: Final = (
    *("a / b = 3", "l[1] = 5", "CAST(s AS VARCHAR(2)) = 'he'", "ts > TIMESTAMP '2024-03-02 00:00:00'", "n IS NULL"),
    *("n <> 4", "NOT (n > 4)", "s LIKE 'h%'", "a BETWEEN SYMMETRIC 8 AND 1", "p / 3 > 3.2", "a", "q > 1"),
)


@dataclass(frozen=True)
class Place:
    """A field. form: by node, its operator, inputs and parameters with the text. script: the query with the text."""

    form: Callable[[str], Mapping[str, tuple[str, Sequence[str], Mapping[str, Any]]]]
    script: str
    texts: Sequence[str]
    tables: str = TABLE


def _one(operator: str, inputs: Sequence[str] = ("t",), **parameters: Any) -> Mapping[str, Any]:
    return {"out": (operator, inputs, parameters)}


def _project(*names: str) -> Mapping[str, Any]:
    columns = [{"name": name.split(" ")[-1], "expression": flink(name.split(" ")[0])} for name in names]
    return {"columns": columns}


_TIMED: Final = "PARTITION BY b ORDER BY ts MEASURES {} ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (A C)"


def _match(text: str, condition: str) -> Mapping[str, Any]:
    return _one(
        "match_recognize",
        partition_by=["b"],
        pattern="A C",
        measures=[{"name": "v", "expression": flink(text)}],
        define=[{"variable": "A", "condition": flink(condition)}],
    )


PLACES: Final[Mapping[str, Place]] = {
    "project.columns.expression": Place(
        lambda text: _one("project", columns=[{"name": "v", "expression": flink(text)}]),
        "SELECT {} AS v FROM t",
        VALUES,
    ),
    "rows.computed.expression": Place(
        lambda text: {"out": ("project", ("t",), _project("v"))}, "SELECT v FROM t", FEW, tables=""
    ),
    "filter.condition": Place(
        lambda text: _one("filter", condition=flink(text)), "SELECT * FROM t WHERE {}", CONDITIONS
    ),
    "aggregate.group_by.expression": Place(
        lambda text: _one(
            "aggregate",
            group_by=[{"name": "v", "expression": flink(text)}],
            aggregates=[{"function": "COUNT", "name": "c"}],
        ),
        "SELECT {} AS v, COUNT(*) AS c FROM t GROUP BY {}",
        FEW,
    ),
    "aggregate.aggregates.argument": Place(
        lambda text: _one("aggregate", aggregates=[{"function": "MAX", "argument": flink(text), "name": "v"}]),
        "SELECT MAX({}) AS v FROM t",
        FEW,
    ),
    "aggregate.aggregates.filter": Place(
        lambda text: _one("aggregate", aggregates=[{"function": "SUM", "argument": "a", "filter": flink(text)}]),
        "SELECT SUM(a) FILTER (WHERE {}) AS sum_a FROM t",
        CONDITIONS,
    ),
    "aggregate.aggregates.frequency": Place(
        lambda text: _one(
            "aggregate",
            aggregates=[{"function": "PERCENTILE", "argument": "id", "frequency": flink(text), "name": "v"}],
        ),
        "SELECT PERCENTILE(id, 0.5, {}) AS v FROM t",
        ("ABS(a) / b", "ABS(l[1])", "s"),
    ),
    "join.condition": Place(
        lambda text: _one("join", ("t", "u"), left_keys=["id"], right_keys=["uid"], condition=flink(text)),
        "SELECT * FROM t JOIN u ON id = uid AND {}",
        ("a / b = ub + 1", "ua / ub > a / 4", "uts > ts + INTERVAL '0.5' SECOND", "s LIKE '%l%'", "q > 1"),
        tables=TABLE + OTHER,
    ),
    "match_recognize.measures.expression": Place(
        lambda text: _match(text, "A.a > 0"),
        f"SELECT b, v FROM t MATCH_RECOGNIZE ({_TIMED.format('{} AS v')} DEFINE A AS A.a > 0)",
        ("LAST(A.a / A.b)", "LAST(A.l[1])", "SUM(A.a / A.b)", "LAST(C.ts - INTERVAL '1' DAY)", "A.a", "A.q", "D.a"),
    ),
    "match_recognize.define.condition": Place(
        lambda text: _match("A.id", text),
        f"SELECT b, v FROM t MATCH_RECOGNIZE ({_TIMED.format('A.id AS v')} DEFINE A AS {{}})",
        ("A.a / 2 = 3", "A.l[1] = 5", "a / A.b > 3", "CAST(A.s AS VARCHAR(2)) = 'he'", "A.q > 1"),
    ),
    "unnest.collection": Place(
        lambda text: {
            "each": ("unnest", ("t",), {"collection": flink(text), "names": ["e"]}),
            "out": ("project", ("each",), _project("id", "e")),
        },
        "SELECT id, e FROM t CROSS JOIN UNNEST({}) AS v (e)",
        ("l", "ARRAY[a / b, l[1]]", "SPLIT(s, 'l')", "q"),
    ),
    "changelog_normalize.condition": Place(
        lambda text: _one("changelog_normalize", ("w",), keys=["id"], condition=flink(text)),
        "SELECT * FROM w WHERE {}",
        ("a / b >= 3", "a / b = 1", "CAST(a AS VARCHAR(1)) = '3'"),
        tables=UPSERTS,
    ),
}


def _cases() -> Iterator[Any]:
    for name, place in PLACES.items():
        for text in place.texts:
            yield pytest.param(name, text, id=f"{name}: {text}")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # A measure is one value; a script has a projection behind it. A join tests what it can compute of a pair.
        ("match_recognize.measures.expression", "SUM(A.a) / 2"),
        ("match_recognize.measures.expression", "A.l[1]"),
        ("join.condition", "l[1] > ua"),
        # A script aggregates, and has a clock.
        ("project.columns.expression", "SUM(a)"),
        ("project.columns.expression", "CURRENT_TIMESTAMP"),
    ],
)
def test_what_one_operator_cannot_compute_is_refused_in_its_form(name: str, text: str, spark: SparkSession) -> None:
    found = check(_form(PLACES[name], text, spark), TypeRules(), HERE)
    (problem,) = found.problems
    assert isinstance(problem, ExpressionError)
    assert problem.expression == text


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("SUM(a)", "Aggregate before"),
        ("1 + COUNT(*)", "Aggregate before"),
        ("JSON_OBJECTAGG(KEY s VALUE a)", "Aggregate before"),
        ("ROW_NUMBER()", "Add the rank before"),
        ("LEAD(a)", "by an OVER aggregate"),
        ("GROUPING_ID(a)", "k IS NULL"),
        ("TUMBLE_START(ts, INTERVAL '1' MINUTE)", "window_start"),
        ("SESSION_ROWTIME(ts, INTERVAL '1' MINUTE)", "window_start"),
        ("CURRENT_WATERMARK(ts)", "Add it before"),
        ("MATCH_ROWTIME()", "in MATCH_RECOGNIZE"),
        ("PROCTIME()", "Use a column that holds the time"),
        ("a > 1 AND CURRENT_TIMESTAMP > ts", "Use a column that holds the time"),
        ("NOW()", "Use a column that holds the time"),
    ],
)
def test_what_only_a_query_has_is_refused_with_what_to_do(text: str, advice: str) -> None:
    columns = Schema((Column("a", BIGINT), Column("s", STRING), Column("ts", TIMESTAMP_NTZ)))
    with pytest.raises(ExpressionError, match=re.escape(advice)):
        spark_of(text, columns, TypeRules())


@pytest.mark.parametrize(("name", "text"), tuple(_cases()))
def test_a_text_means_the_same_in_a_form_and_in_a_script(name: str, text: str, spark: SparkSession) -> None:
    place = PLACES[name]
    is_computed = not place.tables
    tables = TABLE.replace(_COMPUTED, f", v AS {text}") if is_computed else place.tables
    assert _changelog(lambda: _form(place, text, spark), spark) == _changelog(
        lambda: read(f"{tables}{place.script.replace('{}', text)};", spark).pipeline, spark
    )


@pytest.mark.parametrize("name", PLACES)
def test_what_was_typed_is_exported_as_it_was_typed(name: str, spark: SparkSession) -> None:
    place = PLACES[name]
    typed = _form(place, place.texts[0], spark)
    script = exported(typed, spark).text
    assert place.texts[0] in "\n".join(line for line in script.splitlines() if not line.startswith("--"))
    assert _changelog(lambda: read(script, spark).pipeline, spark) == _changelog(lambda: typed, spark)


def _form(place: Place, text: str, spark: SparkSession) -> Pipeline:
    tables = place.tables or TABLE
    names = [name for name in ("t", "u", "w") if f"CREATE TABLE {name} " in tables]
    given = read(tables + "".join(f"SELECT * FROM {name};" for name in names), spark).pipeline
    nodes = [node for node in given.nodes if node.id in names]
    if not place.tables:
        computed = [{"name": "v", "expression": flink(text)}]
        nodes = [node.with_parameters({**node.parameters, "computed": computed}) for node in nodes]
    edges: list[Edge] = []
    for name, (operator, inputs, parameters) in place.form(text).items():
        nodes.append(Node(id=name, operator=operator, parameters=dict(parameters)))
        ports = operators()[operator].ports
        edges += [Edge(source=one, target=name, target_port=port) for one, port in zip(inputs, ports, strict=True)]
    nodes.append(Node(id="end", operator="sink"))
    pipeline = Pipeline(nodes=tuple(nodes), edges=(*edges, Edge(source="out", target="end")), options=given.options)
    # As it was typed, after it was saved and opened.
    return Pipeline.from_json(pipeline.to_json())


def _changelog(made: Callable[[], Pipeline], spark: SparkSession) -> list[str] | None:
    """What reaches the sink; None if it is refused."""
    try:
        pipeline = made()
        found = check(pipeline, TypeRules(), HERE)
        if found.plan is None:
            return None
        (sink,) = [node.id for node in found.plan.nodes if node.operator.role == "sink"]
        return run_locally(pipeline, spark, HERE).changelog(sink)
    except StudioError:
        return None


def test_every_field_for_expressions_has_cases() -> None:
    """The fields of sources are one, those of aggregates and joins are a few; arguments in Python are bound as all."""
    found = {
        f"{_ALIKE.get(cls.operator, 'rows' if cls.role == 'source' else cls.operator)}.{'.'.join(path)}"
        for cls in (*operators().values(), *sources().values())
        for path in _expressions(cls)
    }
    python = {"aggregate.aggregates.others.expression", "python_function.arguments.expression"}
    assert found == {*PLACES, *python}


_ALIKE: Final = {
    **dict.fromkeys(("window_aggregate", "over_aggregate"), "aggregate"),
    **dict.fromkeys(("interval_join", "lookup_join", "temporal_join", "window_join"), "join"),
}


def _expressions(model: type[Parameters]) -> Iterator[tuple[str, ...]]:
    for name, field in model.model_fields.items():
        if marks_of(field).get("expression"):
            yield (name,)
        for below in _models_in(field.annotation):
            yield from ((name, *path) for path in _expressions(below))


def _models_in(annotation: Any) -> list[type[Parameters]]:
    if isinstance(annotation, type) and issubclass(annotation, Parameters):
        return [annotation]
    return [model for part in getattr(annotation, "__args__", ()) for model in _models_in(part)]


@pytest.mark.parametrize("text", ["FLOOR(ts TO HOUR)", "CASE WHEN a > 1 THEN ts END", "ts", "ts + INTERVAL '1' DAY"])
def test_a_moment_in_a_document_has_the_digits_of_what_it_is_made_of(text: str) -> None:
    schema = Schema((Column("ts", Timestamp(6)), Column("a", BIGINT)))
    assert TypeRules().type_of(spark_of(text, schema, TypeRules()), schema, "", "") == Timestamp(6)


class OfDocuments(TypeRules):
    """What a query bound is not known to them."""


CASES = cases_in(Path(__file__).parents[2] / "conformance" / "cases")


@pytest.mark.parametrize("path", CASES[::16], ids=lambda path: path.stem)
def test_what_a_document_says_is_bound_to_what_was_written_for_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(node: Node, operator: Operator, schema: Schema, analyzer: Analyzer) -> Node:
        for text in operator.expressions:
            if isinstance(text, FlinkSql) and text.is_flink:
                bound = spark_of(text.flink, schema, OfDocuments(), variables=operator.variables)
                assert bound == text
                assert operator.variables or bound.digits == text.digits
        return in_flink(node, operator, schema, analyzer)

    monkeypatch.setattr(emitter, "in_flink", checked)
    assert Case.read(path).pipeline(TypeRules()).nodes
