"""The statements of a script, and rejections with line and column."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.model.pipeline import Pipeline
from engine.model.types import BIGINT, BOOLEAN, Type
from engine.running import finished
from engine.script import reading
from engine.sql import SqlRejected
from engine.sql.clauses import query
from tests.engine.script.scripts import content, operators, read, refusals, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WORDS = "CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');\n"
ROWS = "INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);\n"
PRINT = "CREATE TABLE {name} ({columns}) WITH ('connector' = 'print');\n"


def changelog(text: str, spark: SparkSession, folder: Path = Path()) -> list[tuple[object, ...]]:
    script = read(text, spark, folder)
    with finished(script.pipeline, spark, folder) as job:
        return [tuple(row)[1:] for row in job.changelog(script.jobs[-1]).collect()]


def test_rows_that_the_script_inserts_are_the_source_and_the_last_select_is_the_job(spark: SparkSession) -> None:
    found = changelog(WORDS + ROWS + "SELECT k FROM t WHERE v < 0;\nSELECT k, SUM(v) AS s FROM t GROUP BY k;", spark)
    assert found == [("+I", "a", 1), ("+I", "b", 2), ("-U", "a", 1), ("+U", "a", 4)]


def test_a_csv_file_with_a_computed_event_time_lies_beside_the_script(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(
        "a|1|2024-01-01 00:00:01\nb|2|2024-01-01 00:00:03\na|3|\na|4|2024-01-01 00:00:02.9\n"
    )
    text = """
        CREATE TABLE t (
          k STRING COMMENT 'who', v INT NOT NULL,
          partition_id BIGINT METADATA FROM 'partition' VIRTUAL,
          ts STRING,
          rt AS TO_TIMESTAMP(ts),
          doubled AS v * 2,
          pt AS PROCTIME(),
          WATERMARK FOR rt AS rt - INTERVAL '0.5' SECOND
        ) PARTITIONED BY (k) WITH (
          'connector' = 'filesystem', 'path' = 'in.csv', 'format' = 'csv', 'csv.field-delimiter' = '|',
          'csv.ignore-parse-errors' = 'true', 'csv.write-bigdecimal-in-scientific-notation' = 'false'
        );
        SELECT window_start, SUM(doubled) AS s FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(rt), INTERVAL '1' SECOND))
        GROUP BY window_start, window_end;
    """
    script = read(text, spark, tmp_path)
    assert script.warnings == (
        "t: the metadata column partition_id is ignored. Of files there are file.path and file.name, as STRING.",
        "t: the option 'csv.write-bigdecimal-in-scientific-notation' is ignored; it has no effect here.",
    )
    with finished(script.pipeline, spark, tmp_path) as job:
        sums = [row["s"] for row in job.changelog("result").collect()]
        assert sums == [2, 8, 4]
        assert job.output.problems(spark).rejected == 1


ARRIVED = """
    -- studio.arrived: "arrived"
    CREATE TABLE t (k STRING, rt TIMESTAMP(3), arrived TIMESTAMP(3), pt AS PROCTIME(), WATERMARK FOR rt AS rt)
    WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');
    INSERT INTO t VALUES
      ('a', TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:09.999'),
      ('a', TIMESTAMP '2024-01-01 00:01:00', TIMESTAMP '2024-01-02 00:00:09.999'),
      ('a', TIMESTAMP '2024-01-01 00:00:20', TIMESTAMP '2024-01-02 00:00:10');
    SELECT k, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '10' SECOND))
    GROUP BY k, window_start, window_end;
