"""ON CONFLICT of an INSERT, which Flink 2.3 demands where the sink's key is not the key of the query's rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.running import finished
from engine.sql import SqlRejected
from tests.engine.script.scripts import read

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');
INSERT INTO t VALUES ('a', 1), ('b', 2), ('a', 3);
CREATE TABLE latest (k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED) WITH ('connector' = 'print');
"""


def test_deduplicate_keeps_the_last_row_of_a_key(spark: SparkSession) -> None:
    script = read(TABLES + "INSERT INTO latest SELECT k, v FROM t ON CONFLICT DO DEDUPLICATE;", spark)
    with finished(script.pipeline, spark, Path()) as job:
        found = [tuple(row)[1:] for row in job.changelog("latest").collect()]
    assert found == [("+I", "a", 1), ("+I", "b", 2), ("+U", "a", 3)]


@pytest.mark.parametrize("what", ["ERROR", "NOTHING"])
def test_what_a_sink_does_not_do_is_rejected_in_its_place(what: str, spark: SparkSession) -> None:
    with pytest.raises(SqlRejected, match=rf"line 4, column 39: ON CONFLICT DO {what} is not supported"):
        read(TABLES + f"INSERT INTO latest SELECT k, v FROM t ON CONFLICT DO {what};", spark)
