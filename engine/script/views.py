"""Views of a script of the studio: each is one node with the view's name.

The query determines the node. If the query is not enough (features that Flink lacks, another spelling of an
expression), a directive above it adds the rest: `-- studio.parameters: {...}` or `-- studio.node: {...}`. A directive
only applies if its node is written as exactly this query; so an edited query takes precedence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.errors import StudioError
from engine.expressions.flink_sql import flink
from engine.model.pipeline import Node
from engine.model.type_texts import type_from
from engine.model.types import quote
from engine.reading.typed.computed import output_of
from engine.registry import configured, operators
from engine.script.flink_expressions import translated
from engine.script.statements import Cursor, Statement, raw, statements
from engine.script.tables import TableDdl
from engine.sql import exactly
from engine.sql import parsed as parsed_text
from engine.sql.algebra import Expr
from engine.sql.clauses.query import read
from engine.sql.dialect import Flink
from engine.sql.identifiers import identifier
from engine.sql.names import Names
from engine.sql.nodes.emitter import Emitter
from engine.sql.parsing import tokens_of
from engine.sql.rules import rewritten
from engine.sql.typed import typed

_ONLY: Final = ("from_", "expressions", "where", "kind", "hint", "distinct", "with_", "operation_modifiers")


def node_of_view(name: str, statement: Statement, names: Names, emitter: Emitter) -> list[str]:
    """Add the nodes of a view's query; the last one is `name`. Returns warnings. Raises SqlRejected."""
    cursor = Cursor(statement)
    cursor.expect("AS")
    tokens = cursor.tokens[cursor.at :]
    query = cursor.query()
    inputs = [names.tables[table.name].name for table in _mentioned(query) if table.name in names.tables]
    told = statement.directives
    for node in _candidates(name, query, tokens, statement, inputs, names, emitter):
        for candidate in _overlaid(node, told):
            if _fits(candidate, inputs, emitter) and _says(candidate, query, tokens, inputs, emitter):
                place_node(candidate, inputs, emitter, query)
                return []
    relation, emitted = emitter.read(query, names)
    last = exactly(emitter, emitted, relation.columns, query)
    if last in inputs or emitter.nodes[-1].id != last:
        columns = [(column.name, quote(column.name)) for column in emitter.derived[last].schema]
        last = emitter.add("project", {"columns": [{"name": a, "expression": b} for a, b in columns]}, [last], query)
    called(emitter, last, name)
    if "node" in told or "parameters" in told:
        return [f"{name}: the studio's comment above the view no longer fits its query; the query is used."]
    return []


def place_node(node: Node, inputs: Sequence[str], emitter: Emitter, at: Expr | None) -> None:
    """Add a node unchanged. Raises SqlRejected if it does not fit its inputs."""
    node_id = emitter.add(node.operator, node.parameters, inputs, at)
    called(emitter, node_id, node.id)


def called(emitter: Emitter, old: str, new: str) -> None:
    """Give the last node another id."""
    assert emitter.nodes[-1].id == old
    if old == new:
        return
    emitter.nodes[-1] = emitter.nodes[-1].model_copy(update={"id": new})
    emitter.bound[new] = emitter.bound.pop(old)
    derived = emitter.derived.pop(old)
    emitter.derived[new] = type(derived)(**{**derived.__dict__, "node": new})
    emitter.edges = [edge.model_copy(update={"target": new}) if edge.target == old else edge for edge in emitter.edges]


def query_of(node: Node, inputs: Sequence[str], emitter: Emitter) -> tuple[str, tuple[str, ...]]:
    """A node as a query over its inputs, and the parts of its expressions that Flink may not support."""
    operator = configured(node)
    assert isinstance(operator, Operator)
    schemas = [emitter.derived[name].schema for name in inputs]
    flink_operator, unknown = translated(operator, schemas, emitter.analyzer, node.id)
    assert isinstance(flink_operator, Operator)
    return flink_operator.flink_sql(list(zip(inputs, schemas, strict=True))), unknown


def parameters_of(node: Node | Operator | Source) -> dict[str, Any]:
    """All parameters of a node, including defaults; types in Spark's spelling."""
    operator = configured(node) if isinstance(node, Node) else node
    return _typed(operator.model_dump(mode="json"))


def plain_node(node: Node) -> Node:
    """The node with only the parameters that differ from their defaults; types in Spark's spelling."""
    spelled = configured(node.with_parameters(parameters_of(node)))
    return node.with_parameters(spelled.model_dump(mode="json", exclude_defaults=True))