"""


def test_windows_of_processing_time_are_of_the_times_at_which_records_arrived(spark: SparkSession) -> None:
    source = read(ARRIVED, spark).pipeline.node("t").parameters
    assert source["event_time"] == "arrived"
    assert source["processing_time"]
    # Two records in the last millisecond of a window are both in it.
    assert changelog(ARRIVED, spark) == [("+I", "a", 2), ("+I", "a", 1)]
    with pytest.raises(SqlRejected, match=r"studio\.arrived is 1, not a text"):
        read(ARRIVED.replace('"arrived"', "1"), spark)
    script = read(ARRIVED.replace("-- studio", "-- "), spark)
    assert script.pipeline.node("t").parameters["event_time"] == "pt"
    assert script.warnings == ("t: the clock of its rows is the time in their event time rt.",)


def test_select_star_has_the_columns_in_the_declared_order_and_leaves_others_of_the_file_out(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"other": 1, "b": 2, "a": "x"}\n')
    table = (
        "CREATE TABLE t (a STRING, c AS b + 1, b BIGINT) "
        "WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');"
    )
    script = read(table + "SELECT * FROM t", spark, tmp_path)
    with finished(script.pipeline, spark, tmp_path) as job:
        assert job.changelog("result").columns == ["seq", "kind", "a", "c", "b"]
        assert [tuple(row)[2:] for row in job.changelog("result").collect()] == [("x", 3, 2)]


@pytest.mark.parametrize(
    ("format_", "line"),
    [
        ("debezium-json", '{"before": null, "after": {"k": "a", "v": 1}, "op": "c"}'),
        ("canal-json", '{"type": "INSERT", "data": [{"k": "a", "v": "1"}], "old": null}'),
        ("maxwell-json", '{"type": "insert", "data": {"k": "a", "v": 1}}'),
    ],
)
def test_a_changelog_format_is_its_own_source(format_: str, line: str, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(line + "\n")
    table = f"CREATE TABLE t (k STRING, v INT) WITH ('connector'='filesystem','path'='in.jsonl','format'='{format_}');"
    assert changelog(table + "SELECT k, v FROM t", spark, tmp_path) == [("+I", "a", 1)]


def test_datagen_makes_the_rows_that_it_is_asked_for(spark: SparkSession) -> None:
    table = """CREATE TABLE t (id INT, v BIGINT, s STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH (
      'connector' = 'datagen', 'number-of-rows' = '20', 'fields.id.kind' = 'sequence', 'fields.id.start' = '5',
      'fields.id.end' = '9', 'fields.v.min' = '1', 'fields.v.max' = '3', 'fields.s.length' = '4');"""
    found = changelog(table + "SELECT id, v, s FROM t", spark)
    assert [row[1] for row in found] == [5, 6, 7, 8, 9]
    assert all(1 <= row[2] <= 3 and len(row[3]) == 4 for row in found)  # type: ignore[operator, arg-type]
    assert found == changelog(table + "SELECT id, v, s FROM t", spark)


def test_a_condition_that_is_never_true_is_told_with_its_place(spark: SparkSession) -> None:
    table = "CREATE TABLE t (a INT, b INT) WITH ('connector' = 'datagen', 'number-of-rows' = '3');\n"
    both = read(
        f"{table}SELECT l.a, r.b FROM t AS l LEFT JOIN t AS r ON l.a = r.a AND r.b > 5 AND r.b < 3\n"
        "UNION ALL (SELECT a, b FROM t\nWHERE FALSE)",
        spark,
    )
    assert both.warnings == (
        "line 2, column 69: the condition is never true, so no row meets it.",
        "a condition is never true, so no row meets it.",
    )
    assert [node.id for node in both.pipeline.nodes] == ["t", "project", "result"]
    assert not read(f"{table}SELECT a FROM t WHERE b > 5 AND b < 7", spark).warnings


def test_datagen_without_an_end_has_none_where_it_runs_live_and_says_so(spark: SparkSession) -> None:
    script = read("CREATE TABLE t (v INT) WITH ('connector' = 'datagen'); SELECT v FROM t", spark)
    assert script.pipeline.node("t").parameters["rows"] is None
    assert script.warnings == (
        "t: datagen without 'number-of-rows' never ends; a run that is not live makes 1000 rows.",
    )


def test_a_folder_that_is_watched_is_so_in_a_script_and_back(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.csv").write_text("7\n")
    table = "CREATE TABLE t (v INT) WITH ('connector' = 'filesystem', 'path' = 'in', 'format' = 'csv', "
    option = "'source.monitor-interval' = '2 s'"
    pipeline = read(f"{table}{option}); SELECT v FROM t", spark, tmp_path).pipeline
    assert pipeline.node("t").parameters["monitor_interval_ms"] == 2000
    assert "'source.monitor-interval' = '2000 ms'" in written(pipeline, spark, tmp_path).text
    with pytest.raises(SqlRejected, match="'source.monitor-interval' is a time such as 5 s, not 'soon'"):
        read(f"{table}{option.replace('2 s', 'soon')}); SELECT v FROM t", spark, tmp_path)


def two_sinks(sums: str, sums_columns: str, counts: str) -> str:
    """A script with two sinks over one view."""
    return (
        WORDS
        + ROWS
        + PRINT.format(name="sums", columns=sums_columns)
        + PRINT.format(name="counts", columns="n BIGINT, groups BIGINT")
        + f"""SET 'table.exec.mini-batch.enabled' = 'true';
        CREATE VIEW per_key (k, n, s) AS SELECT k, COUNT(*), SUM(v) FROM t GROUP BY k;
        EXECUTE STATEMENT SET BEGIN
          INSERT INTO sums SELECT {sums} FROM per_key;
          INSERT INTO counts SELECT n, {counts} FROM per_key GROUP BY n;
        END;"""
    )


def test_several_inserts_are_several_sinks_over_what_they_share(spark: SparkSession) -> None:
    script = read(two_sinks("k, n, s", "k STRING, n BIGINT, s INT", "SUM(s)"), spark)
    assert operators(script) == [
        "t rows",
        "per_key aggregate < t",
        "sums sink < per_key",
        "counts_aggregate aggregate < per_key",
        "counts_project project < counts_aggregate",
        "counts sink < counts_project",
    ]
    assert script.jobs == ("sums", "counts")
    assert script.pipeline.options == {"table.exec.mini-batch.enabled": "true"}


def test_inserts_that_need_other_columns_of_a_view_have_each_its_own_operators_as_in_flink(spark: SparkSession) -> None:
    assert operators(read(two_sinks("k, s", "k STRING, s INT", "COUNT(*)"), spark)) == [
        "t rows",
        "per_key aggregate < t",
        "sums sink < per_key",
        "per_key_aggregate aggregate < t",
        "counts_aggregate aggregate < per_key_aggregate",
        "counts_project project < counts_aggregate",
        "counts sink < counts_project",
    ]


def test_a_sink_has_its_own_column_names_types_and_key(spark: SparkSession) -> None:
    text = (
        WORDS
        + ROWS
        + PRINT.format(name="o", columns="word STRING, total BIGINT, note STRING, PRIMARY KEY (word) NOT ENFORCED")
        + "INSERT INTO o (word, total) SELECT k, SUM(v) FROM t GROUP BY k"
    )
    assert read(text, spark).pipeline.node("o").parameters == {"mode": "upsert", "keys": ["word"]}
    assert changelog(text, spark) == [("+I", "a", 1, None), ("+I", "b", 2, None), ("+U", "a", 4, None)]


def test_a_column_can_be_the_primary_key(spark: SparkSession) -> None:
    text = WORDS.replace("k STRING", "k STRING PRIMARY KEY NOT ENFORCED") + ROWS + "SELECT v FROM t"
    assert read(text, spark).pipeline.nodes[0].parameters["primary_key"] == ["k"]


def test_an_insert_into_a_row_keeps_the_names_of_its_fields(spark: SparkSession) -> None:
    table = PRINT.format(name="o", columns="r ROW<`myField` INT, `b c` BIGINT>")
    script = read(WORDS + ROWS + table + "INSERT INTO o SELECT ROW(v, v) FROM t", spark)
    (column,) = script.pipeline.node("project_2").parameters["columns"]
    assert column["expression"] == {"flink": "CAST(`EXPR$0` AS ROW<`myField` INT, `b c` BIGINT>)"}


def test_a_decimal_in_values_has_all_its_digits(spark: SparkSession) -> None:
    table = WORDS.replace("v INT", "v DECIMAL(19, 2)")
    text = table + "INSERT INTO t VALUES ('a', 12345678901234567.89), ('b', -12345678901234567.89), ('c', 0.1);"
    values = [row[2] for row in changelog(text + "SELECT k, v FROM t", spark)]
    assert values == [Decimal("12345678901234567.89"), Decimal("-12345678901234567.89"), Decimal("0.10")]


def test_rows_with_kinds_are_a_changelog_as_flink_reads_them(spark: SparkSession) -> None:
    text = """
        CREATE TABLE `t rows` (op STRING, k STRING, v INT)
          WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');
        INSERT INTO `t rows` VALUES ('+I', 'a', 1), ('-U', 'a', 1), ('+U', 'a', -2), ('-D', 'a', -2);
        CREATE VIEW t AS SELECT * FROM FROM_CHANGELOG(input => TABLE `t rows`, op => DESCRIPTOR(op),
          op_mapping => MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']);
        SELECT k, v FROM t;
    """
    assert [row[0] for row in changelog(text, spark)] == ["+I", "-U", "+U", "-D"]


def test_a_name_that_is_no_id_becomes_one(spark: SparkSession) -> None:
    text = WORDS.replace("TABLE t ", "TABLE `1 große`") + ROWS.replace("INTO t ", "INTO `1 große` ")
    assert operators(read(text + "SELECT k FROM `1 große`", spark))[0] == "t1 gro_e rows"


def test_a_long_name_is_cut_off_where_it_becomes_an_id(spark: SparkSession) -> None:
    name, other = "n" * 120, "n" * 120 + "2"
    text = (
        WORDS.replace("TABLE t ", f"TABLE {name} ")
        + ROWS.replace("INTO t ", f"INTO {name} ")
        + PRINT.format(name=other, columns="k STRING, v INT")
        + f"CREATE VIEW `{'v.' * 60}` AS SELECT k, SUM(v) AS v FROM {name} GROUP BY k;"
        + f"INSERT INTO {other} SELECT k, v FROM `{'v.' * 60}`"
    )
    pipeline = read(text, spark).pipeline
    assert [node.id for node in pipeline.nodes] == [name[:100], "v_" * 50, name[:98] + "_2"]
    assert Pipeline.from_json(pipeline.to_json()) == pipeline


REFUSED = [
    (
        "CREATE TABLE t (k STRING) WITH ('connector' = 'filesystem', 'path' = 'x', 'format' = 'cvs'); SELECT k FROM t",
        "t: the format 'cvs' is not supported. Available: avro, canal-json, csv, debezium-json, excel, json",
    ),
    (
        "CREATE TABLE t (k STRING) WITH ('connector' = 'print');",
        "line 1, column 1: the script has no SELECT and no INSERT INTO",
    ),
    ("\nCREATE TABLE t (k WRONG); SELECT k FROM t", "line 2, column 19: k: unknown type 'WRONG'"),
    ("CREATE TABLE t (k); SELECT k FROM t", "the column k has no type"),
    (
        "CREATE TABLE t (k STRING) WITH ('connector' = 'jdbc', 'table-name' = 't');\nSELECT k FROM t",
        "line 1, column 1: t: 'url' is missing: 'url' = 'jdbc:duckdb:FILE' or 'jdbc:mysql://HOST:PORT/DATABASE' or "
        "'jdbc:postgresql://HOST:PORT/DATABASE' or 'jdbc:sqlite:FILE'.",
    ),
    (WORDS + ROWS + "INSERT INTO nowhere SELECT k FROM t", "line 3, column 1: INSERT INTO: unknown table 'nowhere'"),
    (WORDS + ROWS + "SELECT x FROM t", "line 3, column 8: unknown column 'x'. Available: k, v."),
    (WORDS + "INSERT INTO t VALUES ('a');", "t has 2 columns (k, v), but a row has 1 values."),
    (WORDS + "INSERT INTO t VALUES ('a', SIN(v));", "line 2, column 32: VALUES takes constants here, not v."),
    (WORDS + ROWS + "CREATE FUNCTION f AS 'x'", "line 3, column 22: functions in Java and Scala are not supported."),
    (
        WORDS + ROWS + "CREATE FUNCTION f(x INT) RETURNS INT LANGUAGE SQL AS $$ x + 1 $$",
        "line 3, column 18: Flink has no functions that are written in SQL. Write the expression where f is called, or",
    ),
    (WORDS + ROWS + "CREATE MODEL f AS 'x'", "line 3, column 1: CREATE: models, connections, agents"),
    (WORDS + "CREATE FUNCTION upper AS 'f.u' LANGUAGE PYTHON", "line 2, column 17: there is a function UPPER already."),
    (
        WORDS + "CREATE FUNCTION f AS f LANGUAGE PYTHON",
        "AS takes the place of the function in quotes: AS 'functions.f'.",
    ),
    (WORDS + "CREATE FUNCTION f AS 'f' LANGUAGE PYTHON; SELECT k FROM t", "write it as 'module.function'"),
    (
        "CREATE TABLE t (ts BIGINT, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen'); SELECT ts FROM t",
        "the event time ts is a number. Compute a timestamp of it: ts_time AS TO_TIMESTAMP_LTZ(ts, 3)",
    ),
    (
        "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS CURRENT_TIMESTAMP) WITH ('connector' = 'datagen');",
        "the watermark CURRENT_TIMESTAMP is not supported. Write ts, or ts - INTERVAL '5' SECOND.",
    ),
    (
        "SET 'table.exec.mini-batch.enabled' = 'perhaps';",
        "table.exec.mini-batch.enabled is true or false, not 'perhaps'",
    ),
    ("SELECT 'a", "line 1, column 8: the quote that opens here is never closed."),
    (
        WORDS + ROWS + PRINT.format(name="o", columns="k STRING") + "INSERT INTO o SELECT k, v FROM t",
        "o takes 1 column (k), but the query gives 2 (k, v).",
    ),
    (WORDS + "INSERT INTO t (k, x) VALUES ('a', 1)", "line 2, column 1: t: unknown column 'x'. Available: k, v."),
    (WORDS + "INSERT INTO t (k, k) VALUES ('a', 'b')", "line 2, column 1: t: the column 'k' is named twice."),
    (
        WORDS + ROWS + PRINT.format(name="o", columns="k STRING, v INT") + "INSERT INTO o (k, k) SELECT k, v FROM t",
        "line 4, column 1: o: the column 'k' is named twice. Name it once.",
    ),
    ("INSERT INTO t (k) VALUES ('a');\n" + WORDS, "line 1, column 1: INSERT INTO: unknown table 't'. Available: none."),
    (WORDS + "INSERT INTO missing VALUES (1)", "line 2, column 1: INSERT INTO: unknown table 'missing'. Available: t."),
    (WORDS + "INSERT INTO t VALUES (MAP['a'], 1)", "line 2, column 23: MAP takes a value after each key:"),
    ("CREATE VIEW v; SELECT * FROM v", "line 1, column 13: expected AS, but got the end."),
    ("CREATE VIEW v AS; SELECT * FROM v", "line 1, column 15: a query is missing here."),
    ("CREATE TABLE t (k AS)", "line 1, column 21: an expression is missing here."),
    (
        '-- studio.pipeline: "p"\n' + WORDS + ROWS + "CREATE VIEW f AS SELECT 1 AS x, (SELECT MAX(v) FROM t) AS y;"
        "SELECT k FROM f",
        "unknown column 'k'. Available: x, y.",
    ),
    ("CREATE VIEW", "line 1, column 8: the statement is incomplete."),
    (
        "SET 'table.exec.mini-batch.allow-latency' = '999999999999 d'; SELECT 1",
        "line 1, column 1: options: table.exec.mini-batch.allow-latency is a time such as 5 s, not '999999999999 d'.",
    ),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED, ids=[str(at) for at in range(len(REFUSED))])
def test_what_is_not_read_is_said_with_its_place_and_what_would_work(
    text: str, sentence: str, spark: SparkSession
) -> None:
    assert sentence in refusals(text, spark)


def test_options_that_change_nothing_are_left_out_with_a_warning(spark: SparkSession) -> None:
    script = read(
        "SET 'parallelism.default' = '1'; SET state.backend = rocksdb;" + WORDS + ROWS + "SELECT k FROM t", spark
    )
    assert script.warnings == ("line 1: the option 'state.backend' has no effect here.",)


def test_nodes_are_called_as_their_views_and_a_view_that_nobody_reads_is_named(spark: SparkSession) -> None:
    text = (
        WORDS
        + ROWS
        + """
        CREATE VIEW `per key` AS SELECT k, COUNT(*) AS n FROM t GROUP BY k;
        CREATE VIEW large AS SELECT * FROM `per key` WHERE n > 1;
        CREATE VIEW lost AS SELECT k FROM large;
        CREATE VIEW also_lost AS SELECT v FROM t;
        SELECT n, COUNT(*) AS m FROM large GROUP BY n;
    """
    )
    script = read(text, spark)
    assert "per key aggregate < t" in operators(script)
    assert "large filter < per key" in operators(script)
    assert script.warnings == (
        "the view lost is left out: no INSERT and no SELECT at the end reads it.",
        "the view also_lost is left out: no INSERT and no SELECT at the end reads it.",
    )


def test_each_of_many_nested_views_is_read_once_and_called_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Typed:
        def type_of(self, expression: str, schema: object, node: str, field: str) -> Type:
            return BOOLEAN if ">" in expression else BIGINT

    counts = "SELECT k, COUNT(*) AS c{at} FROM v{below} WHERE c{below} > {at} GROUP BY k"
    views = [f"CREATE VIEW v{at} AS {counts.format(below=at - 1, at=at)};" for at in range(1, 40)]
    reads = 0
    read_query = query.read

    def counted(*given: Any) -> Any:
        nonlocal reads
        reads += 1
        return read_query(*given)

    monkeypatch.setattr(query, "read", counted)
    text = WORDS + ROWS + "CREATE VIEW v0 AS SELECT k, v AS c0 FROM t;" + "".join(views) + "SELECT * FROM v39;"
    script = reading.script_of(text, Typed(), Path())
    assert {f"v{at}" for at in range(1, 40)} <= {node.id for node in script.pipeline.nodes}
    assert reads == 40


def test_the_comment_directly_above_a_statement_is_the_description_of_its_node(spark: SparkSession) -> None:
    script = read(
        "-- From a blog.\n\n"
        "-- What people pay,\n-- in euros.\n"
        "CREATE TABLE paid (who STRING, euros INT); -- not about the view\n"
        "/* Who paid\n * how much */\n"
        "CREATE VIEW totals AS SELECT who, SUM(euros) AS euros FROM paid GROUP BY who;\n"
        "-- Far above.\n\n"
        "CREATE TABLE shown (who STRING, euros INT) WITH ('connector' = 'print');\n"
        "INSERT INTO paid VALUES ('ada', 1);\n"
        "-- The report.\nINSERT INTO shown SELECT * FROM totals;",
        spark,
    )
    assert {node.id: node.description for node in script.pipeline.nodes} == {
        "paid": "What people pay,\nin euros.",
        "totals": "Who paid\nhow much",
        "shown": "The report.",
    }
    again = read(written(script.pipeline, spark).text, spark)
    assert content(again.pipeline) == {**content(script.pipeline), "name": script.pipeline.name}


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("b - TIME '09:00:00'", "the difference of two TIMEs is written TIMESTAMPDIFF(SECOND, a, b), as in Flink."),
        ("EXTRACT(DAY FROM b)", "of a TIME, unknown unit 'DAY'. Available: HOUR, MINUTE, SECOND, MILLISECOND."),
        ("CAST(i AS TIME)", "INT has no time of day. Cast a TIMESTAMP or a text to TIME."),
    ],
)
def test_what_a_time_of_day_has_not_is_said(query: str, why: str, spark: SparkSession) -> None:
    options = "'connector' = 'kafka', 'topic' = 't', 'properties.bootstrap.servers' = 'b:9092', 'format' = 'json'"
    table = f"CREATE TABLE t (i INT, b TIME) WITH ({options});"
    assert why in refusals(f"{table} SELECT {query} AS x FROM t;", spark)
