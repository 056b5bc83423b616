"""Plans as text: a pipeline, and the planner's decisions for each node.

A pipeline is a query, or, for nodes with several consumers, its nodes in the format of
`tests.engine.sql.queries.lines`. Lines `SET 'option' = 'value'` and, for a query, `SINK upsert k` may precede it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.model.printing import table
from engine.planner import NodePlan, plan
from engine.registry import operators
from tests.engine.sql.queries import TABLES, GuessedTypes, read

HEAD = ("node", "mode", "needs", "strategy")
_SET = re.compile(r"SET '(.+)' = '(.+)'")
_NODE = re.compile(r"(?P<id>\w+)\((?P<inputs>[^)]*)\)(?P<parameters>.*)")


def planned(text: str) -> list[str]:
    """The planner's decisions, one line per node; or its sentence if it rejects the pipeline."""
    try:
        found = plan(_pipeline(text.splitlines()), GuessedTypes(), Path())
    except StudioError as error:
        return [str(error)]
    rows = [(node.id, str(node.mode), _needs(node), node.strategy.name) for node in found.nodes]
    return [line.rstrip() for line in table(HEAD, rows)]


def _needs(node: NodePlan) -> str:
    """The required update kind of each input."""
    return ", ".join(f"{need.source}: {need.update_kind.value}" for need in node.needs)


def _pipeline(lines: list[str]) -> Pipeline:
    options, sink = {}, {"mode": "changelog"}
    while True:
        if found := _SET.fullmatch(lines[0]):
            options[found[1]] = found[2]
        elif lines[0].startswith("SINK "):
            _, mode, *keys = lines[0].split()
            sink = {"mode": mode} | ({"keys": keys} if keys else {})
        else:
            break
        lines = lines[1:]
    if lines[0].startswith(("SELECT", "WITH")):
        return read("\n".join(lines), sink=sink, options=options)
    return _of_nodes(lines, options)


def _of_nodes(lines: list[str], options: Mapping[str, str]) -> Pipeline:
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, str]] = []
    for line in lines:
        found = _NODE.fullmatch(line)
        assert found, line
        operator = re.sub(r"_\d+$", "", found["id"])
        nodes.append({"id": found["id"], "operator": operator, "parameters": dict(_parameters(found["parameters"]))})
        sources = [name for name in found["inputs"].split(", ") if name]
        ports = operators()[operator].ports
        ports = ports if len(ports) > 1 else ports * len(sources)
        edges += [
            {"source": source, "target": found["id"], "target_port": port}
            for source, port in zip(sources, ports, strict=True)
        ]
    used = {edge["source"] for edge in edges}
    tables = [each.node.model_dump() for each in TABLES if each.node.id in used]
    return Pipeline.from_dict({"nodes": [*tables, *nodes], "edges": edges, "options": options})


def _parameters(text: str) -> Iterator[tuple[str, Any]]:
    decode = json.JSONDecoder().raw_decode
    while text := text.strip():
        name, _, text = text.partition("=")
        value, end = decode(text)
        if name == "columns":
            value = [{"name": column, "expression": expression} for column, expression in value.items()]
        yield name, value
        text = text[end:]
