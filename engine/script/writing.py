"""A pipeline as a script of Flink SQL: a table per source and sink and a view per operator, with the nodes' names.

The script runs in Flink, and reading it gives the same pipeline. Features that Flink lacks or implements differently
become a comment and a warning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from engine.contract.operator import Analyzer
from engine.contract.source import Source
from engine.contract.target import SinkMode
from engine.contract.unread import Unread
from engine.errors import StudioError
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.model.types import literal
from engine.operators.deduplicate import Deduplicate, FirstRow, Keep
from engine.operators.sink import Sink
from engine.planner import plan
from engine.planner.derive import DerivedNode, derive
from engine.reading.servers.secrets import NOTE, names_any
from engine.registry import configured, lookup
from engine.script.epoch_times import unfolded
from engine.script.flink_expressions import translated
from engine.script.formatting import laid_out, unquoted
from engine.script.kept_text import kept_script
from engine.script.parts import Parts
from engine.script.python_functions import declarations
from engine.script.reading import Tables, sink_of, source_of
from engine.script.refused_by_flink import notes
from engine.script.taken_apart import taken_apart
from engine.script.views import node_of_view, parameters_of, place_node, plain_node, query_of
from engine.sql.algebra import Table
from engine.sql.clauses.python_calls import aggregates_of
from engine.sql.identifiers import identifier
from engine.sql.names import Names
from engine.sql.nodes import MAKERS
from engine.sql.nodes.emitter import Emitter
from engine.sql.typed import typed
from engine.writing.targets import WriteTo

_PRINT: Final = {"connector": "print"}
_OUR_COMMENT: Final = "-- studio: "
"""It is no description of a node."""
_NOTE: Final = re.compile(r"^-- (?!studio\.)(.*)$", re.MULTILINE)
_OWN: Final = {
    "allowed_lateness_ms": "allowed lateness: Flink's windows drop late rows",
    "early_fire_every_ms": "early firing: Flink's windows fire once, at their end",
    "early_fire_each_record": "early firing: Flink's windows fire once, at their end",
    "late_records": "late rows as an output: Flink drops them",
}


@dataclass(frozen=True)
class Written:
    """A script, and warnings about differences in Flink, as sentences."""

    text: str
    warnings: tuple[str, ...] = ()


class Part(NamedTuple):
    """The statements of a node, with the comments above them. node: '' for those of all nodes."""

    node: str
    text: str


@dataclass
class _Draft:
    emitter: Emitter
    parts: list[Part] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    inserts: list[Part] = field(default_factory=list)


def sql_of(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Written:
    """The script of a pipeline: the one that it was opened from, as far as nothing has changed, else a new one.

    Raises the first StudioError of an invalid pipeline.
    """
    plan(pipeline, analyzer, folder)
    original = kept_script(pipeline, analyzer, folder)
    if original is not None:
        return Written(original[0], tuple(notes(original[0])))
    original_nodes, _ = derive(pipeline, analyzer, folder)
    whole = unfolded(pipeline.part(original_nodes), original_nodes)
    nodes, problems = derive(whole, analyzer, folder)
    if problems:
        raise problems[0]
    functions, statements, warnings = declarations(pipeline)
    draft = _Draft(
        Emitter(analyzer, folder, MAKERS, dict(pipeline.options), functions),
        [Part("", statement) for statement in statements],
        [*warnings],
    )
    for node in _in_order(whole):
        role = lookup(node).role
        if role == "source":
            _source(node, nodes[node.id], draft)
        elif role == "sink":
            _sink(node, nodes[node.id], original_nodes[node.id], draft)
        else:
            _view(node, nodes[node.id], draft)
    for node in pipeline.nodes:
        if isinstance(unread := configured(node), Unread):
            draft.parts.append(Part("", f"{unread.sql};"))
            draft.warnings.append(f"{node.id} is written as it was read: {unread.reason}")
    if not draft.inserts:
        draft.warnings.append("the pipeline has no sink, so Flink would run nothing. Add a sink.")
    whole_texts = [_header(pipeline, draft), *(part.text for part in draft.parts), *_insertion(draft.inserts)]
    text = "\n\n".join(whole_texts) + "\n"
    return Written(text, tuple(dict.fromkeys(draft.warnings)))


def _in_order(pipeline: Pipeline) -> Sequence[Node]:
    """The nodes, each after its inputs: in the document's order if possible."""
    places = {node.id: at for at, node in enumerate(pipeline.nodes)}
    in_order = all(places[edge.source] < places[edge.target] for edge in pipeline.edges)
    return pipeline.nodes if in_order else pipeline.sorted_nodes()


