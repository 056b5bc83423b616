"""The pipeline under construction: nodes and edges, with the derived output of every node.

A new node's output is derived at once. Later nodes thus know its columns, their types, the event time, and
whether rows are ever retracted: ROW_NUMBER over an event time is a deduplication if they are not, and a Top N
if they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from engine.contract.above import above_of, why_timeless
from engine.contract.derived import Derived
from engine.contract.operator import Analyzer, Operator
from engine.contract.parameters import Parameters
from engine.contract.source import Source
from engine.errors import ExpressionError, StudioError, shortened
from engine.expressions.flink_sql import FlinkSql, as_typed, digits_in
from engine.functions.spark_text import as_type, spark_sql
from engine.joins.sides import seen
from engine.model.combined_watermark import NOTHING
from engine.model.free_names import free_id, free_name
from engine.model.pipeline import Edge, Node
from engine.model.schema import Schema
from engine.model.types import VOID, Timestamp, Type, quote
from engine.reading.typed.computed import output_of
from engine.registry import configured, operators
from engine.sql.algebra import Expr, Relation, SortKey, plain
from engine.sql.clauses.python_calls import Functions, computed_below
from engine.sql.clauses.query import read
from engine.sql.flink_text import Typed, told_in_flink
from engine.sql.functions.digits import digits_of
from engine.sql.functions.expressions import Writer
from engine.sql.identifiers import identifier
from engine.sql.in_flink import in_flink
from engine.sql.names import Names
from engine.sql.rejected import SqlRejected
from engine.sql.rules import rewritten
from engine.sql.typed import typed


@dataclass(frozen=True)
class Emitted:
    """A relation as a node. names: by column of the relation, its name in the node's output.

    arrival: the columns that represent the order of arrival; they are not in the schema.
    """

    node: str
    names: Mapping[str, str]
    arrival: frozenset[str] = frozenset()

    def renamed(self, names: Mapping[str, str]) -> Emitted:
        """The same node with other column names. names: by new name, the current name."""
        return Emitted(
            self.node,
            {new: self.names[old] for new, old in names.items() if old in self.names},
            frozenset(new for new, old in names.items() if old in self.arrival),
        )


def order_by(key: SortKey, emitted: Emitted) -> dict[str, Any]:
    """A column of an order as a parameter of a node."""
    name = plain(key.expression)
    assert name is not None, "orders are columns by now"
    nulls = "lowest" if key.nulls_first is None else "first" if key.nulls_first else "last"
    return {"column": emitted.names[name], "descending": key.descending, "nulls": nulls}


Decided = TypeVar("Decided")
Make = Callable[["Emitter", Any, frozenset[str]], Emitted]


@dataclass(frozen=True)
class Described:
    """What the nodes of a relation give. emitter: the pipeline with these nodes."""

    emitter: Emitter
    emitted: Emitted

    @property
    def schema(self) -> Schema:
        """The columns of the output, by their names there."""
        return self.emitter.schema(self.emitted)

    def types(self, columns: Iterable[str]) -> list[Type]:
        """The types of columns of the relation."""
        return [self.schema.column(self.emitted.names[column]).type for column in columns]


@dataclass
class Emitter:
    """Makes nodes. makers: by kind of relation, the function that makes its nodes. functions: the Python functions.

    relations: by node, the relations whose rows it has, if not all of their columns. pinned: nodes that further queries
    will read, so that no projection replaces them. written: by node, the part of a query that it was made of. bound: by
    node, its operator with bound expressions. decisions: what `decided` knows.
    """

    analyzer: Analyzer
    folder: Path
    makers: Mapping[type, Make]
    options: Mapping[str, str] = field(default_factory=dict)
    functions: Functions = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    derived: dict[str, Derived] = field(default_factory=dict)
    relations: dict[str, list[Relation]] = field(default_factory=dict)
    pinned: set[str] = field(default_factory=set)
    written: dict[str, Expr | None] = field(default_factory=dict)
    bound: dict[str, Operator] = field(default_factory=dict)
    decisions: dict[tuple[str, int, frozenset[str]], tuple[Relation, Any]] = field(default_factory=dict)

    def emit(self, relation: Relation, needed: Iterable[str]) -> Emitted:
        """Make the nodes of a relation. needed: the columns that are used above it."""
        over_calls = computed_below(relation, self.functions)
        emitted = self.makers[type(over_calls)](self, over_calls, frozenset(needed))
        self.relations.setdefault(emitted.node, []).append(relation)
        return emitted

    def read(self, query: Expr, names: Names) -> tuple[Relation, Emitted]:
        """Make the nodes of a query. Raises SqlRejected, also for what the query names without using it."""
        names.unused.clear()
        relation = rewritten(read(query, names), names)
        emitted = self.emit(relation, relation.columns)
        for unused in names.unused:
            self.described(rewritten(unused, names), unused.columns)
        return relation, emitted

    def described(self, relation: Relation, needed: Iterable[str]) -> Described:
        """What the nodes of a relation would give, for what is decided by types. Raises SqlRejected."""

        def describe(apart: Emitter) -> Described:
            return Described(apart, apart.emit(relation, needed))

        return self.decided(describe, relation, frozenset(needed))

    def decided(self, decide: Callable[[Emitter], Decided], relation: Relation, needed: frozenset[str]) -> Decided:
        """What is decided with a relation's nodes made apart from this pipeline. They are made once for each decision:

        a relation stands below many others, each of which may ask about its own inputs.
        """
        key = (decide.__qualname__, id(relation), needed)
        if key not in self.decisions:
            # The relation is kept, so that no other one gets its identity.
            self.decisions[key] = relation, decide(self.apart())
        decision: Decided = self.decisions[key][1]
        return decision

    def apart(self) -> Emitter:
        """The same pipeline, to which nodes can be added that this one does not get."""
        return replace(
            self,
            nodes=list(self.nodes),
            edges=list(self.edges),
            derived=dict(self.derived),
            relations={node: list(of_node) for node, of_node in self.relations.items()},
            written=dict(self.written),
            bound=dict(self.bound),
        )

    def schema(self, emitted: Emitted) -> Schema:
        """The columns of a node's output."""
        return self.derived[emitted.node].schema

    def writer(self, emitted: Emitted) -> Writer:
        """A writer of expressions over a node's output."""
        return self.writer_over(self.schema(emitted), emitted.names, emitted.node)

    def writer_over(self, schema: Schema, names: Mapping[str, str], node: str = "") -> Writer:
        """A writer of expressions over columns. names: by column of a relation, its name among them."""

        def type_of(text: str) -> Type:
            try:
                return self.analyzer.type_of(text, schema, node, "")
            except ExpressionError as error:
                if not (isinstance(text, FlinkSql) and isinstance(text.said, Typed)):
                    raise
                raise SqlRejected(told_in_flink(error.reason, text), text.said.expression) from error

        return Writer(names, type_of, schema)

    def source(self, node: Node) -> None:
        """Add a source, once."""
        if node.id not in self.derived:
            operator = typed(node.id, configured(node), (), self.analyzer, self.folder)
            assert isinstance(operator, Source)
            output = output_of(operator, node.id, self.folder, self.analyzer)
            self.nodes.append(node)
            self.derived[node.id] = replace(output, above=node.id, node=node.id)

    def constants(self, parameters: Mapping[str, Any], at: Expr | None) -> str:
        """Add a source for rows that are written in the query, before all other sources."""
        node = Node(id=free_id("values", self._ids), operator="rows", parameters=dict(parameters))
        self.source(node)
        self.nodes.insert(0, self.nodes.pop())
        self.written[node.id] = at
        return node.id

    def type_of_constants(self, values: Sequence[Expr]) -> str:
        """The common type of the values in a column of VALUES, as documents have it. Raises SqlRejected for none."""
        nothing = Schema(())
        writer = Writer({}, lambda text: self.analyzer.type_of(text, nothing, "", ""))
        written = [writer.write(value) for value in values]
        try:
            type_ = writer.type_of(spark_sql("coalesce({})", written))
            if isinstance(type_, Timestamp):
                type_ = replace(type_, precision=max(digits_of(writer, value) for value in values))
            if type_ == VOID:
                message = "NULL alone has no type in VALUES. Give it one: CAST(NULL AS STRING)."
                raise SqlRejected(message, values[0])
            return type_.flink
        except StudioError as error:
            raise SqlRejected(error.sentence, values[0]) from error

    def add(self, operator: str, parameters: Mapping[str, Any], inputs: Sequence[str], at: Expr | None) -> str:
        """Add an operator over its inputs, in the order of its ports. Raises SqlRejected if it rejects them."""
        node = Node(id=free_id(operator, self._ids), operator=operator, parameters=dict(parameters))
        if operator not in operators():
            message = f"{operator.replace('_', ' ')} is not among the operators: {', '.join(operators())}."
            raise SqlRejected(message, at)
        operator_: Parameters | None = None
        try:
            derived_inputs = tuple(self.derived[name] for name in inputs)
            schemas = [input_.schema for input_ in derived_inputs]
            operator_ = configured(node, parameters)
            typed_operator = typed(node.id, operator_, schemas, self.analyzer, self.folder)
            assert isinstance(typed_operator, Operator)
            output = typed_operator.derive(node.id, derived_inputs, self.analyzer)
        except SqlRejected:
            raise
        except StudioError as error:
            raise SqlRejected(_told(error, [] if operator_ is None else operator_.expressions), at) from error
        if output.above == NOTHING:
            output = replace(output, above=above_of(typed_operator, node.id, derived_inputs))
        self.nodes.append(in_flink(node, operator_, seen(schemas), self.analyzer))
        self.bound[node.id] = typed_operator
        self.written[node.id] = at
        output = replace(output, node=node.id)
        if output.schema.event_time is None:
            # Nodes of views get the names that their users know later.
            told = f"The {typed_operator.title.lower()} above it"
            output = replace(output, timeless=why_timeless(told, typed_operator, output, derived_inputs))
        self.derived[node.id] = output
        ports = typed_operator.ports * len(inputs) if typed_operator.many_edges else typed_operator.ports
        self.edges += [
            Edge(source=name, target=node.id, target_port=port) for name, port in zip(inputs, ports, strict=False)
        ]
        return node.id

    def lost_time(self, node: str) -> str:
        """Where a node's rows lost their event time, and what helps; "" if no node above had one."""
        above = [node]
        for name in above:
            if self.derived[name].schema.event_time is not None:
                return self.derived[node].timeless
            above += self.inputs_of(name)
        return ""

    def node(self, node_id: str) -> Node:
        """A node that was added."""
        return next(node for node in self.nodes if node.id == node_id)

    def inputs_of(self, node: str) -> list[str]:
        """The inputs of a node, by port."""
        return [edge.source for edge in self.edges if edge.target == node]

    def input_of(self, node: str) -> str:
        """The input of a node, or the first one of several."""
        return self.inputs_of(node)[0]

    def passes_rows(self, node: str) -> bool:
        """Whether a node has the columns of its input, with the values that they have there."""
        return node in self.bound and self.bound[node].passes_rows

    def narrowed(self, emitted: Emitted, columns: Sequence[str], at: Expr | None = None) -> Emitted:
        """The same rows with only these columns, at least one: as in Flink, unused columns stay out of the state."""
        schema = self.schema(emitted)
        names = [emitted.names[column] for column in columns if column in emitted.names] or [schema.names[0]]
        wanted = [column.name for column in schema if column.name in names]
        if len(wanted) == len(schema):
            return emitted
        node = self.project(emitted.node, [(name, quote(name)) for name in wanted], at)
        return replace(emitted, node=node, names={a: b for a, b in emitted.names.items() if b in names})

    def project(self, node: str, columns: Sequence[tuple[str, str]], at: Expr | None = None) -> str:
        """Add a projection (names and Spark SQL expressions), merged with an unshared projection directly below."""
        below = self.node(node)
        is_shared = node in self.pinned or any(edge.source == node for edge in self.edges)
        if below.operator == "project" and not is_shared:
            merged = _merged(self.computed(node), columns)
            if merged is not None:
                (into,) = (edge for edge in self.edges if edge.target == node)
                self.nodes.remove(below)
                self.edges.remove(into)
                del self.derived[node]
                self.relations.pop(node, None)
                node, columns = into.source, merged
        items = [{"name": name, "expression": expression} for name, expression in columns]
        return self.add("project", {"columns": items}, [node], at)

    def computed(self, projection: str) -> dict[str, str]:
        """The columns of a projection with their bound expressions."""
        return {column.name: column.expression for column in getattr(self.bound[projection], "columns", ())}

    @property
    def _ids(self) -> list[str]:
        return [node.id for node in self.nodes]

    def cast(self, text: str, target: Type) -> str:
        """A quoted column, a literal, or what was written for the next node, as another type, as Spark casts it."""
        written, digits = as_type(text, target), digits_in(target)
        if isinstance(text, FlinkSql):
            return FlinkSql(f"CAST({text.flink} AS {target.flink})", written, digits) if text.is_flink else written
        value = identifier(text[1:-1].replace("``", "`")) if text.startswith("`") else text
        return FlinkSql(f"CAST({value} AS {target.flink})", written, digits)

    def free_name(self, wanted: str, emitted: Emitted) -> str:
        """A name that no column of a node has."""
        return free_name(wanted, self.schema(emitted).names)


def _told(error: StudioError, texts: Sequence[str]) -> str:
    """The sentence of an error about a node's parameters as one about the query. texts: its expressions."""
    if isinstance(error, ExpressionError):
        expression = told_in_flink(as_typed(error.expression), *texts)
        return f"{shortened(repr(expression))} cannot be used: {told_in_flink(error.reason, *texts)}"
    # The place in the query says more than the parameter.
    return told_in_flink(error.sentence.removeprefix(f"{error.field.rpartition('.')[0]}: "), *texts)


def _merged(below: Mapping[str, str], columns: Sequence[tuple[str, str]]) -> list[tuple[str, str]] | None:
    """The columns as expressions over the input of a projection; None if replacing whole texts is not enough."""
    expressions = {quote(name): expression for name, expression in below.items()}
    if all(name == expression for name, expression in expressions.items()):
        return list(columns)
    if all(expression in expressions for _, expression in columns):
        return [(name, expressions[expression]) for name, expression in columns]
    return None
