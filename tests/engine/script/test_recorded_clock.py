"""PROCTIME(), CURRENT_TIMESTAMP, RAND and UUID have values that a run repeats."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.engine.script.scripts import content, read, refusals, written
from tests.golden.trace import run_locally, run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from engine.script import Script

ROWS = "CREATE TABLE t (k STRING, p AS PROCTIME()) WITH ('connector' = 'kafka'); INSERT INTO t VALUES ('a'), ('b'); "
TOPIC = (
    "CREATE TABLE t (k STRING, p AS PROCTIME()) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', "
    "'properties.bootstrap.servers' = 'h:9092', 'scan.startup.mode' = 'earliest-offset'); "
)
MADE = (
    "CREATE TABLE t (k INT, p AS PROCTIME(){more}) WITH ('connector' = '{by}', 'number-of-rows' = '3', "
    "'rows-per-second' = '1'{options}); "
)
FAKER = ", 'fields.k.expression' = '1'"
CLOCK = "SET 'studio.clock' = '2025-03-01 12:00:00'; "


def result(text: str, spark: SparkSession) -> list[tuple[Any, ...]]:
    script: Script = read(text, spark)
    return [tuple(map(str, record.row)) for record in run_locally(script.pipeline, spark, Path()).records["result"]]


@pytest.mark.parametrize("by", ["datagen", "faker"])
def test_the_rows_of_a_generator_have_the_time_at_which_it_makes_them(by: str, spark: SparkSession) -> None:
    made = MADE.format(by=by, more=", c AS CURRENT_TIMESTAMP", options=FAKER if by == "faker" else "")
    seconds = [row[0][:19] + row[1][10:19] for row in result(f"{CLOCK}{made}SELECT p, c FROM t;", spark)]
    assert seconds == [f"2025-03-01 12:00:0{at} 12:00:0{at}" for at in range(3)]


def test_windows_of_processing_time_are_over_that_clock(spark: SparkSession) -> None:
    window = "TUMBLE(p, INTERVAL '2' SECOND)"
    query = f"SELECT {window.replace('(', '_START(', 1)} AS s, COUNT(*) AS n FROM t GROUP BY {window};"
    made = MADE.format(by="datagen", more="", options="")
    found = [(begin[11:19], count) for begin, count in result(made + query, spark)]
    assert found == [("00:00:00", "2"), ("00:00:02", "1")]


@pytest.mark.parametrize(
    "view",
    [
        "SELECT t.k, t.p AS q FROM t LEFT JOIN c FOR SYSTEM_TIME AS OF t.p ON t.k = c.k",
        "SELECT t.k, PROCTIME() AS q FROM t LEFT JOIN c FOR SYSTEM_TIME AS OF t.p AS l ON t.k = l.k WHERE l.n IS NULL",
        "SELECT k, p AS q FROM t UNION ALL SELECT u, p FROM d WHERE u < 0",
        "SELECT x, p AS q FROM t CROSS JOIN UNNEST(ARRAY[1]) AS o (x)",
        "SELECT k, p AS q FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS n FROM t) WHERE n = 1",
    ],
)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (
            "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE v, DESCRIPTOR(q), INTERVAL '2' SECOND)) "
            "GROUP BY window_start, window_end;",
            ["00:00:00 2", "00:00:02 1"],
        ),
        (
            "SELECT q, COUNT(*) OVER (ORDER BY q RANGE BETWEEN INTERVAL '1' SECOND PRECEDING AND CURRENT ROW) AS n "
            "FROM v;",
            ["00:00:00 1", "00:00:01 2", "00:00:02 2"],
        ),
    ],
)
def test_so_are_those_of_rows_that_come_when_the_tables_row_does(
    view: str, query: str, expected: list[str], spark: SparkSession
) -> None:
    made = MADE.format(by="datagen", more="", options=", 'fields.k.kind' = 'sequence', 'fields.k.start' = '1'")
    made = made.replace("'fields.k.start'", "'fields.k.end' = '3', 'fields.k.start'")
    tables = (
        "CREATE TABLE c (k INT, n STRING) WITH ('connector' = 'jdbc', 'url' = 'jdbc:mysql://h/d', 'table-name' = 'c'); "
        "INSERT INTO c VALUES (7, 'x'); "
        "CREATE TABLE d (u INT, p AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '2', "
        "'fields.u.min' = '0'); "
    )
    found = [
        f"{time[11:19]} {count}" for time, count in result(f"{made}{tables}CREATE VIEW v AS {view}; {query}", spark)
    ]
    assert found == expected


@pytest.mark.parametrize(
    "view", ["SELECT k, PROCTIME() AS q FROM t", "SELECT *, PROCTIME() AS q FROM t WHERE k IS NOT NULL"]
)
@pytest.mark.parametrize("time", ["", ", ts AS TO_TIMESTAMP_LTZ(0, 3), WATERMARK FOR ts AS ts"])
def test_so_are_those_of_a_query_that_adds_the_processing_time(view: str, time: str, spark: SparkSession) -> None:
    window = "TABLE(TUMBLE(TABLE v, DESCRIPTOR(q), INTERVAL '2' SECOND))"
    query = f"SELECT window_start, COUNT(*) AS n FROM {window} GROUP BY window_start, window_end;"
    made = MADE.format(by="datagen", more=time, options="").replace(", p AS PROCTIME()", "")
    found = [(begin[11:19], count) for begin, count in result(f"{made}CREATE VIEW v AS {view}; {query}", spark)]
    assert found == [("00:00:00", "2"), ("00:00:02", "1")]


def test_so_are_those_of_a_processing_time_within_group_by(spark: SparkSession) -> None:
    window = "TUMBLE(PROCTIME(), INTERVAL '2' SECOND)"
    query = f"SELECT {window.replace('(', '_START(', 1)} AS s, COUNT(*) AS n FROM t GROUP BY {window};"
    made = MADE.format(by="datagen", more="", options="").replace(", p AS PROCTIME()", "")
    assert [(begin[11:19], count) for begin, count in result(made + query, spark)] == [
        ("00:00:00", "2"),
        ("00:00:02", "1"),
    ]


def test_where_nothing_tells_when_rows_arrived_the_clock_stands_still(spark: SparkSession) -> None:
    rows = result(f"{CLOCK}{ROWS}SELECT *, CURRENT_DATE AS d, UNIX_TIMESTAMP() AS s FROM t WHERE p <= NOW();", spark)
    assert rows == [(k, "2025-03-01 12:00:00+00:00", "2025-03-01", "1740830400") for k in "ab"]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("LAG(k) OVER (ORDER BY p)", ["None", "a"]),
        ("COUNT(*) OVER (ORDER BY p)", ["1", "2"]),
        ("COUNT(*) OVER (ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", ["1", "2"]),
    ],
)
def test_rows_of_one_processing_time_come_one_after_the_other(
    call: str, expected: list[str], spark: SparkSession
) -> None:
    assert [row[1] for row in result(f"{ROWS}SELECT p, {call} AS n, k FROM t;", spark)] == expected


def test_messages_have_the_time_at_which_they_were_written(spark: SparkSession) -> None:
    [topic, *_] = read(f"{TOPIC}SELECT * FROM t;", spark).pipeline.nodes
    assert topic.parameters["metadata"] == [{"name": "p", "of": "timestamp"}]


@pytest.mark.parametrize("type_", ["BIGINT", "TIMESTAMP(3)", "TIMESTAMP_LTZ(3)"])
def test_where_the_clock_goes_by_an_arrival_column_processing_time_does_too(type_: str, spark: SparkSession) -> None:
    values = "1000, 2000, 5000" if type_ == "BIGINT" else ", ".join(f"'1970-01-01 00:00:0{s}'" for s in (1, 2, 5))
    rows = ", ".join(f"('a', {value}, {at})" for at, value in enumerate(values.split(", ")))
    made = (
        "SET 'changelog-studio.clock' = 'ARRIVAL_COLUMN';\n"
        '-- studio.arrived: "came"\n'
        f"CREATE TABLE t (k STRING, came {type_}, n INT, p AS PROCTIME(), c AS CURRENT_TIMESTAMP) "
        f"WITH ('connector' = 'kafka'); INSERT INTO t VALUES {rows}; "
    )
    assert [(p[17:19], c[17:19]) for p, c in result(f"{made}SELECT p, c FROM t;", spark)] == [
        ("01", "01"),
        ("02", "02"),
        ("05", "05"),
    ]
    windows = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(p), INTERVAL '3' SECOND))"
    counted = f"SELECT window_start, COUNT(*) AS n FROM {windows} GROUP BY window_start, window_end;"
    assert [(start[17:19], n) for start, n in result(made + counted, spark)] == [("00", "2"), ("03", "1")]


TIMED = """
SET 'changelog-studio.clock' = '{clock}';
{arrived}
CREATE TABLE t (
  k STRING, n INT, came BIGINT, ts AS TO_TIMESTAMP_LTZ(n * 1000, 3), p AS PROCTIME(), WATERMARK FOR ts AS ts
) WITH ('connector' = 'kafka');
INSERT INTO t VALUES ('a', 10, 61000), ('b', 7, 62000), ('a', 12, 75000);
CREATE TABLE d (k STRING, x INT) WITH ('connector' = 'jdbc');
INSERT INTO d VALUES ('a', 1), ('b', 2);
CREATE VIEW v AS SELECT k, n FROM t WHERE n > 0;
"""
EVENT, ARRIVED, SET_ = "10 07 12", "01 02 15", "00 00 00"


def timed(clock: str) -> str:
    return TIMED.format(clock=clock, arrived='-- studio.arrived: "came"' if clock == "ARRIVAL_COLUMN" else "")


@pytest.mark.parametrize(
    ("clock", "seconds"), [("AUTO", EVENT), ("EVENT_TIME", EVENT), ("ARRIVAL_COLUMN", ARRIVED), ("NONE", SET_)]
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT NOW() AS c FROM t",
        "SELECT CURRENT_TIMESTAMP AS c, k FROM t WHERE k <> 'c'",
        "SELECT LOCALTIMESTAMP AS c FROM t",
        "SELECT PROCTIME() AS c FROM t",
        "SELECT FROM_UNIXTIME(UNIX_TIMESTAMP()) AS c FROM t",
        "SELECT CURRENT_ROW_TIMESTAMP() AS c, * FROM v",
        "SELECT c FROM (SELECT n, NOW() AS c FROM (SELECT n + 1 AS n FROM t)) WHERE n > 0",
        "SELECT NOW() AS c, window_start FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE))",
        "SELECT NOW() AS c, x FROM t JOIN d FOR SYSTEM_TIME AS OF t.p ON t.k = d.k",
        "SELECT NOW() AS c, SUM(n) OVER (PARTITION BY k ORDER BY p) AS s FROM t",
    ],
)
def test_a_query_reads_the_clock_at_each_row(query: str, clock: str, seconds: str, spark: SparkSession) -> None:
    rows = result(timed(clock) + query, spark)
    assert " ".join(row[0][17:19] for row in rows) == seconds


@pytest.mark.parametrize("by", ["datagen", "faker"])
def test_a_query_reads_when_a_generator_made_the_row(by: str, spark: SparkSession) -> None:
    made = MADE.format(by=by, more="", options=FAKER if by == "faker" else "")
    rows = result(f"{CLOCK}{made}CREATE VIEW v AS SELECT k FROM t; SELECT NOW() AS c, * FROM v;", spark)
    assert [(row[0][:19], len(row)) for row in rows] == [(f"2025-03-01 12:00:0{at}", 2) for at in range(3)]


def test_a_query_reads_when_a_message_was_written(spark: SparkSession) -> None:
    [topic, *_] = read(f"{TOPIC}SELECT k, NOW() AS c FROM t;", spark).pipeline.nodes
    assert topic.parameters["metadata"] == [{"name": "$now", "of": "timestamp"}]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT NOW() AS c, k FROM v WHERE n > 7;",
        "SELECT NOW() AS c, k, COUNT(*) AS n FROM t GROUP BY k;",
        "SELECT NOW() AS c, t.k FROM t LEFT JOIN v ON t.k = v.k;",
    ],
)
def test_a_script_that_reads_the_clock_is_the_same_pipeline_written_and_read_again(
    query: str, spark: SparkSession
) -> None:
    pipeline = read(timed("EVENT_TIME") + query, spark).pipeline
    text = written(pipeline, spark).text
    assert "`$now` AS" in text
    assert content(read(text, spark).pipeline) == content(pipeline)


@pytest.mark.parametrize(
    ("clock", "kept"), [("AUTO", "a b a"), ("EVENT_TIME", "a b a"), ("ARRIVAL_COLUMN", ""), ("NONE", "")]
)
def test_a_condition_reads_the_clock_at_each_row(clock: str, kept: str, spark: SparkSession) -> None:
    query = "SELECT k FROM t WHERE ts BETWEEN NOW() - INTERVAL '20' SECOND AND NOW()"
    assert " ".join(row[0] for row in result(timed(clock) + query, spark)) == kept


TWO = """
CREATE TABLE t (k STRING, n INT, ts AS TO_TIMESTAMP_LTZ(n * 1000, 3), p AS PROCTIME(), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka');
INSERT INTO t VALUES ('a', 10), ('b', 7), ('a', 12);
CREATE TABLE u (k STRING, m INT, ts AS TO_TIMESTAMP_LTZ(m * 1000, 3), WATERMARK FOR ts AS ts)
WITH ('connector' = 'kafka');
INSERT INTO u VALUES ('a', 11), ('b', 5);
CREATE TABLE d (k STRING, x INT) WITH ('connector' = 'jdbc');
INSERT INTO d VALUES ('a', 1), ('c', 2);
"""
"""The clock tells the seconds n and m at the rows of t and u, and 0 at those of d."""
TOP = "SELECT {of} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY {by} DESC) AS r FROM t) WHERE r {range}"
WINDOWS = "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end"


@pytest.mark.parametrize(
    ("query", "changelog"),
    [
        # Below what keeps rows: where Flink has the projection or the filter.
        ("SELECT k, MIN(:now), SUM(:now) FROM t GROUP BY k", "+I(a, 10, 10) +I(b, 7, 7) -U(a, 10, 10) +U(a, 10, 22)"),
        ("SELECT COUNT(*) FILTER (WHERE :now > 10) FROM t WHERE k = 'a'", "+I(0) -U(0) +U(1)"),
        ("SELECT :now, COUNT(*) FROM t GROUP BY :now", "+I(10, 1) +I(7, 1) +I(12, 1)"),
        ("SELECT DISTINCT k, :now > 10 FROM t", "+I(a, False) +I(b, False) +I(a, True)"),
        ("SELECT k, COUNT(*) FROM t GROUP BY k HAVING :now > 10", "+I(a, 1)"),
        ("SELECT k, COUNT(*) FROM t GROUP BY k HAVING :now > 7 AND COUNT(*) > 1", "+U(a, 2)"),
        ("SELECT k, COUNT(*) FROM (SELECT k, :now AS c FROM t) WHERE c > 10 GROUP BY k", "+I(a, 1)"),
        ("SELECT SUM(:now) OVER (PARTITION BY k ORDER BY ts) FROM t WHERE k = 'a'", "+I(10) +I(22)"),
        (f"SELECT MAX(:now) {WINDOWS}", "+I(12)"),
        ("SELECT t.k, n FROM t JOIN u ON t.k = u.k AND :now > 7", "+I(a, 10) +I(a, 12)"),
        ("SELECT t.k, n FROM t JOIN u ON t.k = u.k AND m < :now", ""),
        ("SELECT n, m FROM t LEFT JOIN u ON t.k = u.k WHERE :now > 11", "+I(12, NULL)"),
        (
            "SELECT n, m FROM t LEFT JOIN u ON t.k = u.k AND :now > 10 WHERE n < 12",
            "+I(10, NULL) +I(7, NULL) -D(10, NULL) +I(10, 11)",
        ),
        ("SELECT n, m FROM t RIGHT JOIN u ON t.k = u.k AND :now > 10 WHERE m > 10", "+I(12, 11)"),
        ("SELECT t.k, n FROM t JOIN u ON t.k = u.k WHERE m >= :now AND n > 10", "+I(a, 12)"),
        (
            "SELECT :now, k FROM (SELECT k FROM t UNION ALL SELECT k FROM u) WHERE k = 'a'",
            "+I(10, a) +I(12, a) +I(11, a)",
        ),
        ("SELECT :now, k FROM (SELECT k FROM u UNION ALL SELECT k FROM d)", "+I(11, a) +I(5, b) +I(0, a) +I(0, c)"),
        # Above joins: the later of both rows.
        ("SELECT :now, t.k FROM t JOIN u ON t.k = u.k", "+I(11, a) +I(12, a) +I(7, b)"),
        ("SELECT t.k, n FROM t JOIN u ON t.k = u.k AND n + m < 2 * :now - 1", "+I(b, 7)"),
        ("SELECT :now, t.k FROM t JOIN d ON t.k = d.k", "+I(10, a) +I(12, a)"),
        (
            "SELECT :now, n, m FROM t LEFT JOIN u ON t.k = u.k WHERE n < 12",
            "+I(10, 10, NULL) +I(7, 7, NULL) -D(10, 10, NULL) +I(11, 10, 11) -D(7, 7, NULL) +I(7, 7, 5)",
        ),
        # Above groups that count their rows, what is taken back has the time that it went out with.
        ("SELECT :now, k, COUNT(*) FROM t GROUP BY k", "+I(10, a, 1) +I(7, b, 1) -U(10, a, 1) +U(12, a, 2)"),
        ("SELECT k, COUNT(*) FROM t GROUP BY k HAVING MIN(n) < :now", "+U(a, 2)"),
        # Above Top N.
        (TOP.format(of=":now, n", by="n", range="= 1"), "+I(10, 10) +I(7, 7) -U(10, 10) +U(12, 12)"),
        ("SELECT :now, k FROM t ORDER BY n LIMIT 2", "+I(10, a) +I(7, b)"),
        # Where no column could have the time, the clock stands still.
        ("SELECT :now, k, MAX(n) FROM t GROUP BY k HAVING MAX(n) > 7", "+I(0, a, 10) -U(0, a, 10) +U(0, a, 12)"),
        (f"SELECT :now, COUNT(*) {WINDOWS}", "+I(0, 3)"),
        (TOP.format(of=":now, n, r", by="n", range="<= 2 AND k = 'b'"), "+I(0, 7, 1)"),
        (TOP.format(of=":now, n", by="p", range="= 1"), "+I(0, 10) +I(0, 7) -U(0, 10) +U(0, 12)"),
    ],
)
def test_the_clock_is_read_where_the_rules_have_put_the_reading(
    query: str, changelog: str, spark: SparkSession
) -> None:
    script = read(TWO + query.replace(":now", "EXTRACT(SECOND FROM NOW())"), spark)
    assert " ".join(run_locally(script.pipeline, spark, Path()).changelog("result")) == changelog


def test_the_clock_above_groups_and_joins_is_the_same_for_any_tasks_and_epochs(
    spark: SparkSession, tmp_path: Path
) -> None:
    query = "SELECT NOW() AS c, k, n, x FROM (SELECT k, COUNT(*) AS n FROM t GROUP BY k) JOIN d USING (k)"
    pipeline = read(TWO + query, spark).pipeline
    expected = run_locally(pipeline, spark, Path()).text()
    assert run_pipeline(pipeline, spark, Path(), tmp_path, partitions=3, epochs=2).text() == expected


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (
            "SELECT k, n, SUM(n) OVER (PARTITION BY k ORDER BY p ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM t",
            ["a 10 10", "b 7 7", "a 12 22"],
        ),
        ("SELECT k, n, COUNT(*) OVER (ORDER BY p) AS s FROM t", ["a 10 1", "b 7 2", "a 12 3"]),
        ("SELECT t.k, n, x FROM t JOIN d FOR SYSTEM_TIME AS OF t.p ON t.k = d.k", ["a 10 1", "b 7 2", "a 12 1"]),
        (
            "SELECT k, n FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p DESC) AS r FROM t) WHERE r = 1",
            ["a 10", "b 7", "a 10", "a 12"],
        ),
    ],
)
@pytest.mark.parametrize("clock", ["AUTO", "EVENT_TIME", "ARRIVAL_COLUMN", "NONE"])
def test_what_goes_by_the_order_of_arrival_is_the_same_under_every_clock(
    query: str, rows: list[str], clock: str, spark: SparkSession
) -> None:
    assert [" ".join(row) for row in result(timed(clock) + query, spark)] == rows


def test_rowtime_is_a_column_of_every_table_that_only_its_name_shows(spark: SparkSession) -> None:
    made = "CREATE TABLE t (k STRING) DISTRIBUTED BY HASH(k) INTO 3 BUCKETS; INSERT INTO t VALUES ('a'), ('b'); "
    assert result(f"{CLOCK}{made}SELECT *, $rowtime AS r FROM t;", spark) == [
        (k, "2025-03-01 12:00:00+00:00") for k in "ab"
    ]
    windows = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(`$rowtime`), INTERVAL '1' MINUTE))"
    counted = f"SELECT window_start, COUNT(*) AS n FROM {windows} GROUP BY window_start, window_end;"
    assert result(f"{CLOCK}{made}{counted}", spark) == [("2025-03-01 12:00:00", "2")]
    [topic, *_] = read(f"{TOPIC}SELECT *, $rowtime FROM t;", spark).pipeline.nodes
    assert topic.parameters["metadata"] == [{"name": "p", "of": "timestamp"}]


def test_a_processing_time_that_is_only_an_order_gets_no_values(spark: SparkSession) -> None:
    query = "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY p) AS n FROM t) WHERE n = 1;"
    assert "computed" not in read(ROWS + query, spark).pipeline.nodes[0].parameters


def test_random_values_are_those_of_the_record(spark: SparkSession) -> None:
    query = "SELECT RAND() AS a, RAND() AS b, RAND(7) AS c, RAND_INTEGER(10) AS i, UUID() AS u FROM t;"
    rows = result(ROWS + query, spark)
    assert rows == result(ROWS + query, spark)
    for a, b, c, i, u in rows:
        assert len({a, b, c}) == 3
        assert all(0 <= float(each) < 1 for each in (a, b, c))
        assert 0 <= int(i) < 10
        assert [len(part) for part in u.split("-")] == [8, 4, 4, 4, 12]
    assert rows[0] != rows[1]


@pytest.mark.parametrize(("partitions", "epochs"), [(1, 1), (3, 2)])
def test_random_values_are_the_same_for_any_tasks_and_epochs(
    spark: SparkSession, tmp_path: Path, partitions: int, epochs: int
) -> None:
    query = "SELECT k, RAND() AS a, RAND_INTEGER(10) AS i, UUID() AS u FROM t WHERE RAND() < 2;"
    pipeline = read(ROWS.replace("('b')", "('b'), ('c'), ('d'), ('e')") + query, spark).pipeline
    expected = run_locally(pipeline, spark, Path()).text()
    assert run_pipeline(pipeline, spark, Path(), tmp_path, partitions=partitions, epochs=epochs).text() == expected


def test_a_clock_that_is_no_time_is_refused(spark: SparkSession) -> None:
    assert "'studio.clock' is a time such as" in refusals(f"SET 'studio.clock' = 'noon'; {ROWS}SELECT k FROM t;", spark)


def test_windows_over_processing_time_leave_the_event_time_to_other_statements(spark: SparkSession) -> None:
    table = (
        "CREATE TABLE t (k INT, ts TIMESTAMP(3), p AS PROCTIME(), WATERMARK FOR ts AS ts) WITH ('connector' = "
        "'filesystem', 'path' = 't', 'format' = 'json');\nINSERT INTO t VALUES (1, TIMESTAMP '2024-01-01 00:00:00');\n"
        "CREATE VIEW v AS SELECT k, ts, p FROM t;\n"
    )
    hop = "SELECT HOP_START({0}, {1}) AS s, COUNT(*) AS n FROM v GROUP BY HOP({0}, {1});\n"
    hops = [hop.format(time, "INTERVAL '30' SECOND, INTERVAL '1' MINUTE") for time in ("p", "ts")]
    script = read(table + "".join(hops), spark)
    sources = {node.id: node.parameters["event_time"] for node in script.pipeline.nodes if node.operator == "rows"}
    assert sources == {"t": "ts", "t_by_arrival": "p"}
    assert (
        "t is read twice: windows over its processing time read it by times of arrival, as t_by_arrival, and other "
        "statements by its event time."
    ) in script.warnings
    alone = read(table + hops[0], spark)
    assert [node.id for node in alone.pipeline.nodes if node.operator == "rows"] == ["t"]


def test_a_clock_that_stands_still_is_told_of_once(spark: SparkSession) -> None:
    script = read(
        ROWS + "SELECT COUNT(*) AS n FROM t GROUP BY TUMBLE(p, INTERVAL '1' DAY); SELECT NOW() AS c FROM t;", spark
    )
    (told,) = (warning for warning in script.warnings if warning.startswith("t: the clock"))
    assert "as nothing tells when they arrived" in told