def _header(pipeline: Pipeline, draft: _Draft) -> str:
    lines = [f"-- studio.pipeline: {_json(pipeline.name)}"]
    if pipeline.description:
        lines.append(f"-- studio.description: {_json(pipeline.description)}")
    if pipeline.arrival != Arrival():
        lines.append(f"-- studio.arrival: {_json(pipeline.arrival.model_dump(mode='json', exclude_defaults=True))}")
        draft.warnings.append("SQL cannot express how the sources interleave: Flink reads them as they arrive.")
    lines.append("-- studio: Every view is a node. Such lines are for Changelog Studio; Flink skips them.")
    if any("INSERT INTO" in part.text for part in draft.parts):
        lines.append("-- studio: Rows are inserted by the script itself: remove their folders before it runs again.")
        lines.append("SET 'table.dml-sync' = 'true';")
    lines += [f"SET {literal(name)} = {literal(value)};" for name, value in pipeline.options.items()]
    return "\n".join(lines)


def _insertion(inserts: Sequence[Part]) -> list[str]:
    if len(inserts) < 2:
        return [insert.text for insert in inserts]
    body = "\n\n".join(insert.text for insert in inserts)
    return [f"EXECUTE STATEMENT SET\nBEGIN\n\n{body}\n\nEND;"]


def _source(node: Node, planned: DerivedNode, draft: _Draft) -> None:
    source = planned.operator
    assert isinstance(source, Source)
    flink_source, unknown = translated(
        source, [source.read_schema(node.id, draft.emitter.folder)], draft.emitter.analyzer, node.id
    )
    assert isinstance(flink_source, Source)
    _warn_of(node, unknown, draft)
    text = unquoted(flink_source.flink_sql(node.id, planned.derived.schema).rstrip(";\n ")) + ";"
    try:
        back: Node | None = source_of(node.id, taken_apart(text), draft.emitter)
    except StudioError:
        back = None
    draft.warnings += [f"{node.id}: {line}" for line in _NOTE.findall(text)]
    text = _NOTE.sub(rf"{_OUR_COMMENT}\1", text)
    draft.parts.append(_part(node, *_directives(node, planned, back, draft.emitter), text))
    draft.emitter.source(node)


def _view(node: Node, planned: DerivedNode, draft: _Draft) -> None:
    inputs = [edge.source for edge in planned.edges]
    sql, unknown = query_of(node, inputs, draft.emitter)
    _warn_of(node, unknown, draft)
    # The first choice that is read as this node, else the first one, with a directive for the missing parts.
    choices = dict.fromkeys([unquoted(sql), unquoted(sql, _expressions(node)), sql])
    statements = [f"CREATE TEMPORARY VIEW {identifier(node.id)} AS\n{laid_out(query)};" for query in choices]
    tried: list[Node | None] = []
    for statement in statements:
        back = _read_back(node.id, statement, inputs, draft.emitter)
        if back is not None and not _differing(back, node, planned, draft.emitter):
            break
        tried.append(back)
    else:
        statement, back = statements[0], tried[0]
    comments = [*_own_additions(node, back), *_otherwise(node, inputs, draft.emitter)]
    draft.warnings += [f"{node.id}: {comment}" for comment in comments]
    draft.parts.append(
        _part(node, *map(_OUR_COMMENT.__add__, comments), *_directives(node, planned, back, draft.emitter), statement)
    )
    place_node(node, inputs, draft.emitter, None)


def _sink(node: Node, planned: DerivedNode, real: DerivedNode, draft: _Draft) -> None:
    sink = planned.operator
    assert isinstance(sink, Sink)
    (edge,) = planned.edges
    schema = real.derived.schema
    lines = [f"  {identifier(column.name)} {column.type.flink}" for column in schema]
    comments = []
    if sink.mode is SinkMode.UPSERT:
        own = sorted((sorted(key) for key in real.derived.upsert_keys), key=lambda key: (len(key), key))
        keys = sink.keys or tuple(own[0])
        if keys:
            # A single row has no key.
            lines.append(f"  PRIMARY KEY ({', '.join(map(identifier, keys))}) NOT ENFORCED")
    target = sink.to_table()
    if sink.mode is SinkMode.UPSERT and target is None:
        comments.append("An upsert sink: print shows -U as well; connectors such as upsert-kafka and jdbc take no -U.")
    if sink.mode is SinkMode.APPEND and target is None:
        comments.append("An append sink takes no updates; print does.")
    comments += [line.removeprefix("-- ").strip() for line in [NOTE] if target and names_any(target.values())]
    settings = ",\n".join(f"  {literal(name)} = {literal(value)}" for name, value in (target or _PRINT).items())
    partitions = ", ".join(map(identifier, sink.partition_by if sink.write_to is WriteTo.PARQUET and target else ()))
    partitioned = f" PARTITIONED BY ({partitions})" if partitions else ""
    columns = ",\n".join(lines)
    table = f"CREATE TABLE {identifier(node.id)} (\n{columns}\n){partitioned} WITH (\n{settings}\n);"
    names = ", ".join(identifier(column.name) for column in schema)
    insert = laid_out(f"INSERT INTO {identifier(node.id)} SELECT {names} FROM {identifier(edge.source)}")
    back = Node(id=node.id, operator="sink", parameters=sink_of(node.id, taken_apart(table)))
    draft.parts.append(_part(node, *map(_OUR_COMMENT.__add__, comments), table))
    draft.inserts.append(Part(node.id, "\n".join([*_directives(node, planned, back, draft.emitter), f"{insert};"])))