def _typed(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters with one spelling for each type."""
    typed = dict(parameters)
    try:
        if isinstance(types := typed.get("types"), dict):
            typed["types"] = {name: type_from(type_).flink for name, type_ in types.items()}
        if isinstance(columns := typed.get("columns"), list):
            typed["columns"] = [
                {**entry, "type": type_from(entry["type"]).flink} if "type" in entry else entry for entry in columns
            ]
    except ValueError:
        # Invalid types are reported by the planner.
        return parameters
    return typed


def same(one: Expr, other: Expr) -> bool:
    """Whether two queries are the same except for layout, comments and backticks."""
    texts = (_with_plain_calls(tree).sql(dialect=Flink, identify=True, comments=False) for tree in (one, other))
    return next(texts) == next(texts)


def _with_plain_calls(tree: Expr) -> Expr:
    """The query with function names without backticks."""
    plain = tree.copy()
    for call in plain.find_all(exp.Anonymous):
        call.set("this", call.name)
    return plain


def _mentioned(query: Expr) -> list[exp.Table]:
    """The tables in a query, in the order of its text."""
    tables = [table for table in query.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    return sorted(tables, key=lambda table: int(table.this.meta.get("start", 0)))


def _says(node: Node, query: Expr, tokens: Sequence[Token], inputs: Sequence[str], emitter: Emitter) -> bool:
    """Whether a node is written as this query. tokens: those of the query."""
    try:
        text, _ = query_of(node, inputs, emitter)
        # Equal words are equal queries. This is the common case: the studio wrote most of the scripts that it reads.
        return _words(tokens_of(text)) == _words(tokens) or same(parsed_text(text), query)
    except StudioError:
        return False


def _words(tokens: Sequence[Token]) -> list[tuple[TokenType, str]]:
    """The kinds and texts of tokens, names without unnecessary backticks."""
    plain = [token.token_type is TokenType.IDENTIFIER and identifier(token.text) == token.text for token in tokens]
    return [
        (TokenType.VAR if is_plain else token.token_type, token.text)
        for token, is_plain in zip(tokens, plain, strict=True)
    ]


def _fits(node: Node, inputs: Sequence[str], emitter: Emitter) -> bool:
    """Whether a node is valid over these inputs."""
    try:
        operator = configured(node)
        if not isinstance(operator, Operator) or not operator.many_edges and len(operator.ports) != len(inputs):
            return False
        place_node(node, inputs, emitter.apart(), None)
    except StudioError:
        return False
    return True


def _overlaid(node: Node, told: Mapping[str, Any]) -> Iterator[Node]:
    """The node with the parameters of a directive, if there is one, then without them."""
    if isinstance(told.get("parameters"), dict):
        yield node.with_parameters({**node.parameters, **told["parameters"]})
    yield node


def _candidates(
    name: str,
    query: Expr,
    tokens: Sequence[Token],
    statement: Statement,
    inputs: Sequence[str],
    names: Names,
    emitter: Emitter,
) -> Iterator[Node]:
    """Nodes that the query may be: by its directive, by its text, or as it is read."""
    told = statement.directives.get("node")
    if isinstance(told, dict) and told.get("operator") in operators():
        yield Node(id=name, operator=told["operator"], parameters=told.get("parameters", {}))
    if len(inputs) == 1:
        simple = _simple(name, query, tokens, statement.text)
        if simple is not None:
            yield simple
    yield from _read(name, query, names, emitter)


def _simple(name: str, query: Expr, tokens: Sequence[Token], text: str) -> Node | None:
    """A projection or filter of a whole table, with expressions as written; None for other queries."""
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return None
    if any(value for key, value in query.args.items() if key not in _ONLY):
        return None
    source = query.args["from_"].this
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier) or query.args.get("distinct"):
        return None
    where = query.args.get("where")
    if where is not None:
        at = next(at for at, token in enumerate(tokens) if token.token_type is TokenType.WHERE)
        return Node(id=name, operator="filter", parameters={"condition": flink(raw(tokens[at + 1 :], text))})
    names = [item.alias if isinstance(item, exp.Alias) else item.unnest().name for item in query.expressions]
    items = _items(tokens)
    if len(items) != len(names):
        return None
    columns = [
        {"name": column, "expression": flink(raw(part, text))} for column, part in zip(names, items, strict=True)
    ]
    return Node(id=name, operator="project", parameters={"columns": columns})


def _items(tokens: Sequence[Token]) -> list[Sequence[Token]]:
    """The items between SELECT and FROM, each without its AS."""
    items: list[Sequence[Token]] = []
    start, depth = 1, 0
    for at, token in enumerate(tokens):
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        if depth or token.token_type not in (TokenType.COMMA, TokenType.FROM) or at == 0:
            continue
        part = tokens[start:at]
        has_name = len(part) > 2 and part[-2].token_type is TokenType.ALIAS
        items.append(part[:-2] if has_name else part)
        start = at + 1
        if token.token_type is TokenType.FROM:
            break
    return items


def _read(name: str, query: Expr, names: Names, emitter: Emitter) -> Iterator[Node]:
    """The single node that the query is read as, if there is one, apart from projections."""
    trial = emitter.apart()
    try:
        relation = rewritten(read(query, names), names)
        emitted = trial.emit(relation, relation.columns)
        exactly(trial, emitted, relation.columns, query)
    except StudioError:
        return
    new_nodes = trial.nodes[len(emitter.nodes) :]
    if new_nodes and not isinstance(configured(new_nodes[0]), Source):
        # Projections around it may only select the used columns; the drawn node is the one without them.
        yield from (node.model_copy(update={"id": name}) for node in new_nodes if node.operator != "project")
        if len(new_nodes) == 1:
            yield new_nodes[0].model_copy(update={"id": name})


def is_table(node: Node, ddl: TableDdl, emitter: Emitter) -> bool:
    """Whether a source is written as this table."""
    try:
        source = typed(node.id, configured(node), (), emitter.analyzer, emitter.folder)
        if not isinstance(source, Source):
            return False
        read_ = source.read_schema(node.id, emitter.folder)
        schema = output_of(source, node.id, emitter.folder, emitter.analyzer).schema
        flink_source, _ = translated(source, [read_], emitter.analyzer, node.id)
        assert isinstance(flink_source, Source)
        first = statements(flink_source.flink_sql(node.id, schema))[0]
    except (StudioError, ValueError):
        return False
    return [token.text for token in first.tokens] == [token.text for token in ddl.statement.tokens]


def names_of(node: Node, emitter: Emitter) -> tuple[str, ...]:
    """The columns of a source."""
    source = typed(node.id, configured(node), (), emitter.analyzer, emitter.folder)
    assert isinstance(source, Source)
    return output_of(source, node.id, emitter.folder, emitter.analyzer).schema.names
