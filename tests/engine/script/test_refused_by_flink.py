"""What Flink 2.3 would refuse is read, with a note, and written as Flink wants it. Each pair was put to Flink 2.3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.script.refused_by_flink import as_flink_wants, notes, slips
from engine.sql.rejected import SqlRejected
from tests.engine.script.scripts import content, read, refusals

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE = "CREATE TABLE t (k STRING, v INT, ts TIMESTAMP(3), d DATE);\nINSERT INTO t VALUES ('a', 1, {ts}, {d});\n"
WHOLE = TABLE.format(ts="TIMESTAMP '2024-01-01 10:00:00'", d="DATE '2024-01-01'")
NAMES = (
    "CREATE TABLE t (a INT, {value} STRING, {time} TIMESTAMP(3), WATERMARK FOR {time} AS {time}, PRIMARY KEY ({value}) "
    "NOT ENFORCED);\nINSERT INTO t (a, {value}, {time}) VALUES (1, 'x', TIMESTAMP '2024-01-01 10:00:00');\n"
    "SELECT x.{value}, {time}, CAST(a AS STRING) AS {date}, EXTRACT(YEAR FROM {time}) AS {year} FROM t AS x;"
)
WORDS = {"value": "value", "time": "timestamp", "date": "date", "year": "year"}
PUBLISHED = Path(__file__).parents[2] / "published" / "scripts"
PAIRS = [
    (
        "CREATE TABLE u (a INT, b STRING,); INSERT INTO u VALUES (1, 'x'); SELECT b FROM u;",
        "CREATE TABLE u (a INT, b STRING); INSERT INTO u VALUES (1, 'x'); SELECT b FROM u;",
        "there is a comma too many before )",
    ),
    ("SELECT k, v, FROM t;", "SELECT k, v FROM t;", "there is a comma too many before FROM"),
    ("SELECT k FROM t WHERE v == 1;", "SELECT k FROM t WHERE v = 1;", "== is written ="),
    ("SELECT k FROM t WHERE v != 1;", "SELECT k FROM t WHERE v <> 1;", "!= is written <>"),
    (
        "SELECT v::BIGINT AS a, (v + 1)::DECIMAL(10, 2) AS b, t.k::TEXT AS c, UPPER(k)::STRING AS e FROM t;",
        "SELECT CAST(v AS BIGINT) AS a, CAST((v + 1) AS DECIMAL(10, 2)) AS b, CAST(t.k AS STRING) AS c, "
        "CAST(UPPER(k) AS STRING) AS e FROM t;",
        "v::BIGINT is written CAST(v AS BIGINT)",
    ),
    (
        "SELECT k FROM t WHERE k ISNULL OR k NOTNULL;",
        "SELECT k FROM t WHERE k IS NULL OR k IS NOT NULL;",
        "ISNULL is written IS NULL",
    ),
    (
        "SELECT k FROM t WHERE !(v <=> 1);",
        "SELECT k FROM t WHERE NOT (v IS NOT DISTINCT FROM 1);",
        "! is written NOT",
    ),
    ("SELECT [v, 1] AS a FROM t;", "SELECT ARRAY[v, 1] AS a FROM t;", "an array is written ARRAY[...]"),
    (
        "SELECT CAST(v AS LONG) AS a, TRY_CAST(k AS FLOAT8) AS b, CAST(v AS TEXT) AS c FROM t;",
        "SELECT CAST(v AS BIGINT) AS a, TRY_CAST(k AS DOUBLE) AS b, CAST(v AS STRING) AS c FROM t;",
        "LONG is of other databases; Flink has BIGINT",
    ),
    ("SELECT ARRAY(v, ABS(1)) AS a FROM t;", "SELECT ARRAY[v, ABS(1)] AS a FROM t;", "an array is written ARRAY[...]"),
    ("SELECT MAP(k, MAP['a', v]) AS a FROM t;", "SELECT MAP[k, MAP['a', v]] AS a FROM t;", "a map is written MAP[...]"),
    (
        "SELECT TRIM(k, 'x') AS a, TRIM(CONCAT(k, 'x')) AS b FROM t;",
        "SELECT BTRIM(k, 'x') AS a, TRIM(CONCAT(k, 'x')) AS b FROM t;",
        "TRIM(a, b) is written BTRIM(a, b)",
    ),
    (
        "SELECT ARRAY_AGG(v IGNORE NULLS) AS a, LAST_VALUE(v IGNORE NULLS) AS b FROM t;",
        "SELECT ARRAY_AGG(v IGNORE NULLS) AS a, LAST_VALUE(v ) AS b FROM t;",
        "LAST_VALUE leaves NULLs out without IGNORE NULLS",
    ),
    (
        "SELECT FIRST_VALUE(v) IGNORE NULLS AS a, LAST_VALUE(v) IGNORE NULLS AS b FROM t;",
        "SELECT FIRST_VALUE(v)  AS a, LAST_VALUE(v)  AS b FROM t;",
        "FIRST_VALUE leaves NULLs out without IGNORE NULLS",
    ),
    (
        "SELECT k 'a b', ABS(v) 'c', TRIM(BOTH 'x' FROM k) FROM t;",
        "SELECT k `a b`, ABS(v) `c`, TRIM(BOTH 'x' FROM k) FROM t;",
        "the name 'a b' takes backticks, not quotes",
    ),
    (
        "SELECT k AS 'a b', v AS 'c' FROM t;",
        "SELECT k AS `a b`, v AS `c` FROM t;",
        "the name 'a b' takes backticks, not quotes",
    ),
    ("SELECT k FROM t LIMIT 5, 10;", "SELECT k FROM t LIMIT 10 OFFSET 5;", "LIMIT 5, 10 is written LIMIT 10 OFFSET 5"),
    (
        "SELECT ts + INTERVAL '5 second' AS x FROM t;",
        "SELECT ts + INTERVAL '5' SECOND AS x FROM t;",
        "INTERVAL '5 second' is written INTERVAL '5' SECOND",
    ),
    (
        "SELECT k FROM t // don't\n;",
        "SELECT k FROM t -- don't\n;",
        "// begins no comment: comments are -- to the end of a line, or /* ... */",
    ),
    (
        "bin/sql-client.sh -f x\n\nSELECT k FROM t;",
        "-- bin/sql-client.sh -f x\n\nSELECT k FROM t;",
        "this line is a command of a shell or a notebook, which is left out. Make it a comment: --",
    ),
    (
        "CREATE TABLE u (a TEXT); INSERT INTO u VALUES ('x'); SELECT a FROM u;",
        "CREATE TABLE u (a STRING); INSERT INTO u VALUES ('x'); SELECT a FROM u;",
        "TEXT is of other databases; Flink has STRING",
    ),
    (
        "CREATE TABLE u (a INT, CONSTRAINT k PRIMARY KEY (a)); INSERT INTO u VALUES (1); SELECT a FROM u;",
        "CREATE TABLE u (a INT, CONSTRAINT k PRIMARY KEY (a) NOT ENFORCED); INSERT INTO u VALUES (1); SELECT a FROM u;",
        "a PRIMARY KEY is NOT ENFORCED: Flink does not own the data",
    ),
    (
        "CREATE VIEW w AS SELECT a.k, b.k, UPPER(a.k) AS u, b.v AS u FROM t AS a JOIN t AS b ON a.v = b.v; "
        "SELECT * FROM w;",
        "CREATE VIEW w AS SELECT a.k, b.k AS k0, UPPER(a.k) AS u, b.v AS `u0` FROM t AS a JOIN t AS b ON a.v = b.v; "
        "SELECT * FROM w;",
        "the view has two columns called k",
    ),
    (
        "SELECT k AS user FROM t;",
        "SELECT k AS `user` FROM t;",
        "user is a reserved word, which takes backticks as a name",
    ),
    (
        "INSERT INTO t VALUES (NULL, 2, NULL, '2024-01-01'), ('b', 3, '2024-01-01 10:00:00.5', NULL); SELECT k FROM t;",
        "INSERT INTO t VALUES (CAST(NULL AS STRING), 2, CAST(NULL AS TIMESTAMP(3)), DATE '2024-01-01'), "
        "('b', 3, TIMESTAMP '2024-01-01 10:00:00.5', CAST(NULL AS DATE)); SELECT k FROM t;",
        "a bare NULL in VALUES has no type",
    ),
]


DDL = [
    (
        "id SERIAL PRIMARY KEY, n NUMBER(5, 2), `at` TIMESTAMPTZ DEFAULT now(), "
        "o INT REFERENCES o (id) ON DELETE CASCADE",
        "id INT PRIMARY KEY NOT ENFORCED, n DECIMAL(5,2), `at` TIMESTAMP_LTZ(6), o INT",
    ),
    (
        "id INT8 NOT NULL AUTO_INCREMENT, b VARCHAR(9) NOT NULL DEFAULT 'x', key STRING, UNIQUE (b), KEY ix (b), "
        "CONSTRAINT fk FOREIGN KEY (b) REFERENCES o (c) ON UPDATE SET NULL, CHECK (id > (0))",
        "id BIGINT NOT NULL, b VARCHAR(9) NOT NULL, key STRING",
    ),
    ("id INT CHECK (id > 0) NOT NULL, u UUID UNIQUE, d JSONB", "id INT NOT NULL, u STRING, d STRING"),
]


@pytest.mark.parametrize(("theirs", "flinks"), DDL)
def test_the_ddl_of_a_database_is_written_as_flinks(theirs: str, flinks: str) -> None:
    assert as_flink_wants(f"CREATE TABLE t ({theirs});") == f"CREATE TABLE t ({flinks});"


@pytest.mark.parametrize(("refused", "wanted", "why"), PAIRS)
def test_a_slip_is_read_noted_and_written_as_flink_wants_it(
    refused: str, wanted: str, why: str, spark: SparkSession
) -> None:
    script = read(WHOLE + refused, spark)
    assert f"line 3: Flink would refuse this: {why}." in script.warnings
    assert as_flink_wants(WHOLE + refused) == WHOLE + wanted
    assert content(read(WHOLE + wanted, spark).pipeline) == content(script.pipeline)
    assert slips(WHOLE + wanted) == ()


SLIPS = (
    ("  d DATE\n)", "  d DATE,\n)"),
    ("CAST(NULL AS STRING), 2, CAST(NULL AS TIMESTAMP(3)), DATE '2024-01-02'", "NULL, 2, NULL, '2024-01-02'"),
    ("TIMESTAMP '2024-01-01 10:00:00.5', CAST(NULL AS DATE)", "'2024-01-01 10:00:00.5', NULL"),
    ("SELECT k, v FROM", "SELECT k, v, FROM"),
    ("v = 1", "v == 1"),
    ("v <> 1", "v != 1"),
    ("LIMIT 10 OFFSET 1", "LIMIT 1, 10"),
    ("INTERVAL '5' SECOND", "INTERVAL '5 seconds'"),
    ("`user`", "user"),
    ("x.`value`", "x.value"),
    ("v AS `value`", "v AS value"),
)


def test_what_is_written_instead_is_what_flink_has_been_asked() -> None:
    asked = (PUBLISHED / "as_flink_wants_it.sql").read_text(encoding="utf-8")
    given = asked
    for wanted, slip in SLIPS:
        assert given.count(wanted) == 1
        given = given.replace(wanted, slip)
    assert len(notes(given)) == len(SLIPS)
    assert as_flink_wants(given) == asked


@pytest.mark.parametrize(("connector", "is_noted"), [("filesystem", True), ("kafka", True), ("jdbc", False)])
def test_a_lookup_of_a_connector_that_flink_cannot_ask_is_noted(
    connector: str, is_noted: bool, spark: SparkSession
) -> None:
    text = (
        "CREATE TABLE o (k INT, p AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '1');\n"
        f"CREATE TABLE f (k INT, n STRING) WITH ('connector' = '{connector}');\nINSERT INTO f VALUES (1, 'x');\n"
        "SELECT o.k, f.n FROM o JOIN f FOR SYSTEM_TIME AS OF o.p ON o.k = f.k;"
    )
    found = [note for note in read(text, spark).warnings if "Flink would refuse this: the rows of f" in note]
    assert len(found) == is_noted


LOOKUP = (
    "CREATE TABLE o (k INT, p AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '1');\n"
    "CREATE TABLE f (k INT, n STRING) WITH ('connector' = 'filesystem', 'path' = '/f', 'format' = 'csv');\n"
    "INSERT INTO f VALUES (1, 'x');\nSELECT o.k, n FROM o LEFT JOIN `f`{time} AS u ON o.k = u.k;"
)


def test_a_lookup_of_a_file_is_written_as_a_join_of_its_rows(spark: SparkSession) -> None:
    given, wanted = LOOKUP.format(time=" FOR SYSTEM_TIME AS OF o.p"), LOOKUP.format(time="")
    assert [note for note in read(given, spark).warnings if "Flink would refuse" in note] == [
        "line 4: Flink would refuse this: the rows of f are looked up, which the connector 'filesystem' cannot. "
        "A JOIN without FOR SYSTEM_TIME takes all of them."
    ]
    assert as_flink_wants(given) == wanted
    assert [node.operator for node in read(wanted, spark).pipeline.nodes] == [
        *("datagen", "rows", "join", "project", "sink")
    ]


@pytest.mark.parametrize("time", ["o.t", "o.p"])
def test_a_version_of_a_file_stays_as_it_is(time: str) -> None:
    versioned = (
        "CREATE TABLE f (k INT, t TIMESTAMP(3), WATERMARK FOR t AS t, PRIMARY KEY (k) NOT ENFORCED) WITH "
        "('connector' = 'filesystem', 'path' = '/f', 'format' = 'csv');\n"
        f"SELECT * FROM o JOIN f FOR SYSTEM_TIME AS OF {time} ON o.k = f.k;"
    )
    assert slips(versioned) == ()


def test_the_name_of_an_option_is_no_name_of_a_column() -> None:
    assert notes("SET execution.checkpointing.interval = 3s; SET 'a' = 'b'; SELECT 1;") == []


def test_reserved_words_that_name_columns_get_backticks_wherever_they_stand() -> None:
    given = NAMES.format(**WORDS)
    wanted = NAMES.format(**{place: f"`{word}`" for place, word in WORDS.items()})
    assert as_flink_wants(given) == wanted


def test_a_semicolon_is_put_after_a_statement_and_the_rest_stays_as_it_is() -> None:
    text = "Flink SQL> CREATE TABLE t (c INT) -- one\nINSERT INTO t VALUES (1);  /* == */ SELECT 'a == b' FROM t"
    assert as_flink_wants(text) == text.replace("(c INT)", "(c INT);")


def test_a_kind_of_slip_is_told_once() -> None:
    assert notes("SELECT 1 == 1;\nSELECT 1 == 2, 1 != 2;") == [
        "line 1: Flink would refuse this: == is written =.",
        "line 2: Flink would refuse this: != is written <>.",
    ]


def test_null_alone_in_values_is_told_by_its_name(spark: SparkSession) -> None:
    with pytest.raises(SqlRejected, match="NULL alone has no type in VALUES. Give it one: CAST"):
        read("SELECT * FROM (VALUES (1, NULL), (2, NULL)) AS t(a, b);", spark)
    assert read("SELECT * FROM (VALUES (1, NULL), (2, 'x')) AS t(a, b);", spark).jobs


_TUMBLED = "(SELECT * FROM TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '1' MINUTE)))"
JOINED = (
    "CREATE TABLE w (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts);\n"
    "INSERT INTO w VALUES (1, TIMESTAMP '2024-01-01 10:00:00');\n"
    "SELECT {0}window_start, {0}window_end AS window_end, CAST({0}window_start AS STRING) AS s, L.k\n"
    "FROM {1} L {2}JOIN {1} AS R\n"
    "ON L.k = R.k AND L.window_start = R.window_start AND L.window_end = R.window_end WHERE {0}window_end > L.ts;"
)


def test_the_windows_of_both_sides_of_a_join_are_those_of_either(spark: SparkSession) -> None:
    given, wanted = (JOINED.format(table, _TUMBLED, "") for table in ("", "L."))
    script = read(given, spark)
    why = "is ambiguous, as both tables of the join have it."
    assert notes(given)[:2] == [f"line 3: Flink would refuse this: window_{each} {why}" for each in ("start", "end")]
    assert as_flink_wants(given) == wanted
    assert content(read(wanted, spark).pipeline) == content(script.pipeline)
    assert notes(wanted) == []


def test_a_bound_that_a_sub_query_repeats_is_left_out(spark: SparkSession) -> None:
    windows = "TABLE(TUMBLE(TABLE w, DESCRIPTOR(ts), INTERVAL '1' MINUTE))"
    table = JOINED.partition("SELECT")[0]
    wanted = f"{table}SELECT window_start, k FROM (SELECT * FROM {windows}) AS x;"
    given = wanted.replace("SELECT * FROM", "SELECT *, window_start FROM")
    why = "line 3: Flink would refuse this: window_start is ambiguous above this query, whose * has it."
    assert notes(given) == [why]
    assert as_flink_wants(given) == wanted
    assert read(given, spark).jobs
    assert notes(f"{table}SELECT *, window_start FROM {windows};") == []


def test_windows_that_a_join_pads_or_does_not_compare_are_ambiguous(spark: SparkSession) -> None:
    for script in (
        JOINED.format("", _TUMBLED, "LEFT "),
        JOINED.format("", _TUMBLED, "").replace(" AND L.window_start = R.window_start", ""),
    ):
        assert "is ambiguous. Write L.window_" in refusals(script, spark)


@pytest.mark.parametrize("text", ["SELECT 'open", "", "CREATE TABLE", "INSERT INTO", "INSERT INTO t (", "SELECT ("])
def test_a_text_that_is_no_script_has_no_slips(text: str) -> None:
    assert slips(text) == ()


def test_a_quoted_column_after_a_word_of_the_grammar_is_no_slip() -> None:
    assert notes("CREATE VIEW v AS SELECT `a`, CASE WHEN `b` THEN `c` END AS `end` FROM t AS x JOIN `u` ON TRUE;") == []


def test_published_scripts_have_no_slips() -> None:
    scripts = sorted((Path(__file__).parents[2] / "published" / "scripts").glob("*.sql"))
    assert len(scripts) > 30
    slips = {path.stem for path in scripts if notes(path.read_text())}
    assert slips == {"cells_of_a_cloud", "notebook_and_pasted", "semicolons_missing", "slips_of_a_tutorial"}
