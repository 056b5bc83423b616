"""A pipeline as a PySpark program: one file, which runs wherever this engine can be imported."""

from __future__ import annotations

from pprint import pformat
from textwrap import indent
from typing import Final

from engine.contract.operator import Operator
from engine.model.pipeline import Arrival, Edge, Node, Pipeline
from engine.registry import configured
from engine.script.views import plain_node

_HEAD: Final = """{title}

Run it with `python FILE.py`, the folder that holds `engine` on the PYTHONPATH. Paths are relative to this file.
"""
_IMPORTS: Final = """
from pathlib import Path

from engine.model.pipeline import {names}
from engine.running import finished
from engine.spark.session import get_spark

"""
_MAIN: Final = """
if __name__ == "__main__":
    spark = get_spark("local[*]")
    with finished(pipeline, spark, folder=Path(__file__).parent) as job:
        for node in {ends}:
            job.show(node)
"""
_ALLOWED: Final = """
# The code in Python that stands below runs with your rights.
os.environ["CHANGELOG_STUDIO_PYTHON"] = "all"
"""
_QUOTES: Final = '"' * 3
_WIDTH: Final = 100


def program_of(pipeline: Pipeline) -> str:
    """The program that runs a pipeline and shows what its sinks receive."""
    fields = [f"name={pipeline.name!r}"]
    if pipeline.description:
        fields.append(f"description={pipeline.description!r}")
    fields.append("nodes=(\n" + "".join(f"{indent(_node(node), '    ')},\n" for node in pipeline.nodes) + ")")
    fields.append("edges=(\n" + "".join(f"    {_edge(edge)},\n" for edge in pipeline.edges) + ")")
    names = ["Edge", "Node", "Pipeline"]
    if pipeline.arrival != Arrival():
        names.insert(0, "Arrival")
        fields.append(f"arrival={_call('Arrival', pipeline.arrival.model_dump(exclude_defaults=True))}")
    if pipeline.options:
        fields.append(f"options={pformat(pipeline.options, width=_WIDTH, sort_dicts=False)}")
    body = "".join(f"{indent(field, '    ')},\n" for field in fields)
    above = {edge.source for edge in pipeline.edges}
    ends = [node.id for node in pipeline.nodes if node.id not in above]
    summary = " ".join(filter(None, (pipeline.name.rstrip(".") + ".", pipeline.description)))
    title = summary.replace("\\", "\\\\").replace('"', "'")
    imports = _IMPORTS.format(names=", ".join(names))
    if any(_has_code(node) for node in pipeline.nodes):
        imports = f"\nimport os{imports.rstrip()}\n{_ALLOWED}\n"
    head = f"{_QUOTES}{_HEAD.format(title=title)}{_QUOTES}\n{imports}"
    return f"{head}pipeline = Pipeline(\n{body})\n\n{_MAIN.format(ends=ends)}"


def _has_code(node: Node) -> bool:
    operator = configured(node)
    return isinstance(operator, Operator) and bool(operator.foreign_code)


def _node(node: Node) -> str:
    parameters = pformat(plain_node(node).parameters, width=_WIDTH, sort_dicts=False)
    one_line = f"Node(id={node.id!r}, operator={node.operator!r}, parameters={parameters})"
    if len(one_line) <= _WIDTH and "\n" not in one_line:
        return one_line
    return f"Node(\n    id={node.id!r},\n    operator={node.operator!r},\n    parameters={_hanging(parameters)},\n)"


def _hanging(text: str) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(f"    {' ' * len('parameters=')}{line}" for line in rest)])


def _edge(edge: Edge) -> str:
    return _call("Edge", edge.model_dump(exclude_defaults=True))


def _call(name: str, fields: dict[str, object]) -> str:
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in fields.items())})"
