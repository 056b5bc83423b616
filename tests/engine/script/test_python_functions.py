"""CREATE FUNCTION ... LANGUAGE PYTHON: from a file beside the script, and in the studio's own scripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.operators.python_function import Python
from engine.registry import configured
from engine.script import program_of, script_of, sql_of
from engine.sql import SqlRejected
from tests.engine.script.scripts import rewritten, whole

FUNCTIONS = """
from pyflink.table import DataTypes
from pyflink.table.udf import udf, udtf

@udf(result_type=DataTypes.BIGINT())
def twice(n):
    return None if n is None else 2 * n

@udtf(result_types=["STRING", "INT"])
def parts(text):
    yield from ((part, at) for at, part in enumerate((text or "").split(",")))
"""
TABLE = """
CREATE TEMPORARY FUNCTION twice AS 'made.functions.twice' LANGUAGE PYTHON;
CREATE FUNCTION IF NOT EXISTS Parts AS 'made.functions.parts' LANGUAGE PYTHON;
CREATE TABLE t (k BIGINT, s STRING) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');
INSERT INTO t VALUES (1, 'a,b');
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "made").mkdir()
    (tmp_path / "made" / "functions.py").write_text(FUNCTIONS)
    return tmp_path


def read(query: str, folder: Path, spark: SparkSession) -> Pipeline:
    return whole(script_of(TABLE + query, TypeRules(), folder)).pipeline


def calls(pipeline: Pipeline) -> list[tuple[str, str, list[str]]]:
    """The calls of a pipeline: function, column, arguments."""
    found = []
    for node in pipeline.nodes:
        operator = configured(node)
        if isinstance(operator, Python):
            arguments = [argument.expression for argument in operator.arguments]
            found.append((operator.declared("").name, operator.name, arguments))
    return found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("SELECT k, TWICE(k) AS n FROM t", [("twice", "n", ["k"])]),
        ("SELECT twice(k) + twice(k) AS n FROM t", [("twice", "twice", ["k"])]),
        ("SELECT twice(twice(k + 1)) AS n FROM t", [("twice", "twice", ["k + 1"]), ("twice", "n", ["twice"])]),
        ("SELECT k FROM t WHERE twice(k) > 2", [("twice", "twice", ["k"])]),
        ("SELECT twice(k) AS k2, SUM(twice(k)) AS n FROM t GROUP BY twice(k)", [("twice", "twice", ["k"])]),
        ("SELECT k, COUNT(*) AS n FROM t GROUP BY k HAVING twice(COUNT(*)) > 2", [("twice", "twice", ["n"])]),
        ("SELECT k, p FROM t, LATERAL TABLE(parts(s)) AS u (p, n)", [("parts", "parts", ["s"])]),
        ("SELECT k, p FROM t LEFT JOIN LATERAL TABLE(Parts(s)) AS u (p, n) ON TRUE", [("parts", "parts", ["s"])]),
    ],
)
def test_each_call_is_a_node_below_what_reads_it(
    query: str, found: list[tuple[str, str, list[str]]], folder: Path, spark: SparkSession
) -> None:
    assert calls(read(query, folder, spark)) == found


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("SELECT thrice(k) FROM t", "unknown function 'THRICE'. The most similar of "),
        ("SELECT twice(k, k) FROM t", "arguments: the function twice takes 1, but 2 are given."),
        ("SELECT k FROM t, LATERAL TABLE(parts(s)) AS u (p)", "the rows have the fields f0, f1."),
        ("SELECT k FROM t, LATERAL TABLE(parts(s)) AS u", "LATERAL takes a table function, and names for its columns"),
        (
            "SELECT k FROM t, LATERAL TABLE(twice(k)) AS u (p)",
            "twice is of type BIGINT, but unnesting values needs an array",
        ),
    ],
)
def test_what_cannot_be_called_is_said(query: str, sentence: str, folder: Path, spark: SparkSession) -> None:
    with pytest.raises(SqlRejected) as refused:
        read(query, folder, spark)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("'nowhere.f'", "nowhere.py cannot be read: No such file or directory."),
        ("'made.functions.g'", "unknown function 'g'. Available: twice, parts."),
        ("'made.broken.f'", "the code of f: line 1: it is no Python: "),
        ("'../made.f'", "write it as 'module.function'."),
    ],
)
def test_a_function_that_is_not_there_is_said_with_its_line(
    text: str, sentence: str, folder: Path, spark: SparkSession
) -> None:
    (folder / "made" / "broken.py").write_text("def f(:")
    with pytest.raises(SqlRejected) as refused:
        read(f"CREATE FUNCTION f AS {text} LANGUAGE PYTHON;\nSELECT k FROM t", folder, spark)
    assert sentence in str(refused.value)
    assert str(refused.value).startswith("line 6, column 1: ")


