"""Reads and writes scripts in tests, and compares pipelines without their layout."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.planner.derive import derive
from engine.script import Script, Written, script_of, sql_of
from engine.script.views import plain_node
from engine.sql import SqlRejected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read(text: str, spark: SparkSession, folder: Path = Path()) -> Script:
    """The pipeline of a script. Raises the error of its first statement that cannot be read."""
    return whole(script_of(text, TypeRules(), folder))


def whole(script: Script) -> Script:
    """The script. Raises the error of its first statement that cannot be read."""
    for failure in script.failures:
        raise SqlRejected(failure.sentence)
    return script


def refusals(text: str, spark: SparkSession) -> str:
    """Why the statements of a script that cannot be read are refused, a line for each."""
    try:
        return "\n".join(failure.sentence for failure in script_of(text, TypeRules(), Path()).failures)
    except SqlRejected as error:
        return str(error)


def written(pipeline: Pipeline, spark: SparkSession, folder: Path = Path()) -> Written:
    """The script of a pipeline, written anew."""
    return exported(rewritten(pipeline), spark, folder)


def rewritten(pipeline: Pipeline) -> Pipeline:
    """The pipeline without the script that it was opened from, so that another one is written."""
    return pipeline.model_copy(update={"script": ""})


def exported(pipeline: Pipeline, spark: SparkSession, folder: Path = Path()) -> Written:
    """The script of a pipeline: the one that it was opened from, if that is still true."""
    return sql_of(pipeline, TypeRules(), folder)


def content(pipeline: Pipeline) -> dict[str, Any]:
    """The content of a pipeline: all except its script and story, the places of its nodes, the order of its edges.

    Expressions are bound, in whichever language they are written.
    """
    derived, problems = derive(pipeline, TypeRules(), Path())
    assert not problems
    bound = {name: node.in_utc.in_spark.model_dump(mode="json") for name, node in derived.items()}
    nodes = [plain_node(node.with_parameters(bound[node.id])).model_dump(exclude={"place"}) for node in pipeline.nodes]
    edges = sorted((edge.source, edge.source_port, edge.target, edge.target_port) for edge in pipeline.edges)
    rest = pipeline.model_dump(mode="json", exclude={"nodes", "edges", "script", "story"})
    return {**rest, "nodes": nodes, "edges": edges}


def operators(script: Script) -> list[str]:
    """One line per node: id, operator and inputs."""
    pipeline = script.pipeline
    return [
        " ".join([node.id, node.operator, *(f"< {edge.source}" for edge in pipeline.inputs(node.id))])
        for node in pipeline.nodes
    ]
