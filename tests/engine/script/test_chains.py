"""Scripts of many views: they are planned without a session, and in time that grows with their length."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.expressions.analyzer import TypeRules
from engine.local.preview import first_records
from engine.model.printing import cells
from engine.planner import Plan, plan
from engine.script import script_of
from engine.sql import typed
from engine.sql.algebra import Expr
from engine.sql.rules import empty_pruning
from engine.sql.rules.strong import is_contradiction
from engine.sql.typed import expression_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = """
CREATE TABLE t (k STRING, v BIGINT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)
WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');
"""
ROWS = "a,1000,2024-01-01 00:00:00.000\nb,-1000,2024-01-01 00:00:01.000\na,2000,2024-01-01 00:00:02.000\n"


def nobody() -> SparkSession:
    pytest.fail("Spark was asked")


def planned(script: str, folder: Path) -> tuple[Plan, str]:
    (folder / "t.csv").write_text(ROWS)
    analyzer = TypeRules()
    read = script_of(TABLE + script, analyzer, folder)
    return plan(read.pipeline, analyzer, folder), read.jobs[-1]


def chain(length: int, item: str) -> str:
    """Views that each compute on the one before."""
    views = [
        f"CREATE VIEW v{at} AS SELECT k, {item} AS v, ts FROM {f'v{at - 1}' if at else 't'} WHERE v > {at};"
        for at in range(length)
    ]
    return "\n".join([*views, f"SELECT k, SUM(v) AS s FROM v{length - 1} GROUP BY k;"])


def beside(count: int) -> str:
    """Views of one table, all in one UNION ALL."""
    views = [f"CREATE VIEW v{at} AS SELECT k, v + {at} AS v FROM t WHERE v > {at};" for at in range(count)]
    return "\n".join([*views, " UNION ALL ".join(f"SELECT k, v FROM v{at}" for at in range(count)) + ";"])


@pytest.mark.slow
def test_a_hundred_chained_views_are_planned_and_give_their_rows(tmp_path: Path) -> None:
    plan_, sink = planned(chain(100, "CAST(v + 1 AS BIGINT)"), tmp_path)
    found = first_records(plan_, sink, nobody, tmp_path).records
    assert [cells(record)[-2:] for record in found] == [("a", "1100"), ("a", "1100"), ("a", "3200")]


def test_a_column_that_every_view_names_twice_does_not_double_with_each(tmp_path: Path) -> None:
    plan_, _ = planned(chain(20, "CASE WHEN v > 5000 THEN v ELSE v + 1 END"), tmp_path)
    assert sum(len(str(node.operator)) for node in plan_.nodes) < 100_000


@pytest.mark.parametrize("item", ["v + 1", "CAST(v + 1 AS BIGINT)"])
def test_a_few_chained_views_are_one_step(item: str, tmp_path: Path) -> None:
    plan_, _ = planned(chain(5, item), tmp_path)
    assert [node.operator.operator for node in plan_.nodes[1:]] == ["filter", "project", "aggregate", "sink"]


def test_views_side_by_side_are_planned_without_a_session(tmp_path: Path) -> None:
    plan_, sink = planned(beside(30), tmp_path)
    assert len(plan_.nodes) == 63
    found = first_records(plan_, sink, nobody, tmp_path).records
    assert {cells(record)[-2:] for record in found} >= {("a", "1000"), ("a", "2029")}


def test_a_condition_is_judged_once_however_many_views_stand_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[Expr] = []

    def counted(condition: Expr) -> bool:
        judged.append(condition)
        return is_contradiction(condition)

    monkeypatch.setattr(empty_pruning, "is_contradiction", counted)
    planned(beside(40), tmp_path)
    assert len(judged) == 40


def test_what_views_compute_is_not_bound_again_when_they_are_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []

    def noted(text: str) -> Expr:
        texts.append(text)
        return expression_in(text)

    monkeypatch.setattr(typed, "expression_in", noted)
    planned(
        beside(3) + "SELECT k, FLOOR(ts TO HOUR) AS h, SUM(v * 2 - 7) FROM t GROUP BY k, FLOOR(ts TO HOUR);", tmp_path
    )
    assert set(texts) <= {"k", "v", "ts"}


@pytest.mark.parametrize("value", ["CAST(ts AS DATE)", "CAST(CAST(ts AS DATE) AS TIMESTAMP(6))"])
def test_a_value_that_an_insert_converts_has_the_digits_of_its_column(value: str, tmp_path: Path) -> None:
    sink = "CREATE TABLE o (k STRING, at TIMESTAMP(6)) WITH ('connector' = 'print');"
    plan_, name = planned(f"{sink} INSERT INTO o SELECT k, {value} FROM t;", tmp_path)
    assert [column.type.flink for column in plan_.node(name).schema] == ["STRING", "TIMESTAMP(6)"]


def test_windows_by_one_of_two_event_times_have_the_other_as_a_value(tmp_path: Path) -> None:
    views = """
    CREATE TABLE u (k STRING, w BIGINT, us TIMESTAMP(6), WATERMARK FOR us AS us - INTERVAL '5' SECOND)
    WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv');
    CREATE VIEW pairs AS
    SELECT t.k, ts, us FROM u JOIN t ON t.k = u.k AND us BETWEEN ts - INTERVAL '1' SECOND AND ts;
    """
    query = "SELECT k, us, window_start FROM TABLE(TUMBLE(TABLE pairs, DESCRIPTOR(ts), INTERVAL '1' MINUTE));"
    plan_, sink = planned(views + query, tmp_path)
    assert [column.type.flink for column in plan_.node(sink).schema] == ["STRING", "TIMESTAMP(6)", "TIMESTAMP(3)"]
    found = first_records(plan_, sink, nobody, tmp_path).records
    assert ("b", "2024-01-01T00:00:01.000Z", "2024-01-01T00:00:00.000Z") in {cells(record)[-3:] for record in found}


def test_the_last_node_of_a_view_has_its_name_also_if_the_query_needs_fewer_of_its_rows(tmp_path: Path) -> None:
    views = """
    CREATE VIEW pairs AS SELECT a.k, a.v, b.v AS w FROM t AS a JOIN t AS b ON a.k = b.k;
    CREATE VIEW sums AS SELECT k, SUM(v) AS s FROM t GROUP BY k;
    """
    plan_, _ = planned(
        views + "SELECT p.k, p.w, s FROM pairs AS p JOIN sums AS u ON p.k = u.k WHERE p.v > 5;", tmp_path
    )
    named = {node.id: node.operator.operator for node in plan_.nodes}
    assert named["sums"] == "aggregate"
    assert named["pairs"] == "join"


def test_operators_have_the_names_of_the_views_that_they_are_of(tmp_path: Path) -> None:
    views = """
    CREATE VIEW big AS SELECT * FROM t WHERE v > 0;
    CREATE VIEW per_minute AS
    SELECT k, window_start, SUM(v) AS s, COUNT(*) AS c
    FROM TABLE(TUMBLE(TABLE big, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY k, window_start, window_end;
    CREATE VIEW pairs AS
    SELECT a.k, a.s, b.v FROM (SELECT k, SUM(s) AS s FROM per_minute GROUP BY k) AS a JOIN t AS b ON a.k = b.k;
    """
    plan_, sink = planned(views + "SELECT k, s FROM pairs WHERE s > v;", tmp_path)
    named = {node.id: node.operator.operator for node in plan_.nodes}
    assert named["big"] == "filter"
    assert named["per_minute"] == "window_aggregate"
    assert named["pairs"] == "join"
    assert named["pairs_aggregate"] == "aggregate"
    assert {"t", "project", sink} <= named.keys()


def test_rows_that_are_written_in_a_view_and_queries_of_with_have_their_names(tmp_path: Path) -> None:
    views = "CREATE VIEW users (k, name) AS VALUES ('a', 'Ada'), ('b', 'Bob');"
    query = """
    WITH sums AS (SELECT k, SUM(v) AS s FROM t WHERE v > 0 GROUP BY k)
    SELECT name, s FROM sums JOIN users ON sums.k = users.k;
    """
    (tmp_path / "t.csv").write_text(ROWS)
    script = script_of(TABLE + views + query, TypeRules(), tmp_path)
    assert [(node.id, node.operator, node.group) for node in script.pipeline.nodes] == [
        ("users", "rows", ""),
        ("t", "csv", ""),
        ("sums_filter", "filter", "sums"),
        ("sums", "aggregate", "sums"),
        ("join", "join", ""),
        ("project", "project", ""),
        ("result", "sink", ""),
    ]


@pytest.mark.slow
def test_hundreds_of_conditions_are_read_as_they_are_chained(tmp_path: Path) -> None:
    """As deep as their logarithm: Python, Spark, and the parser end at some hundred levels."""
    either = " OR ".join(f"v = {at} AND k = 'k{at}'" for at in range(1_000, 1_400))
    both = " AND ".join(f"(v <> {at} OR k = 'k{at}')" for at in range(400))
    plan_, sink = planned(f"SELECT v FROM t WHERE v > 0 AND ({either} OR k = 'a') AND {both};", tmp_path)
    assert [cells(record)[-1] for record in first_records(plan_, sink, nobody, tmp_path).records] == ["1000", "2000"]
    views = "\n".join(
        f"CREATE VIEW v{at} AS SELECT k, v FROM {f'v{at - 1}' if at else 't'} WHERE v > {at};" for at in range(300)
    )
    plan_, sink = planned(f"{views} SELECT v FROM v299;", tmp_path)
    assert [cells(record)[-1] for record in first_records(plan_, sink, nobody, tmp_path).records] == ["1000", "2000"]