def _part(node: Node, *lines: str) -> Part:
    """The lines of a node's statements below its description."""
    described = [f"-- {line}".rstrip() for line in node.description.splitlines()]
    return Part(node.id, "\n".join([*described, *lines]))


def _expressions(node: Node) -> list[str]:
    """The strings with backticks among a node's parameters, the longest first."""

    def texts(value: object) -> list[str]:
        if isinstance(value, dict):
            return [text for part in value.values() for text in texts(part)]
        if isinstance(value, list):
            return [text for part in value for text in texts(part)]
        return [value] if isinstance(value, str) and "`" in value else []

    return sorted(set(texts(parameters_of(node))), key=len, reverse=True)


def _read_back(name: str, text: str, inputs: Sequence[str], emitter: Emitter) -> Node | None:
    """The node that the view will be read as; None if it is read as several nodes or not at all."""
    parts = taken_apart(text)
    trial = emitter.apart()
    tables = Tables(Parts(), trial)
    for input_id in dict.fromkeys(inputs):
        tables.add(input_id, Table(Node(id=input_id, operator=""), trial.derived[input_id].schema.names))
    try:
        node_of_view(name, parts.views[name], Names(tables, aggregates=aggregates_of(trial.functions)), trial)
    except StudioError:
        return None
    new_nodes = trial.nodes[len(emitter.nodes) :]
    return new_nodes[0] if len(new_nodes) == 1 else None


def _differing(back: Node, node: Node, planned: DerivedNode, emitter: Emitter) -> dict[str, Any]:
    """The parameters that a node's SQL is not read with. An expression is read as it is, or is bound to the same."""
    written = parameters_of(node)
    if back.operator != node.operator:
        return written
    schemas = [emitter.derived[edge.source].schema for edge in planned.edges]
    bound = parameters_of(typed(node.id, configured(back), schemas, emitter.analyzer, emitter.folder).in_spark)
    got, meant = parameters_of(back), parameters_of(planned.in_utc.in_spark)
    return {name: value for name, value in written.items() if got.get(name) != value and bound.get(name) != meant[name]}


def _directives(node: Node, planned: DerivedNode, back: Node | None, emitter: Emitter) -> list[str]:
    """The directives that the SQL needs to be read as this node again."""
    if back is not None and back.operator == node.operator:
        differing = _differing(back, node, planned, emitter)
        return [f"-- studio.parameters: {_json(differing)}"] if differing else []
    whole = plain_node(node)
    return [f"-- studio.node: {_json({'operator': whole.operator, 'parameters': whole.parameters})}"]


def _own_additions(node: Node, back: Node | None) -> list[str]:
    """Comments about features of a node that Flink lacks: those that its SQL and the options do not give it."""
    parameters = configured(node).model_dump(mode="json", exclude_defaults=True)
    given = parameters_of(back) if back is not None and back.operator == node.operator else {}
    additions = [
        sentence for name, sentence in _OWN.items() if parameters.get(name) and given.get(name) != parameters[name]
    ]
    return [f"Not in Flink: {sentence}." for sentence in additions]


def _otherwise(node: Node, inputs: Sequence[str], emitter: Emitter) -> list[str]:
    """Comments about features of a node that Flink implements differently."""
    operator = configured(node)
    if isinstance(operator, Deduplicate):
        if not emitter.derived[inputs[0]].is_insert_only:
            return ["Flink has no deduplication of a changelog: it runs a Top N by processing time instead."]
        if operator.keep is Keep.FIRST and operator.first_row is FirstRow.AT_ONCE:
            return ["In Flink only in mini-batch; otherwise the first row is emitted when the watermark reaches it."]
    return []


def _warn_of(node: Node, unknown: Sequence[str], draft: _Draft) -> None:
    draft.warnings += [f"{node.id}: Flink may not support {part}; rewrite it for Flink." for part in unknown]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