def test_a_module_outside_of_the_named_folders_is_not_read(
    folder: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", str(folder / "data"))
    with pytest.raises(SqlRejected, match="is in none of the folders that this studio reads"):
        read("SELECT k FROM t", folder, spark)


def test_a_pipeline_written_and_read_again_is_the_same(folder: Path, spark: SparkSession) -> None:
    query = "SELECT k, p, twice(n) AS m FROM t, LATERAL TABLE(parts(s)) AS u (p, n) WHERE twice(k) > 2"
    analyzer = TypeRules()
    pipeline = read(query, folder, spark)
    written = sql_of(rewritten(pipeline), analyzer, folder)
    assert "CREATE TEMPORARY FUNCTION twice AS 'functions.twice' LANGUAGE PYTHON;" in written.text
    assert any("Flink needs twice in a file functions.py of python.files." in each for each in written.warnings)
    # No file beside the script is needed.
    again = script_of(written.text, analyzer, folder / "made")
    assert sql_of(rewritten(again.pipeline), analyzer, folder).text == written.text
    assert calls(again.pipeline) == calls(pipeline)
    assert not again.warnings


def test_a_name_that_sql_has_is_written_as_one_of_the_system(spark: SparkSession, tmp_path: Path) -> None:
    code = "def split(text):\n    return text.split(',')\n"
    table = (
        "CREATE TABLE t (s STRING) WITH ('connector' = 'filesystem', 'path' = 't', 'format' = 'json');\n"
        "INSERT INTO t VALUES ('a,b');\n"
    )
    analyzer = TypeRules()
    (tmp_path / "own.py").write_text(f"from pyflink.table.udf import udf\n@udf(result_type='ARRAY<STRING>')\n{code}")
    declared = "CREATE TEMPORARY SYSTEM FUNCTION split AS 'own.split' LANGUAGE PYTHON;\n"
    pipeline = script_of(f"{declared}{table}SELECT split(s) AS parts FROM t", analyzer, tmp_path).pipeline
    assert calls(pipeline) == [("split", "parts", ["s"])]
    assert "CREATE TEMPORARY SYSTEM FUNCTION split" in sql_of(pipeline, analyzer, tmp_path).text
    assert 'os.environ["CHANGELOG_STUDIO_PYTHON"] = "all"' in program_of(pipeline)


AGGREGATE = """
from pyflink.table import AggregateFunction
from pyflink.table.udf import udaf

class Seen(AggregateFunction):
    def create_accumulator(self):
        return [0]
    def accumulate(self, acc, value, times):
        acc[0] += times
    def retract(self, acc, value, times):
        acc[0] -= times
    def get_value(self, acc):
        return acc[0]

seen = udaf(Seen(), result_type="BIGINT", accumulator_type="ARRAY<BIGINT>")
"""
OVER = "SELECT k, seen(k, 1) OVER (ORDER BY k) FROM t"


def test_aggregate_functions_come_back_as_they_were(folder: Path, spark: SparkSession) -> None:
    (folder / "made" / "functions.py").write_text(AGGREGATE)
    ddl = TABLE[TABLE.index("CREATE TABLE") :]
    script = f"CREATE FUNCTION Seen AS 'made.functions.seen' LANGUAGE PYTHON;\n{ddl}"
    analyzer = TypeRules()
    query = "SELECT k, SEEN(s, k + 1) AS n, COUNT(*) AS c FROM t GROUP BY k HAVING seen(s, k + 1) > 1"
    read_ = script_of(script + query, analyzer, folder).pipeline
    (node,) = [node for node in read_.nodes if node.operator == "aggregate"]
    assert node.parameters["code"] == AGGREGATE
    assert [each["function"] for each in node.parameters["aggregates"]] == ["seen", "COUNT"]
    written = sql_of(read_, analyzer, folder)
    again = script_of(written.text, analyzer, folder).pipeline
    assert [(one.operator, one.parameters) for one in again.nodes] == [
        (one.operator, one.parameters) for one in read_.nodes
    ]
    with pytest.raises(SqlRejected, match="seen is an aggregate function in Python, which Flink cannot call with OVER"):
        whole(script_of(script + OVER, analyzer, folder))


def test_calls_in_on_are_computed_where_flink_computes_them(folder: Path, spark: SparkSession) -> None:
    pairs = read("SELECT a.k FROM t AS a LEFT JOIN t AS b ON twice(a.k) = twice(b.k) + 1;", folder, spark)
    assert [found[0] for found in calls(pairs)] == ["twice", "twice"]
    both = read("SELECT a.k FROM t AS a JOIN t AS b ON a.s = b.s AND twice(a.k + b.k) > 1;", folder, spark)
    operators = [node.operator for node in both.nodes]
    assert operators.index("join") < operators.index("python_function") < operators.index("filter")
    for query in ("LEFT JOIN t AS b ON a.s = b.s AND twice(a.k) > 1", "JOIN t AS b ON twice(a.k + b.k) > 1"):
        with pytest.raises(SqlRejected, match="Flink calls one in ON only on both sides of ="):
            read(f"SELECT a.k FROM t AS a {query};", folder, spark)
