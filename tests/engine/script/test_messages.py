"""What is told of slips that people make: scripts, each with the whole of its messages; without any it is just read."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.expressions.analyzer import TypeRules
from engine.script import script_of
from engine.sql.rejected import SqlRejected

TABLE = "CREATE TABLE t (k INT, s STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\n"
TIMED = TABLE.replace("TIMESTAMP(3))", "TIMESTAMP(3), WATERMARK FOR ts AS ts)")
TOPIC = (
    "CREATE TABLE k (k INT) WITH ('connector' = 'kafka', 'topic' = 't', {option}'format' = 'json');\nSELECT k FROM k;"
)
SERVERS = "'properties.bootstrap.servers' = 'b:9092', "

CASES = {
    "a byte order mark": ("\ufeff" + TABLE + "SELECT k FROM t;", []),
    "a prompt of Flink's client": ("Flink SQL> " + TABLE + "Flink SQL> SELECT k FROM t;", []),
    "stray semicolons": (TABLE + ";\n;SELECT k FROM t;;", []),
    "a semicolon within a query": (
        TABLE + "SELECT s, COUNT(*) AS n FROM t WHERE k > 1;\nGROUP BY s;",
        ["line 2: Flink would refuse this: a semicolon stands within the query, which goes on after it."],
    ),
    "a comment of another language": (
        "// the orders\n" + TABLE + "SELECT k -- 'x // y'\nFROM t WHERE s <> '//' // don't;\n;",
        ["line 1: Flink would refuse this: // begins no comment: comments are -- to the end of a line, or /* ... */."],
    ),
    "a command of a shell": (
        "./bin/kafka-topics.sh --create --topic t\n" + TABLE + "SELECT k FROM t;\n  # what it gives\n$ cat '/tmp/x",
        [
            "line 1: Flink would refuse this: this line is a command of a shell or a notebook, which is left out. "
            "Make it a comment: --."
        ],
    ),
    "what is left out, and what another tool fills in": (
        TABLE + "CREATE TABLE u (a INT, ...);\nCREATE TABLE v (a INT) WITH (${jdbc});\n"
        "SELECT {{ column }} FROM t;\nSELECT k FROM t;",
        [
            "line 2, column 24: '...' stands for what the text leaves out. Write it, or remove it.",
            "line 3, column 30: another tool fills in ${jdbc}, which Flink does not know. Write the value itself.",
            "line 4, column 8: another tool fills in {{ column }}, which Flink does not know. Write the value itself.",
        ],
    ),
    "names that stand for others": (
        "CREATE TABLE {table_name} (a INT);\nCREATE TABLE IF NOT EXISTS <my table> (a INT);\n"
        + TABLE
        + "SELECT k FROM {{ table }};\nINSERT INTO {0} SELECT k FROM t;",
        [
            "line 1, column 14: {table_name} stands for a name. Write the name itself.",
            "line 2, column 28: <my table> stands for a name. Write the name itself.",
            "line 4, column 15: another tool fills in {{ table }}, which Flink does not know. Write the value itself.",
            "line 5, column 13: {0} stands for a name. Write the name itself.",
        ],
    ),
    "names in double quotes": (
        'CREATE TABLE u ("a" INT, PRIMARY KEY (a) NOT ENFORCED);\nCREATE VIEW "v" AS SELECT 1 AS a;\n'
        + TABLE
        + 'INSERT INTO "u" SELECT k FROM t;',
        [
            f"line {place}: names take backticks, texts single quotes: double quotes have no meaning in Flink SQL."
            for place in ("1, column 17", "2, column 13", "4, column 13")
        ],
    ),
    "characters of other keyboards, and some that nobody sees": (
        TABLE + "SELECT k\uff0c s FROM t;\nSELECT\u200bk FROM t;\nSELECT k FROM t\uff1b\n;"
        "CREATE TABLE u (a INT) WITH (\u2018connector\u2019 = 'print');",
        [
            "line 2, column 9: \uff0c is the full-width form of , here. Write that one.",
            "line 3, column 7: a character that cannot be seen (U+200B) stands here. Remove it.",
            "line 4, column 16: \uff1b is the full-width form of ; here. Write that one.",
            "line 5, column 31: \u2018 is no quote of SQL: names take backticks, texts single quotes ('), as keyboards "
            "have them.",
        ],
    ),
    "options of a client of Kafka's": (
        TOPIC.replace("{option}", f"{SERVERS}'group.id' = 'g', "),
        [
            "line 1, column 111: k: the connector 'kafka' has no option 'group.id'. Did you mean "
            "'properties.group.id'?",
            "line 2, column 1: it needs k, whose statement in line 1 could not be read.",
        ],
    ),
    "a note in Chinese": (
        "\u6ce8\u610f\uff0c\u5982\u4e0b\n;\n" + TABLE + "SELECT k FROM t;",
        [
            "line 1, column 1: this is no statement of Flink SQL: '\u6ce8\u610f\uff0c\u5982\u4e0b'. Remove it, or make "
            "it a comment: write -- before each of its lines. A script consists of CREATE TABLE, CREATE VIEW, CREATE "
            "FUNCTION, SET, INSERT INTO and SELECT."
        ],
    ),
    "double quotes of another database's statement": (
        'LOAD DATA INFILE "rows.csv" INTO TABLE t;\n' + TABLE + "SELECT k FROM t;",
        ["line 1: LOAD has no effect here and is ignored."],
    ),
    "a number of buckets without INTO": (
        "CREATE TABLE u (a INT) DISTRIBUTED BY (a) WITH 1 BUCKETS WITH ('connector' = 'kafka');\n"
        + TABLE
        + "SELECT k FROM t;",
        ["line 1, column 43: the number of buckets follows INTO: DISTRIBUTED BY HASH(k) INTO 4 BUCKETS."],
    ),
    "a window by a time that is computed of the event time": (
        TIMED.replace("ts TIMESTAMP(3)", "ts TIMESTAMP(3), later AS ts + INTERVAL '1' SECOND")
        + "SELECT COUNT(*) AS n FROM (SELECT k, later FROM t) GROUP BY TUMBLE(later, INTERVAL '1' MINUTE);",
        ["line 2, column 61: 'later' is not an event time; ts is one."],
    ),
    "an ALTER TABLE that does not fit its table": (
        TABLE + "ALTER TABLE t DROP nothing;\nALTER TABLE t ADD WATERMARK FOR x AS x;\n"
        "ALTER TABLE t ADD COLUMN more INT;\nSELECT k, more FROM t;",
        [
            "line 2, column 1: t: DROP: unknown column 'nothing'. Available: k, s, ts.",
            "line 3, column 38: t: WATERMARK: unknown column 'x'. Available: k, s, ts.",
            "line 4: Flink would refuse this: ALTER TABLE takes the column's name, without COLUMN before it.",
        ],
    ),
    "no semicolon before WITH and SET": (
        TABLE + "SELECT k FROM t\nSET 'parallelism.default' = '1'\nWITH u AS (SELECT k FROM t) SELECT k FROM u;",
        [
            "line 2: Flink would refuse this: a semicolon is missing at the end of the statement.",
        ],
    ),
    "a table as a query with WITH, in lines": (
        TABLE + "CREATE TABLE u\nAS\nWITH w AS (\nSELECT t.k FROM t JOIN t AS u ON t.k = u.k\n)\nSELECT k FROM w;",
        [],
    ),
    "a column that its table never takes": (
        "CREATE TABLE a (x ARRAY<INT>) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\n"
        "CREATE TABLE b (x MAP<INT, INT>) WITH ('connector' = 'blackhole');\nINSERT INTO b SELECT x FROM a;",
        [
            "line 3, column 22: b.x is MAP<INT, INT>, but the query gives x as ARRAY<INT>, which is never converted to "
            "it. Take another column, or declare the table with this type."
        ],
    ),
    "cells of a notebook, without semicolons": (
        TABLE + "SHOW CREATE TABLE t\n\nDESCRIBE t\n\nSELECT k FROM t\n\nEXPLAIN CHANGELOG_MODE\nSELECT k FROM t\n"
        "USE d\nSELECT s FROM t",
        [
            "line 2: Flink would refuse this: a semicolon is missing at the end of the statement.",
            "line 2: SHOW: CREATE TABLE t (k INT, s STRING, ts TIMESTAMP(3)) WITH ('connector' = 'datagen', "
            "'number-of-rows' = '5')",
            "line 4: DESCRIBE: t: k INT, s STRING, ts TIMESTAMP(3)",
            "line 8: EXPLAIN: t: Datagen [I], scan; project_3: Project [I], projection",
        ],
    ),
    "a function over a table": (
        TABLE + "SELECT * FROM f(input => TABLE t PARTITION BY k, uid => 'x');\nSELECT k FROM t;",
        [
            "line 2, column 15: f is a function over a table, which Flink runs in Java, and which is not read here. "
            "Write a query, or a function in Python of the table's columns: LATERAL TABLE(f(x)) AS t (a, b)."
        ],
    ),
    "what is no SQL": (
        TABLE + "SELECT k FROM t;\nJob ID: 17\nand more of it;",
        [
            "line 3, column 1: this is no statement of Flink SQL: 'Job ID: 17'. Remove it, or make it a comment: write "
            "-- before each of its lines. A script consists of CREATE TABLE, CREATE VIEW, CREATE FUNCTION, SET, INSERT "
            "INTO and SELECT.",
        ],
    ),
    "what Flink prints of a table": (
        "CREATE TABLE t (k VARCHAR(2147483647) CHARACTER SET `UTF-16LE`, ts TIMESTAMP(3), "
        "WATERMARK FOR ts AS SOURCE_WATERMARK()) WITH ('connector' = 'kafka'); INSERT INTO t VALUES ('a', NULL); "
        "SELECT k FROM t;",
        [
            "line 1: Flink would refuse this: a bare NULL in VALUES has no type.",
            "SOURCE_WATERMARK() is what a connector of Flink's knows of its rows; here the watermark is the latest "
            "ts. Where rows come late, write ts - INTERVAL '5' SECOND.",
        ],
    ),
    "an option of Flink's client": (
        "SET 'sql-client.execution.result-mode' = 'tableau';\nSET execution.result-mode=table;\n"
        + TABLE
        + "SELECT k FROM t;",
        [
            "line 1: the option 'sql-client.execution.result-mode' is of Flink's SQL client and has no effect here.",
            "line 2: the option 'execution.result-mode' is of Flink's SQL client and has no effect here.",
        ],
    ),
    "the DDL of a database": (
        "CREATE TABLE t (id SERIAL PRIMARY KEY, note TEXT);\n" + TABLE + "SELECT k FROM t;",
        [
            (
                "line 1, column 20: t: SERIAL is of another database's DDL, not of Flink's. Run the statement there, "
                "and read its table with 'connector' = 'jdbc' or 'postgres-cdc'; in a table of Flink, write INT for it."
            ),
            "line 1: Flink would refuse this: SERIAL is of other databases; Flink has INT.",
            "line 1: Flink would refuse this: a PRIMARY KEY is NOT ENFORCED: Flink does not own the data.",
            "line 1: Flink would refuse this: TEXT is of other databases; Flink has STRING.",
        ],
    ),
    "a constraint of a database": (
        "CREATE TABLE o (id INT, o INT REFERENCES t (k));\n" + TABLE + "SELECT k FROM t;",
        [
            (
                "line 1, column 31: o: REFERENCES is of another database's DDL, not of Flink's. Run the statement "
                "there, and read its table with 'connector' = 'jdbc' or 'postgres-cdc'; in a table of Flink, leave "
                "that out."
            ),
            "line 1: Flink would refuse this: REFERENCES is of other databases; Flink has no such thing.",
        ],
    ),
    "a text that a pattern adds up": (
        TIMED + "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a ONE ROW PER MATCH\n"
        "PATTERN (A B) DEFINE A AS AVG(JSON_VALUE(A.s, '$.a')) > CAST(A.s AS INT));",
        [
            (
                "line 2, column 15: \"AVG(JSON_VALUE(A.s, '$.a')) > CAST(A.s AS INT)\" cannot be used: "
                "AVG(JSON_VALUE(A.s, '$.a')) needs a number, but it is STRING. Choose another column or cast it."
            )
        ],
    ),
    "a condition of a pattern that is none": (
        TIMED + "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES A.ts AS a ONE ROW PER MATCH\n"
        "PATTERN (A B) DEFINE A AS CAST(A.s AS INT) > ARRAY[1]);",
        [
            (
                "line 2, column 15: 'CAST(A.s AS INT) > ARRAY[1]' cannot be used: 'CAST(A.s AS INT) > ARRAY[1]' "
                "cannot be computed of INT and ARRAY<INT>. Write it another way, or CAST a part of it."
            )
        ],
    ),
    "a text that a group adds up": (
        TABLE + "SELECT k, SUM(JSON_VALUE(s, '$.a')) AS n FROM t GROUP BY k;",
        [
            (
                "line 2, column 8: SUM(JSON_VALUE(s, '$.a')) needs a number, but it is STRING. Choose another column "
                "or cast it."
            )
        ],
    ),
    "values that do not fit": (
        TABLE + "SELECT k,\n  CAST(s AS INT) + ts AS n FROM t;",
        [
            (
                "line 3, column 8: 'CAST(s AS INT) + ts' cannot be computed of INT and TIMESTAMP(3). Write it "
                "another way, or CAST a part of it."
            )
        ],
    ),
    "a part of a query alone": (
        TABLE + "OVER (ORDER BY ts);",
        [
            "line 2, column 1: OVER ( is a part of a query, and no query stands before it. Add its SELECT, or leave "
            "the part out."
        ],
    ),
    "a table without CREATE": (
        "TABLE u (k INT);\n" + TABLE + "SELECT k FROM t;",
        ["line 1, column 1: TABLE u is no statement. Did you mean CREATE TABLE u?"],
    ),
    "Hive's partitions": (
        "CREATE TABLE h (k INT) PARTITIONED BY (d STRING) TBLPROPERTIES ('a' = 'b');\n" + TABLE + "SELECT k FROM t;",
        [
            (
                "line 1, column 42: h: PARTITIONED BY takes names of columns. A column with its type there, and "
                "TBLPROPERTIES, are of Hive's dialect: declare the column among the others, and write WITH (...)."
            )
        ],
    ),
    "updates for a topic of new rows": (
        TABLE
        + "CREATE TABLE o (s STRING, n BIGINT) WITH ('connector' = 'kafka', 'topic' = 'o', "
        + SERVERS
        + "'format' = 'json');\nINSERT INTO o SELECT s, COUNT(*) FROM t GROUP BY s;",
        [
            (
                "line 3, column 22: o takes new rows only, but the query also changes rows that it gave. Declare "
                "PRIMARY KEY (...) NOT ENFORCED in the table (of Kafka, with 'connector' = 'upsert-kafka'), or a "
                "format that has changes, such as 'debezium-json'."
            )
        ],
    ),
    "a field of a table that is not there": (
        TABLE + "SELECT x.a.b FROM t;",
        ["line 2, column 8: unknown table 'x'. Available: t."],
    ),
    "a time of the joined table": (
        TABLE + "SELECT a.k FROM t AS a JOIN t FOR SYSTEM_TIME AS OF pt AS b ON a.k = b.k;",
        [
            (
                "line 2, column 53: FOR SYSTEM_TIME AS OF takes a time of the left side of the join, and pt is none of "
                "its columns. Select it there as well, or declare it in the left table: pt AS PROCTIME()."
            )
        ],
    ),
    "spaces that do not break": (TABLE + "SELECT\xa0k FROM\xa0t;", []),
    "a character that cannot be seen": (
        TABLE + "SELECT k\u200b FROM t;",
        ["line 2, column 9: a character that cannot be seen (U+200B) stands here. Remove it."],
    ),
    "quotes of a text processor": (
        TABLE + "SELECT k FROM t WHERE s = ‘x’;",
        [
            (
                "line 2, column 27: ‘ is no quote of SQL: names take backticks, texts single quotes ('), as "
                "keyboards have them."
            )
        ],
    ),
    "a missing semicolon": (
        TABLE + "SELECT k FROM t\nSELECT s FROM t;",
        ["line 2: Flink would refuse this: a semicolon is missing at the end of the statement."],
    ),
    "a missing semicolon after a table": (
        TABLE.replace(";", "") + "SELECT k FROM t;",
        ["line 1: Flink would refuse this: a semicolon is missing at the end of the statement."],
    ),
    "double quotes around a name": (
        TABLE + 'SELECT "k" FROM t;',
        [("line 2, column 8: names take backticks, texts single quotes: double quotes have no meaning in Flink SQL.")],
    ),
    "double quotes around a text": (
        TABLE + 'SELECT k FROM t WHERE s = "x";',
        [("line 2, column 27: names take backticks, texts single quotes: double quotes have no meaning in Flink SQL.")],
    ),
    "double quotes around an option": (
        TABLE.replace("'datagen'", '"datagen"') + "SELECT k FROM t;",
        [
            (
                "line 1, column 71: names take backticks, texts single quotes: double quotes have no meaning in "
                "Flink SQL."
            ),
            "line 2, column 1: it needs t, whose statement in line 1 could not be read.",
        ],
    ),
    "an unclosed quote": (
        TABLE + "SELECT k FROM t\nWHERE s = 'abc;\nSELECT s FROM t;",
        ["line 3, column 11: the quote that opens here is never closed."],
    ),
    "an unclosed backtick": (
        TABLE + "SELECT `k FROM t;\nSELECT s FROM t;",
        ["line 2, column 8: the backtick that opens here is never closed."],
    ),
    "an unclosed comment": (
        TABLE + "SELECT k FROM t /* note\n;",
        ["line 2, column 17: the comment that opens here is never closed."],
    ),
    "a window without a watermark": (
        TABLE
        + (
            "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' "
            "MINUTE)) GROUP BY window_start, window_end;"
        ),
        [
            (
                "line 2, column 47: 'ts' is not an event time. Add WATERMARK FOR ts AS ts - INTERVAL '5' SECOND "
                "to its CREATE TABLE."
            )
        ],
    ),
    "a group window without a watermark": (
        TABLE
        + (
            "SELECT TUMBLE_START(ts, INTERVAL '1' MINUTE) AS w, COUNT(*) AS n FROM t GROUP BY TUMBLE(ts, "
            "INTERVAL '1' MINUTE);"
        ),
        [
            (
                "line 2, column 82: 'ts' is not an event time. Add WATERMARK FOR ts AS ts - INTERVAL '5' SECOND "
                "to its CREATE TABLE."
            )
        ],
    ),
    "a window after a regular join": (
        TIMED
        + "CREATE TABLE names (id INT, name STRING) WITH ('connector' = 'datagen', 'number-of-rows' = '5');\n"
        + "CREATE VIEW named AS SELECT t.ts, names.name FROM t JOIN names ON t.k = names.id;\n"
        + "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE named, DESCRIPTOR(ts), INTERVAL '1' "
        "MINUTE)) GROUP BY window_start, window_end;",
        [
            (
                "line 4, column 47: 'ts' is not an event time. The join above it loses it: the pairs of a regular join "
                "come in no order of time. Use an interval join or a temporal join, or put this "
                "step before it."
            )
        ],
    ),
    "a window over the results of a group": (
        TIMED
        + "CREATE VIEW sums AS SELECT k, MAX(ts) AS ts FROM t GROUP BY k;\n"
        + "SELECT window_start, COUNT(*) AS n FROM TABLE(TUMBLE(TABLE sums, DESCRIPTOR(ts), INTERVAL '1' "
        "MINUTE)) GROUP BY window_start, window_end;",
        [
            (
                "line 3, column 47: 'ts' is not an event time. The aggregate above it loses it: its results change "
                "later. Put this step before it, or let it compute in windows."
            )
        ],
    ),
    "window_start without a table function": (
        TIMED + "SELECT window_start, COUNT(*) AS n FROM t GROUP BY window_start, window_end;",
        [
            (
                "line 2, column 8: the column 'window_start' is made by a window table function. Write FROM "
                "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) in place of FROM t."
            )
        ],
    ),
    "bootstrap.servers": (
        TOPIC.format(option="'bootstrap.servers' = 'b:9092', "),
        [
            (
                "line 1, column 68: k: the connector 'kafka' has no option 'bootstrap.servers'. Did you mean "
                "'properties.bootstrap.servers'?"
            ),
            "line 2, column 1: it needs k, whose statement in line 1 could not be read.",
        ],
    ),
    "a misspelt option": (
        TOPIC.format(option=SERVERS + "'formt' = 'json', "),
        [
            "line 1, column 111: k: the connector 'kafka' has no option 'formt'. Did you mean 'format'?",
            "line 2, column 1: it needs k, whose statement in line 1 could not be read.",
        ],
    ),
    "an unknown option": (
        TOPIC.format(option=SERVERS + "'foo.bar' = '1', "),
        [
            "line 1, column 111: k: the connector 'kafka' has no option 'foo.bar'. Remove it.",
            "line 2, column 1: it needs k, whose statement in line 1 could not be read.",
        ],
    ),
    "an option of another format": (
        TOPIC.format(option=SERVERS + "'csv.field-delimeter' = ';', "),
        [
            (
                "line 1, column 111: k: the connector 'kafka' has no option 'csv.field-delimeter'. "
                "'csv.field-delimiter' is one of tables with 'format' = 'csv'."
            ),
            "line 2, column 1: it needs k, whose statement in line 1 could not be read.",
        ],
    ),
    "an option for a header": (
        "CREATE TABLE t (n INT) WITH ('connector' = 'filesystem', 'path' = 't.csv', 'format' = 'csv',\n"
        " 'csv.ignore-first-line' = 'true'); SELECT * FROM t;",
        [
            (
                "line 2, column 2: t: the connector 'filesystem' has no option 'csv.ignore-first-line'. Flink has none "
                "for a header, which it reads as a row. Remove it: here a first line that does not fit the types of "
                "the columns is a rejected row."
            ),
            "line 2, column 37: it needs t, whose statement in line 1 could not be read.",
        ],
    ),
    "DATE_TRUNC": (
        TABLE + "SELECT DATE_TRUNC('minute', ts) AS m FROM t;",
        ["line 2, column 8: DATE_TRUNC is no function of Flink's. Write FLOOR(ts TO MINUTE)."],
    ),
    "an unknown function": (
        TABLE + "SELECT SUBSTRNG(s, 1) AS m FROM t;",
        [("line 2, column 8: unknown function 'SUBSTRNG'. The most similar of 161: SUBSTRING, SUBSTR, JSON_STRING.")],
    ),
    "a function of other databases": (
        TABLE + "SELECT DATEDIFF(ts, ts) AS m FROM t;",
        ["line 2, column 8: DATEDIFF is no function of Flink's. Write TIMESTAMPDIFF(DAY, a, b)."],
    ),
    "another one": (
        TABLE + "SELECT GETDATE() AS m FROM t;",
        ["line 2, column 8: GETDATE is no function of Flink's. Write CURRENT_TIMESTAMP."],
    ),
    "an unknown column": (TABLE + "SELECT kk FROM t;", ["line 2, column 8: unknown column 'kk'. Available: k, s, ts."]),
    "an unknown table": (
        TABLE + "SELECT k FROM tt;",
        ["line 2, column 15: unknown table 'tt'. Available: t. Create it above: CREATE TABLE `tt` (...)."],
    ),
    "an unknown option in a hint": (
        TABLE + "SELECT k\nFROM t /*+ OPTIONS('foo' = '1') */;",
        ["line 3, column 8: t: the connector 'datagen' has no option 'foo'. Remove it."],
    ),
    "a hint for joins": (
        TABLE + "SELECT /*+ BROADCAST(x) */ k\nFROM t;",
        ["line 2: the hint BROADCAST(x) is left out; it has no effect here."],
    ),
    "a pattern of another database": (
        TABLE + "SELECT TO_TIMESTAMP(s, 'YYYY-MM-DD hh:mi') AS m FROM t;",
        [
            (
                "line 2, column 8: the letter Y in the pattern of TO_TIMESTAMP is not supported. Write yyyy for "
                "the year, and EXTRACT(WEEK FROM t) for the week."
            )
        ],
    ),
    "a pattern with too many letters": (
        TABLE + "SELECT DATE_FORMAT(ts, 'ddd bbb') AS m FROM t;",
        [("line 2, column 8: ddd in the pattern of DATE_FORMAT is too long: d stands there at most 2 times.")],
    ),
    "a text for a number": (
        TABLE + "CREATE TABLE o (k INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT s FROM t;",
        [
            (
                "line 3, column 22: o.k is INT, but the query gives s as STRING, which Flink does not convert "
                "by itself. Write CAST(s AS INT)."
            )
        ],
    ),
    "a text for a number in VALUES": (
        (
            "CREATE TABLE o (k INT) WITH ('connector' = 'kafka', 'topic' = 'x', "
            "'properties.bootstrap.servers' = 'b:9092', 'format' = 'json');\nINSERT INTO o VALUES "
            "('x');\nSELECT * FROM o;"
        ),
        ["line 2, column 23: o.k is INT, but 'x' is a text. Write another value."],
    ),
    "too many columns": (
        TABLE + "CREATE TABLE o (k INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT s, k FROM t;",
        ["line 3, column 22: o takes 1 column (k), but the query gives 2 (s, k)."],
    ),
    "a misspelt word": (TABLE + "SELCT k FROM t;", ["line 2, column 1: SELCT k is no statement. Did you mean SELECT?"]),
    "a misspelt connector": (
        TABLE.replace("datagen", "datagne") + "SELECT k FROM t;",
        [
            (
                "t: the connector 'datagne' is not read here (available: filesystem, datagen, jdbc, faker, "
                "kafka, postgres-cdc, upsert-kafka). Did you mean 'datagen'? The table has no rows until you "
                "enter some in its node, or the script inserts them by VALUES."
            )
        ],
    ),
    "a column that is not grouped": (
        TABLE + "SELECT k, s, COUNT(*) AS n FROM t GROUP BY k;",
        [
            (
                "line 2, column 11: the column 's' is neither grouped by nor aggregated. Add it to GROUP BY, or "
                "take one value of the group: MAX(s)."
            )
        ],
    ),
    "an aggregate in WHERE": (
        TABLE + "SELECT k FROM t WHERE COUNT(*) > 1;",
        [
            (
                "line 2, column 23: WHERE looks at single rows, but COUNT(*) is of a group. Write HAVING "
                "COUNT(*) > 1 after GROUP BY."
            )
        ],
    ),
    "an unknown type": (
        TABLE.replace("STRING", "TEXT2") + "SELECT k FROM t;",
        [
            (
                "line 1, column 26: s: unknown type 'TEXT2'. Available: STRING, BOOLEAN, TINYINT, SMALLINT, "
                "INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIME(p), TIMESTAMP(p), TIMESTAMP_LTZ(p), "
                "BYTES, ARRAY<..>, MAP<.., ..>, MULTISET<..>, ROW<..>."
            ),
            "line 2, column 1: it needs t, whose statement in line 1 could not be read.",
        ],
    ),
    "a word of ksqlDB": (
        TABLE + "SELECT k FROM t EMIT CHANGES;",
        [
            (
                "line 2, column 22: this is not Flink SQL: the text ends after 'CHANGES', where more is needed. "
                "EMIT CHANGES is of ksqlDB. Leave it out: every query of a stream gives changes."
            )
        ],
    ),
    "a word of other databases": (
        TABLE + "SELECT TOP 5 k FROM t;",
        [
            (
                "line 2, column 12: this is not Flink SQL: '5' does not belong here. TOP is of other databases. "
                "Write LIMIT n at the end."
            )
        ],
    ),
    "a missing parenthesis": (
        TABLE + "SELECT (k FROM t;",
        ["line 2, column 11: this is not Flink SQL: a closing parenthesis is missing before 'FROM'."],
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_messages(title: str) -> None:
    script, told = CASES[title]
    try:
        read = script_of(script, TypeRules(), Path())
    except SqlRejected as error:
        found = [str(error)]
    else:
        assert read.jobs or read.failures
        found = [*(failure.sentence for failure in read.failures), *read.warnings]
    assert found == told
