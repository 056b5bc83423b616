"""Tables over files of the web: read and written without a request, as the declared columns are sufficient."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.script.scripts import content, read, written

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The tests use a host that never exists: any request to it fails.
TABLE = "CREATE TABLE t (k STRING, v INT) WITH ('connector' = 'filesystem', 'path' = '{url}', 'format' = '{format}');"


@pytest.mark.parametrize(("url", "format_"), [("x.csv.gz", "csv"), ("x.jsonl", "json"), ("x.jsonl", "debezium-json")])
def test_a_file_of_the_web_is_a_table_of_the_filesystem_in_and_out(url: str, format_: str, spark: SparkSession) -> None:
    url = f"https://nowhere.invalid/d/{url}"
    script = read(TABLE.format(url=url, format=format_) + "SELECT k, v FROM t", spark)
    source = script.pipeline.node("t")
    assert source.parameters["path"] == url
    assert source.parameters["types"] == {"k": "STRING", "v": "INT"}
    text = written(script.pipeline, spark).text
    assert f"'path' = '{url}'" in text
    assert content(read(text, spark).pipeline) == content(script.pipeline)
