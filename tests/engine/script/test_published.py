"""Scripts in the way in which people publish them: prompts, constants in VALUES, tables made of queries, and slips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from engine.expressions.flink_sql import flink
from engine.sql import SqlRejected
from tests.engine.script.scripts import content, read, refusals, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def operators(text: str, spark: SparkSession) -> list[str]:
    return [node.operator for node in read(text, spark).pipeline.nodes]


ROW = "CREATE TABLE t (c {type});\nINSERT INTO t VALUES ({value});\nSELECT * FROM t;"


@pytest.mark.parametrize(
    ("type_", "constant", "value"),
    [
        ("TIMESTAMP(3)", "TO_TIMESTAMP('2024-01-01 10:00:00')", "2024-01-01 10:00:00"),
        ("TIMESTAMP(3)", "TO_TIMESTAMP('2024-01-01 10:00:00.123456')", "2024-01-01 10:00:00.123"),
        ("TIMESTAMP(3)", "TO_TIMESTAMP('2024-01-01')", "2024-01-01 00:00:00"),
        ("TIMESTAMP(3)", "TO_TIMESTAMP('soon')", None),
        ("TIMESTAMP(3)", "TO_TIMESTAMP('2024-01-01 10:00:00', 'yyyy-MM-dd HH:mm:ss')", "2024-01-01 10:00:00"),
        (
            "TIMESTAMP(3)",
            "TO_TIMESTAMP('31.12.2024T10:00:00.1234', 'dd.MM.yyyy''T''HH:mm:ss.SSSS')",
            "2024-12-31 10:00:00.123",
        ),
        ("TIMESTAMP(3)", "TO_TIMESTAMP('2024-1-1', 'yyyy-MM-dd')", None),
        ("TIMESTAMP_LTZ(3)", "TO_TIMESTAMP_LTZ('2024-01-01 10:00:00', 'yyyy-MM-dd HH:mm:ss')", 1704103200000),
        ("TIMESTAMP(3)", "TIMESTAMP '2024-01-01 23:59:00' + INTERVAL '90' SECOND", "2024-01-02 00:00:30"),
        ("TIMESTAMP(3)", "TIMESTAMP '2024-01-01 00:00:00.5' - INTERVAL '0.25' SECOND", "2024-01-01 00:00:00.250"),
        ("DATE", "TO_DATE('2024-01-02')", "2024-01-02"),
        ("INT", "1 + 2 * 3", 7),
        ("DOUBLE", "10.5 * 2", 21.0),
        ("DECIMAL(38, 20)", "0.12345678901234567891 + 1", "1.12345678901234567891"),
        ("DOUBLE", "-(0.1 + 0.2)", -0.3),
        ("STRING", "UPPER('x') || LOWER('Y')", "Xy"),
        ("STRING", "CONCAT('a', CAST(NULL AS STRING))", None),
        ("BOOLEAN", "1 > 2", False),
        ("BOOLEAN", "NOT ('a' = 'a')", False),
    ],
)
def test_constants_in_values_are_expressions(spark: SparkSession, type_: str, constant: str, value: Any) -> None:
    [rows, _] = read(ROW.format(type=type_, value=constant), spark).pipeline.nodes
    assert rows.parameters["rows"] == [[value]]


def test_what_people_copy_along_is_skipped(spark: SparkSession) -> None:
    script = "\ufeffFlink SQL> CREATE TABLE t\n> (c INT);;\n  Flink SQL> INSERT INTO t VALUES (1);\n;SELECT * FROM t;;"
    assert operators(script, spark) == ["rows", "sink"]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("CREATE TABLE u AS SELECT c, SUM(d) AS s FROM t GROUP BY c;", ["rows", "aggregate", "sink"]),
        (
            "CREATE TABLE u WITH ('connector' = 'kafka') AS SELECT c FROM t WHERE d > 1;",
            ["rows", "filter", "project", "sink"],
        ),
        ("CREATE TABLE u AS SELECT c FROM t; SELECT COUNT(*) AS n FROM u;", ["rows", "aggregate", "sink"]),
        ("CREATE OR REPLACE TABLE t (e INT); INSERT INTO t VALUES (7); SELECT e FROM t;", ["rows", "sink"]),
        ("CREATE OR REPLACE TEMPORARY VIEW v AS SELECT c FROM t; SELECT * FROM v;", ["rows", "project", "sink"]),
        ("CREATE VIEW v (a, b) AS VALUES (1, 'x'), (2, 'y'); SELECT a FROM v;", ["rows", "project", "sink"]),
    ],
)
def test_tables_are_made_of_queries_and_replaced(spark: SparkSession, script: str, expected: list[str]) -> None:
    start = "CREATE TABLE t (c INT, d INT); INSERT INTO t VALUES (1, 2); "
    assert operators(start + script, spark) == expected


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ('SELECT "c" FROM t;', "line 1, column 8: names take backticks, texts single quotes"),
        ("SELECT 'a' FROM t;\nSELECT 'it FROM t;\n", "line 2, column 8: the quote that opens here is never closed."),
        ("SELECT 1 -- it's\n, `c FROM t", "line 2, column 3: the backtick that opens here is never closed."),
        ("SELECT 1 /* it", "line 1, column 10: the comment that opens here is never closed."),
        (
            "CREATE TABLE t (c INT) WITH ('connector' = 'kafka', 'topic' = 't', 'bootstrap.servers' = 'k:1', "
            "'format' = 'json'); SELECT * FROM t;",
            "t: the connector 'kafka' has no option 'bootstrap.servers'. Did you mean 'properties.bootstrap.servers'?",
        ),
        *(
            (
                f"CREATE TABLE t (c INT) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'csv', "
                f"'{option}' = 'x'); INSERT INTO t VALUES (1); SELECT * FROM t;",
                f"t: the connector 'filesystem' has no option {option!r}. Did you mean {near!r}?",
            )
            for option, near in (
                ("formt", "format"),
                ("csv.field-delimeter", "csv.field-delimiter"),
                ("csv.field.delimiter", "csv.field-delimiter"),
            )
        ),
        ("SELECT 1 +", "line 1, column 10: this is not Flink SQL: something is missing after '+'."),
        ("SELECT (1", "a closing parenthesis is missing after '1'."),
        ("SELECT CASE WHEN TRUE THEN 1", "END is missing after CASE (after '1')."),
        ("SELECT 1 AS a b FROM t", "line 1, column 15: this is not Flink SQL: 'b' does not belong here."),
        ('SELECT 1 AS "a b"', "line 1, column 13: names take backticks, texts single quotes"),
        ('CREATE TABLE t (c INT) WITH ("connector" = "print")', "names take backticks, texts single quotes"),
        ("CREATE TABLE t (c STRING d INT)", "line 1, column 19: c: a comma is missing between STRING and d."),
        ("CREATE TABLE t (c STRNG)", "c: unknown type 'STRNG'. Available: STRING, BOOLEAN, TINYINT,"),
        (
            "CREATE TABLE t (c INT) WITH ('connector' = 'print' 'a' = 'b')",
            "line 1, column 52: a comma is missing before",
        ),
        ("SELECT a FORM t", "more is needed. Did you mean FROM for FORM?"),
        ("SELECT 1 EMIT CHANGES", "EMIT CHANGES is of ksqlDB. Leave it out"),
        ("CREATE TABLE t (c INT); INSERT INTO t VALUES (NOTHIN(1))", "unknown function 'NOTHIN'"),
        (
            "CREATE TABLE t (c INT) WITH ('connector' = 'datagen');\nSELECT c\nFROM t /*+ OPTIONS('rate' = '1') */",
            "line 3, column 8: t: the connector 'datagen' has no option 'rate'.",
        ),
        (
            "CREATE TABLE t (a TIMESTAMP(3)); SELECT COUNT(*) OVER (ORDER BY a RANGE BETWEEN INTERVAL '1' MINUTE "
            "PRECEDING AND CURRENT ROW) FROM t",
            "'a' is not an event time. Add WATERMARK FOR a AS a - INTERVAL '5' SECOND to its CREATE TABLE.",
        ),
        (
            "CREATE TABLE t (a TIMESTAMP(3)); SELECT CAST(a AS INT) FROM t",
            "there is no CAST of TIMESTAMP(3) as INT.",
        ),
        ("CREATE TABLE t (c INT) WITH ('connector' = 'print') SELECT 1", "t: a semicolon is missing before SELECT."),
        ("CREATE TABEL t (c INT)", "CREATE TABEL is no statement. Did you mean CREATE TABLE?"),
        ("SELEC 1", "SELEC 1 is no statement. Did you mean SELECT?"),
        ("INSERT INTO t (c) VALUE (1)", "VALUE(1) is not a query. Write SELECT ..., or VALUES (...)."),
        *(
            (
                f"CREATE TABLE t (c INT, s STRING, ts TIMESTAMP(3)); INSERT INTO t VALUES (1, 'x', NULL); {rest}",
                sentence,
            )
            for rest, sentence in (
                ("SELECT FROM t", "SELECT names no columns. Write SELECT * for all of them."),
                ("SELECT DATE_TRUNC('minute', ts) AS m FROM t", "Write FLOOR(ts TO MINUTE)."),
                ("SELECT DATE_TRUNC(MINUTE, ts) AS m FROM t", "DATE_TRUNC is no function of Flink's."),
                (
                    "SELECT COUNT(*) AS n FROM t GROUP BY window_start",
                    "Write FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts),",
                ),
                (
                    "SELECT COUNT(*) AS n FROM t GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)",
                    "'ts' is not an event time. Add WATERMARK FOR ts AS ts - INTERVAL '5' SECOND to its CREATE TABLE.",
                ),
                ("INSERT INTO t VALUES ('1', 'x', NULL)", "t.c is INT, but '1' is a text. Write 1."),
                ("INSERT INTO t VALUES (1, 2, NULL)", "t.s is STRING, but 2 is a number. Write '2'."),
                (
                    "CREATE TABLE o (c INT) WITH ('connector' = 'print'); INSERT INTO o SELECT s FROM t",
                    "o.c is INT, but the query gives s as STRING, which Flink does not convert by itself. Write CAST(s",
                ),
                ("SELECT DATE_FORMAT(ts, 'foo') AS x FROM t", "'f' is no letter of a pattern of times."),
                ("SELECT TO_TIMESTAMP(s, 'yyyy-MM-ddd') AS x FROM t", "ddd in the pattern of TO_TIMESTAMP is too long"),
            )
        ),
        (
            "CREATE TABLE t(c INT) WITH ('connector' = 'datagen'); SELECT * FROM t /*+ OPTIONS('number-of-row'='5') */",
            "the connector 'datagen' has no option 'number-of-row'. Did you mean 'number-of-rows'?",
        ),
        (
            "CREATE TABLE t (ts STRING, WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen'); SELECT * FROM t",
            "the event time ts is a text. Compute a timestamp of it: ts_time AS TO_TIMESTAMP(ts), and WATERMARK FOR",
        ),
        ("CREATE TABLE t (c INT) WITH ('conector' = 'kafka'); SELECT * FROM t", "Is 'conector' meant to be it?"),
        ("SELECT * FROM (\n SELECT 1 AS c FROM\n)", "line 3, column 1: this is not Flink SQL: a table name is missing"),
        ("SELECT 1;\nCREATE MODEL m INPUT (t STRING) OUTPUT (a INT)", "line 2, column 1: CREATE: models, connections,"),
        (
            "SELECT k FROM `raw-events`",
            "unknown table 'raw-events'. Available: none. Create it above: CREATE TABLE `raw-",
        ),
        (
            "CREATE TABLE t (c STRING); SELECT s FROM t, LATERAL TABLE(AI_RUN_AGENT('a', c, MAP['debug', TRUE]))",
            "AI_RUN_AGENT asks a model or an index outside of the run",
        ),
        ("CREATE TABLE t (c STRING); SELECT AI_COMPLETE('m', c) AS a FROM t", "AI_COMPLETE asks a model or an index"),
        ("SELECT 1; UPDATE t SET c = 2", "UPDATE: Flink changes rows in place only in batch"),
        ("SELECT 1; GRANT ALL ON t TO u", "GRANT: this is a statement of a database, not of Flink."),
        (
            "CREATE TABLE t (c INT) WITH ('connector' = 'print', 'foo.bar' = 'x'); INSERT INTO t SELECT 1;",
            "t: the connector 'print' has no option 'foo.bar'. Remove it.",
        ),
    ],
)
def test_a_slip_is_named_where_it_is(spark: SparkSession, script: str, sentence: str) -> None:
    assert sentence in refusals(script, spark)


def test_the_options_of_a_hint_are_those_of_the_table_before_it(spark: SparkSession) -> None:
    script = read(
        "CREATE TABLE t (c INT) WITH ('connector' = 'datagen', 'number-of-rows' = '2');\n"
        "SELECT c FROM t /*+ OPTIONS('number-of-rows' = '5') */ AS x WHERE c > 0;",
        spark,
    )
    assert script.pipeline.node("t").parameters["rows"] == 5


KEPT = "CREATE TABLE {} (c INT, {} INT) WITH ('connector' = 'datagen', 'number-of-rows' = '2');\n"
THREE = KEPT.format("a", "d") + KEPT.format("b", "e") + KEPT.format("z", "f")


@pytest.mark.parametrize(
    ("query", "ttls"),
    [
        (
            "SELECT /*+ STATE_TTL('x' = '1 d', 'b' = '90 min') */ x.c, b.e FROM a AS x JOIN b ON x.c = b.c",
            [{"left_state_ttl_ms": 86_400_000, "right_state_ttl_ms": 5_400_000}],
        ),
        (
            "SELECT /*+ STATE_TTL('a' = '1 d', 'y' = '0', 'z' = '2 s'), BROADCAST(y) */ a.c FROM a "
            "LEFT JOIN b AS y ON a.c = y.c JOIN z ON z.c = a.c WHERE f > 2",
            [{"left_state_ttl_ms": 86_400_000, "right_state_ttl_ms": 0}, {"right_state_ttl_ms": 2000}],
        ),
        ("SELECT /*+ state_ttl('q' = '1500') */ c, COUNT(*) AS n FROM a AS q GROUP BY c", [{"state_ttl_ms": 1500}]),
        ("SELECT /*+ STATE_TTL('a' = '1 h') */ DISTINCT c FROM a", [{"state_ttl_ms": 3_600_000}]),
    ],
)
def test_the_hint_of_a_state_ttl_is_read_and_written(
    query: str, ttls: list[dict[str, int]], spark: SparkSession
) -> None:
    script = read(f"{THREE}{query};", spark)
    found = [{name: ms for name, ms in node.parameters.items() if "ttl" in name} for node in script.pipeline.nodes]
    assert [one for one in found if one] == ttls
    again = written(script.pipeline, spark).text
    assert again.count("STATE_TTL(") == len(ttls)
    assert content(read(again, spark).pipeline) == content(script.pipeline)


@pytest.mark.parametrize(
    ("hint", "sentence"),
    [
        ("'b' = '1 d'", "STATE_TTL: unknown input 'b'. Available: a."),
        ("'a' = 'soon'", "STATE_TTL: 'soon' is no time such as '1 d'."),
        ("'a'", "STATE_TTL takes a time for each input, such as"),
    ],
)
def test_a_hint_that_flink_refuses_is_refused(hint: str, sentence: str, spark: SparkSession) -> None:
    assert sentence in refusals(f"{THREE}SELECT /*+ STATE_TTL({hint}) */ c, COUNT(*) FROM a GROUP BY c;", spark)


def test_a_topic_is_read_from_its_start_where_nothing_says_where_to_begin(spark: SparkSession) -> None:
    options = "'connector' = 'kafka', 'topic' = 't', 'format' = 'json', 'properties.bootstrap.servers' = 'h:9092'"
    script = read(f"CREATE TABLE t (c INT) WITH ({options}); SELECT c FROM t;", spark)
    assert script.pipeline.node("t").parameters["start"] == "earliest-offset"
    assert any("it is read from its earliest offset" in note for note in script.warnings)


TWICE = "CREATE TABLE t (c INT) WITH ('connector' = 'iceberg');\n"


@pytest.mark.parametrize(
    ("script", "column", "told"),
    [
        (
            TWICE + TWICE.replace("c INT", "d INT") + "CREATE TABLE IF NOT EXISTS t (e INT);\nSELECT c FROM t;",
            "c",
            [
                "line 2: Flink would refuse this: there is already a table 't', of line 1, which stays as it is. To "
                "replace it, write DROP TABLE t before."
            ],
        ),
        (TWICE + "DROP TABLE t;\n" + TWICE.replace("c INT", "d INT") + "SELECT d FROM t;", "d", []),
        (
            TWICE + "SELECT c FROM t;\n" + TWICE.replace("CREATE", "CREATE OR REPLACE") + "SELECT c FROM t;",
            "c",
            [
                "line 3: t is another one from here on. That of line 1, which earlier statements use, is called "
                "t_before here."
            ],
        ),
        (TWICE + TWICE.replace("CREATE TABLE t (c", "CREATE TEMPORARY TABLE t (d") + "SELECT d FROM t;", "d", []),
        ("CREATE TABLE t (id INT, name VARCHAR(9));\n" + TWICE + "SELECT c FROM t;", "c", []),
    ],
    ids=["stays", "dropped", "replaced", "hidden by a temporary one", "without a connector"],
)
def test_a_table_that_is_created_twice_stays(script: str, column: str, told: list[str], spark: SparkSession) -> None:
    made = read(script, spark)
    assert made.pipeline.nodes[0].parameters["columns"] == [{"name": column, "type": "INT"}]
    assert [note for note in made.warnings if note.startswith("line")] == told


def test_questions_about_tables_and_plans_are_answered(spark: SparkSession) -> None:
    table = "CREATE TABLE t (c INT, d AS c * 2) WITH ('connector' = 'iceberg');\n"
    questions = "SHOW TABLES;\nDESCRIBE t;\nSHOW CREATE TABLE t;\nEXPLAIN SELECT c, COUNT(*) AS n FROM t GROUP BY c;\n"
    script = read(f"{table}{questions}SELECT c FROM t;", spark)
    assert [note for note in script.warnings if note.startswith("line")] == [
        "line 2: SHOW: t",
        "line 3: DESCRIBE: t: c INT, d computed",
        f"line 4: SHOW: {table.rstrip()[:-1]}",
        "line 5: EXPLAIN: t: Rows [I], scan; aggregate: Aggregate [I,UB,UA], without retraction",
    ]
    assert len(script.jobs) == 1


def test_a_plan_that_cannot_be_told_is_left_out_once(spark: SparkSession) -> None:
    table = "CREATE TABLE t (c INT) WITH ('connector' = 'iceberg');"
    assert refusals(f"{table}\nSELECT c FROM t;\nEXPLAIN SELECT b FROM t;\nEXPLAIN SELECT c FROM u;", spark) == (
        "line 3, column 16: unknown column 'b'. Available: c.\n"
        "line 4, column 23: unknown table 'u'. Available: t. Create it above: CREATE TABLE `u` (...)."
    )


def test_a_question_about_a_function_is_answered_by_its_row(spark: SparkSession) -> None:
    code = '-- studio.python: {"code": "def f(x: int) -> int: return x"}'
    table = "CREATE TABLE t (c INT) WITH ('connector' = 'iceberg');"
    own = f"{table}\n{code}\nCREATE FUNCTION f AS 'm.f' LANGUAGE PYTHON;\n"
    questions = "DESCRIBE FUNCTION regexp_count;\nDESC FUNCTION EXTENDED UUID;\nDESCRIBE FUNCTION f;\n"
    script = read(f"{own}{questions}SELECT c FROM t;", spark)
    assert [note for note in script.warnings if note.startswith("line")] == [
        "line 4: DESCRIBE: REGEXP_COUNT(text, pattern): How often a regular expression is found. "
        "Example: REGEXP_COUNT('banana', 'an') is 2",
        "line 5: DESC: UUID(): An identifier that is made of the record.",
        "line 6: DESCRIBE: f is m.f, in Python",
    ]
    with pytest.raises(SqlRejected, match="unknown function 'LENGHT'. The most similar of"):
        read(f"{own}DESCRIBE FUNCTION LENGHT;\nSELECT c FROM t;", spark)


def test_a_password_and_a_file_of_another_machine_do_not_stop_a_script(spark: SparkSession) -> None:
    server = "'connector' = 'jdbc', 'url' = 'jdbc:mysql://h/db', 'table-name' = 't', 'username' = 'u', 'password' = 'p'"
    file = "'connector' = 'filesystem', 'path' = '/not/here.csv', 'format' = 'csv'"
    script = read(
        f"CREATE TABLE t (k INT) WITH ({server});\nCREATE TABLE f (k INT) WITH ({file});\n"
        "SELECT k FROM t UNION ALL SELECT k FROM f;",
        spark,
    )
    assert script.pipeline.node("t").parameters["password"] == "${env:T_PASSWORD}"
    assert script.pipeline.node("f").parameters["rows"] == []
    assert "'p'" not in script.pipeline.to_json()


def test_a_missing_semicolon_is_put_in_with_a_note(spark: SparkSession) -> None:
    script = read("CREATE TABLE t (c INT)\nINSERT INTO t VALUES (1);\nSELECT\n  c\nFROM t", spark)
    assert [node.operator for node in script.pipeline.nodes] == ["rows", "sink"]
    assert script.warnings == ("line 1: Flink would refuse this: a semicolon is missing at the end of the statement.",)


def test_a_statement_that_leads_to_another_needs_no_semicolon(spark: SparkSession) -> None:
    script = (
        "CREATE TABLE t (c INT);\nINSERT INTO t VALUES (1);\nCREATE TABLE u (c INT) WITH ('connector' = 'print');\n"
        "EXECUTE STATEMENT SET\nBEGIN\nINSERT INTO u SELECT c FROM t;\nINSERT INTO u SELECT c FROM t;\nEND;"
    )
    assert operators(script, spark).count("sink") == 2


@pytest.mark.parametrize(
    ("table", "note"),
    [
        ("WITH ('value.format' = 'json-registry')", "it names no 'connector' (Confluent's tables need none)."),
        (
            "WITH ('connector.type' = 'kafka', 'connector.topic' = 'o', 'format.type' = 'json')",
            "Flink would refuse this: 'connector.type' is an option of Flink 1.10. Write 'connector' = 'kafka'",
        ),
        (
            "WITH ('connector' = 'kafka', 'topic' = 'o', 'format' = 'protobuf')",
            "the format 'protobuf' is not read here.",
        ),
    ],
)
def test_a_table_that_nothing_here_reads_has_its_columns_and_no_rows(
    spark: SparkSession, table: str, note: str
) -> None:
    columns = "c INT, at_time TIMESTAMP(3) METADATA FROM 'timestamp', WATERMARK FOR at_time AS at_time"
    script = read(f"CREATE TABLE t ({columns}) {table};\nSELECT c, at_time FROM t;", spark)
    source = script.pipeline.node("t")
    assert (source.operator, source.parameters["rows"], source.parameters["event_time"]) == ("rows", [], "at_time")
    assert any(note in each for each in script.warnings)


def test_inserted_rows_have_the_metadata_that_a_topic_would_give_them(spark: SparkSession) -> None:
    columns = "c INT, t TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL, o BIGINT METADATA FROM 'offset' VIRTUAL"
    written = "CREATE TABLE m (w TIMESTAMP(3) METADATA FROM 'timestamp', c INT); INSERT INTO m (c) VALUES (3);"
    script = read(
        f"SET 'studio.clock' = '2024-05-01'; CREATE TABLE t ({columns}); INSERT INTO t VALUES (1), (2); {written} "
        "SELECT c FROM t UNION ALL SELECT c FROM m;",
        spark,
    )
    now_ms = 1_714_521_600_000
    assert script.pipeline.node("t").parameters["rows"] == [[1, now_ms, 0], [2, now_ms, 1]]
    assert script.pipeline.node("m").parameters["rows"] == [[now_ms, 3]]


def test_texts_keep_what_looks_like_an_answer_of_the_client(spark: SparkSession) -> None:
    script = "CREATE TABLE t (c STRING);\nINSERT INTO t VALUES ('a\n# b\n| c |');\n# d\nSELECT c FROM t;"
    assert read(script, spark).pipeline.node("t").parameters["rows"] == [["a\n# b\n| c |"]]


def test_values_have_the_recorded_clock_and_random_values_of_their_places(spark: SparkSession) -> None:
    table = "CREATE TABLE t (u STRING, r DOUBLE, i INT, t TIMESTAMP_LTZ(3), d DATE, l TIMESTAMP(3));\n"
    row = "(UUID(), RAND(), RAND_INTEGER(10), CURRENT_TIMESTAMP, CURRENT_DATE, LOCALTIMESTAMP)"
    text = f"SET 'studio.clock' = '2024-05-01';\n{table}INSERT INTO t VALUES {row}, {row};\nSELECT * FROM t;"
    first, second = (read(text, spark).pipeline.node("t").parameters["rows"] for _ in range(2))
    assert first == second
    one, other = first
    assert one[3:] == other[3:] == [1_714_521_600_000, "2024-05-01", "2024-05-01 00:00:00.000"]
    assert one[0] != other[0]
    assert len(one[0]) == 36
    assert one[1] != other[1]
    assert all(0 <= each[1] < 1 and each[2] in range(10) for each in first)


def test_options_around_flink_have_no_effect_and_slips_are_errors(spark: SparkSession) -> None:
    of_others = "SET;\nSET 'sql.current-catalog' = 'c';\nSET 'client.statement-name' = 'x';\nSET 'quarkus.x' = 'y';\n"
    ours = "SET 'sql.state-ttl' = '1 h';\nSET 'execution.runtime-mode' = 'batch';\n"
    script = read(f"{of_others}{ours}SELECT 1 AS c;", spark)
    assert script.pipeline.options == {"table.exec.state.ttl": "1 h"}
    assert any("everything is a stream here" in note for note in script.warnings)
    assert "Did you mean table.exec.state.ttl?" in refusals("SET 'table.exec.sate.ttl' = '1 h'; SELECT 1 AS c;", spark)


def test_in_batch_mode_a_sink_of_added_rows_takes_the_result_of_a_query_that_changes_rows(spark: SparkSession) -> None:
    table = "CREATE TABLE t (k INT);\nINSERT INTO t VALUES (1), (1);\n"
    sink = "CREATE TABLE o (k INT, n BIGINT) WITH ('connector' = 'filesystem', 'path' = 'o', 'format' = 'parquet');\n"
    query = "INSERT INTO o SELECT k, COUNT(*) FROM t GROUP BY k;"
    batch, stream = (f"SET 'execution.runtime-mode' = '{mode}';\n" for mode in ("batch", "streaming"))
    assert read(batch + table + sink + query, spark).pipeline.node("o").parameters == {"mode": "changelog"}
    assert "o takes new rows only" in refusals(batch + stream + table + sink + query, spark)
    of_rows = read(f"{batch}{table}{sink}INSERT INTO o SELECT k, 1 FROM t;", spark).pipeline.node("o").parameters
    assert (of_rows["mode"], of_rows["folder"]) == ("append", "o")


def test_what_a_client_runs_beside_sql_is_named(spark: SparkSession) -> None:
    query = "CREATE TABLE o (k INT) WITH ('connector' = 'print');\n{}\nINSERT INTO o SELECT 1;\n{}"
    assert "EXECUTE JAR runs a program" in refusals(query.format("EXECUTE JAR 'j.jar';", ""), spark)
    for plan in ("COMPILE PLAN 'p' FOR INSERT INTO o SELECT 1;", "EXECUTE PLAN 'p';", "COMPILE AND EXECUTE PLAN 'p';"):
        assert "a compiled plan is of one version of Flink" in refusals(query.format(plan, ""), spark)
    ended = read(query.format("BEGIN STATEMENT SET;", "END STATEMENT SET;"), spark)
    assert ended.warnings == ("line 4: Flink would refuse this: END alone ends a statement set.",)


@pytest.mark.parametrize(("chosen", "columns"), [("DROP", ["n", "k"]), ("error", [])])
def test_the_enforcer_drops_records_with_null_where_the_sink_takes_none(
    chosen: str, columns: list[str], spark: SparkSession
) -> None:
    table = "CREATE TABLE t (n INT, k INT, v INT);\nINSERT INTO t VALUES (1, 1, 1);\n"
    sink = "CREATE TABLE o (n INT NOT NULL, k INT, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'jdbc');\n"
    set_ = f"SET 'table.exec.sink.not-null-enforcer' = '{chosen}';\n"
    script = read(f"{set_}{table}{sink}INSERT INTO o SELECT n, k, v FROM t;", spark)
    conditions = [node.parameters["condition"] for node in script.pipeline.nodes if node.operator == "filter"]
    assert conditions == ([flink(" AND ".join(f"{name} IS NOT NULL" for name in columns))] if columns else [])


def test_a_field_of_two_rows_is_ambiguous_without_its_row(spark: SparkSession) -> None:
    table = "CREATE TABLE t (a ROW<f INT, b ROW<g INT>>, c ROW<f INT, b ROW<g INT>>);\n"
    table += "INSERT INTO t VALUES (ROW(1, ROW(2)), ROW(3, ROW(4)));"
    for name, ways in (("f", "t.a.f or t.c.f"), ("g", "t.a.b.g or t.c.b.g"), ("t.g", "t.a.b.g or t.c.b.g")):
        sentence = f"the column {name[-1]!r} is ambiguous. Write {ways}."
        assert sentence in refusals(f"{table}\nSELECT {name} FROM t;", spark)


def test_an_insert_into_a_partition_fills_its_columns(spark: SparkSession) -> None:
    table = "CREATE TABLE t (d STRING, k INT, v INT);\nINSERT INTO t PARTITION (d = 'x', v = 2) VALUES (1), (7);\n"
    other = "CREATE TABLE u (d STRING, k INT) WITH ('connector' = 'kafka');\n"
    select = "INSERT INTO u PARTITION (d = 'y') SELECT k FROM t UNION ALL SELECT v FROM t;\nSELECT d, k FROM u;"
    script = read(table + other + select, spark)
    assert script.pipeline.node("t").parameters["rows"] == [["x", 1, 2], ["x", 7, 2]]
    assert len(script.jobs) == 2
    assert "unknown column 'z'" in refusals(f"{table}INSERT INTO t PARTITION (z = 1) SELECT 1, 2, 3;", spark)


@pytest.mark.parametrize(
    ("given", "takes", "is_noted"),
    [
        ("BIGINT", "INT", True),
        ("DOUBLE", "FLOAT", True),
        ("FLOAT", "BIGINT", True),
        ("DECIMAL(10, 2)", "BIGINT", True),
        ("DATE", "TIMESTAMP(3)", True),
        ("TIMESTAMP_LTZ(3)", "DATE", True),
        ("INT", "BIGINT", False),
        ("BIGINT", "FLOAT", False),
        ("DECIMAL(10, 2)", "FLOAT", False),
        ("DOUBLE", "DECIMAL(10, 2)", False),
        ("TIMESTAMP(3)", "DATE", False),
        ("TIMESTAMP(3)", "TIMESTAMP_LTZ(3)", False),
    ],
)
def test_an_insert_that_flink_converts_only_by_a_cast_is_noted(
    spark: SparkSession, given: str, takes: str, is_noted: bool
) -> None:
    tables = f"CREATE TABLE t (c {given});\nCREATE TABLE o (d {takes}) WITH ('connector' = 'print');\n"
    script = read(f"{tables}INSERT INTO o SELECT c FROM t;", spark)
    note = (
        f"line 3: Flink would refuse this: o.d is {takes}, but the query gives c as {given}. Write CAST(c AS {takes})."
    )
    assert (note in script.warnings) == is_noted
