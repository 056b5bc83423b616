"""Which texts are numbers with a comma, and that the proposed column reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.examples.from_file import source_of
from engine.expressions.flink_sql import flink
from engine.model.pipeline import Pipeline
from engine.reading.typed.number_texts import writing_of
from engine.sources.csv import Csv
from tests.golden.trace import run_pipeline

COMMA, THOUSANDS = "numbers with a decimal comma", "numbers with commas between thousands"
CASES = {
    "German": (["22,5", "-1,25", "7"], COMMA, [22.5, -1.25, 7.0]),
    "German thousands": (["1.234.567,50", "22,5", "1.000"], COMMA, [1234567.5, 22.5, 1000.0]),
    "American thousands": (["1,234.50", "7.25", "1,234,567"], THOUSANDS, [1234.5, 7.25, 1234567.0]),
    "either": (["1,234", "7,000"], None, []),
    "either, but for one": (["1,234", "7,00"], COMMA, [1.234, 7.0]),
    "lists": (["1,2,3", "4,5"], None, []),
    "words": (["a,b", "1,5"], None, []),
    "nothing": ([], None, []),
}


@pytest.mark.parametrize("name", CASES)
def test_the_writing_of_texts(name: str) -> None:
    texts, words, _ = CASES[name]
    writing = writing_of(texts, len(texts))
    assert (writing and writing.words) == words


def test_a_run_reads_them_and_what_is_none_is_null(spark: SparkSession, tmp_path: Path) -> None:
    nodes = []
    for name, (texts, words, _) in CASES.items():
        if words is None:
            continue
        file = f"{name}.csv"
        many = [f"{text}|1" for text in texts * 10]
        (tmp_path / file).write_text("\n".join(["Preis|n", *many, "n/a|2"]), encoding="utf-8")
        source = source_of(file, tmp_path)
        column = Csv.model_validate(source.parameters).profile("n", tmp_path)[0][0]
        assert column.why == f"{len(many)} of {len(many) + 1} are {words}"
        assert column.number is not None
        computed = [{"name": "number", "expression": flink(column.number)}]
        nodes.append(source.model_copy(update={"id": name, "parameters": {**source.parameters, "computed": computed}}))
    trace = run_pipeline(Pipeline(nodes=tuple(nodes)), spark, tmp_path, tmp_path / "work", epochs=1, partitions=None)
    for node in nodes:
        numbers = [record.rpartition(", ")[2].rstrip(")") for record in trace.changelog(node.id)]
        *found, last = numbers
        assert [float(number) for number in found] == CASES[node.id][2] * 10
        assert last in ("None", "NULL")
