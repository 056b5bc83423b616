"""Tables, projections, filters and unions as nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress
from typing import Any, Final

from sqlglot import exp

from engine.model.free_names import free_name
from engine.model.types import Array, Map, Row, Type, quote
from engine.registry import operators
from engine.sql.algebra import (
    Called,
    Computed,
    Expr,
    Filter,
    Relation,
    Repeated,
    Scan,
    Select,
    Union,
    Unnested,
    Values,
    mentioned,
    plain,
    ref,
)
from engine.sql.clauses.constants import NoConstant, value_of
from engine.sql.clauses.python_calls import WATERMARK
from engine.sql.clauses.table_functions import in_terms_of
from engine.sql.empty import Empty
from engine.sql.nodes.common_types import common_type
from engine.sql.nodes.emitter import Described, Emitted, Emitter
from engine.sql.nodes.processing_time import Arrived, is_processing_time, is_proctime, with_arrival_times
from engine.sql.rejected import SqlRejected
from engine.sql.rules.project_merge import selected


def scan(emitter: Emitter, relation: Scan, needed: frozenset[str]) -> Emitted:
    """The source itself."""
    emitter.source(relation.table.node)
    names = {name: name for name in relation.table.columns}
    return Emitted(relation.table.name, names, frozenset(relation.table.proctime))


def values(emitter: Emitter, relation: Values, needed: frozenset[str]) -> Emitted:
    """A separate source, whose rows come before all others, as in Flink.

    What is not known before a run is computed of the rows' numbers.
    """
    try:
        rows = [[value_of(item) for item in row] for row in relation.rows]
    except NoConstant:
        return select(emitter, _computed(relation), needed)
    columns = [
        {"name": name, "type": emitter.type_of_constants([row[at] for row in relation.rows])}
        for at, name in enumerate(relation.columns)
    ]
    node = emitter.constants({"columns": columns, "rows": rows, "in_query": True}, relation.at)
    return Emitted(node, {name: name for name in relation.columns})


def _computed(relation: Values) -> Select:
    numbers = [exp.Literal.number(at) for at in range(len(relation.rows))]
    items = [
        exp.Case(
            this=ref(_NUMBER),
            ifs=[exp.If(this=number.copy(), true=value) for number, value in zip(numbers, values, strict=True)],
        )
        for values in zip(*relation.rows, strict=True)
    ]
    of_rows = Values((_NUMBER,), tuple((number,) for number in numbers), relation.at)
    return Select(of_rows, tuple(zip(relation.columns, items, strict=True)))


_NUMBER: Final = "n"


def select(emitter: Emitter, relation: Select, needed: frozenset[str]) -> Emitted:
    """A projection of the used items; if all of them are columns, only other names without a node."""
    items = [(name, item) for name, item in relation.items if name in needed]
    proctimes = {name for name, item in items if is_proctime(item)}
    used = frozenset().union(*(mentioned(item) for _, item in items)) if items else frozenset()
    emitted = emitter.emit(relation.input, used)
    columns = {name: column for name, item in items if (column := plain(item)) is not None}
    if len(columns) + len(proctimes) == len(items):
        relabelled = emitted.renamed(columns)
        return Emitted(relabelled.node, relabelled.names, relabelled.arrival | proctimes)
    arrival = proctimes | {name for name, column in columns.items() if column in emitted.arrival}
    writer = emitter.writer(emitted)
    computed = [(name, writer.result(item)) for name, item in items if name not in arrival]
    node = emitter.project(emitted.node, computed, relation.items[0][1])
    return Emitted(node, {name: name for name, _ in computed}, frozenset(arrival))


def filter_(emitter: Emitter, relation: Filter, needed: frozenset[str]) -> Emitted:
    """A filter."""
    emitted = emitter.emit(relation.input, needed | mentioned(relation.condition))
    condition = emitter.writer(emitted).write(relation.condition)
    node = emitter.add("filter", {"condition": condition}, [emitted.node], relation.condition)
    return Emitted(node, emitted.names, emitted.arrival)


def union(emitter: Emitter, relation: Union, needed: frozenset[str]) -> Emitted:
    """A union of projections with the same names and types."""
    places = enumerate(relation.columns)
    arrival = {
        name for at, name in places if all(is_processing_time(part, part.columns[at]) for part in relation.inputs)
    }
    stored = [name for name in relation.columns if name not in arrival]
    columns = [name for name in stored if name in needed] or stored[:1]
    relation = replace(relation, inputs=tuple(_with_values(given, relation, columns) for given in relation.inputs))
    if relation.apart is not None and _is_cast_apart(emitter, relation, columns):
        return union(emitter, relation.apart, needed)
    with_rows = [not isinstance(given, Empty) for given in relation.inputs]
    # A branch without rows counts for the common types only.
    branches = [
        emitter.described(given, columns)
        if isinstance(given, Empty)
        else Described(emitter, emitter.emit(given, columns))
        for given in relation.inputs
    ]
    types = [branch.types(columns) for branch in branches]
    common = _common_types(types, columns, relation)
    nodes: list[str] = []
    for branch, own in compress(zip(branches, types, strict=True), with_rows):
        part = branch.emitted
        items = [
            (name, column if type_.is_held_as(target) else emitter.cast(column, target))
            for name, type_, target in zip(columns, own, common, strict=True)
            for column in [quote(part.names[name])]
        ]
        is_same = emitter.schema(part).names == tuple(columns) and all(map(Type.is_held_as, own, common))
        nodes.append(
            part.node if is_same and part.node not in nodes else emitter.project(part.node, items, relation.at)
        )
    node = nodes[0] if len(nodes) == 1 else emitter.add("union", {}, nodes, relation.at)
    return Emitted(node, {name: name for name in columns}, frozenset(arrival & needed))


def _with_values(given: Relation, relation: Union, columns: Sequence[str]) -> Relation:
    """An input of a union, with recorded times in its processing times in whose place other inputs have values."""
    for name, own in zip(relation.columns, given.columns, strict=True):
        if name in columns and is_processing_time(given, own):
            given = with_arrival_times(given, own, relation.at)
    return given


def _is_cast_apart(emitter: Emitter, relation: Union, columns: Sequence[str]) -> bool:
    """Whether inputs of a distinct union in this one have another common type than all inputs."""
    types = [emitter.described(given, columns).types(columns) for given in relation.inputs]
    common = _common_types(types, columns, relation)
    own = [zip(*(types[at] for at in places), strict=True) for places in relation.distinct]
    return not all(
        (type_ := common_type(column)) and type_.is_held_as(all_)
        for of_distinct in own
        for column, all_ in zip(of_distinct, common, strict=True)
    )


def _common_types(types: Sequence[Sequence[Type]], columns: Sequence[str], relation: Union) -> list[Type]:
    """By column, the common type of all inputs. Raises SqlRejected if there is none."""
    return [_common(column, name, relation) for name, column in zip(columns, zip(*types, strict=True), strict=True)]


def repeated(emitter: Emitter, relation: Repeated, needed: frozenset[str]) -> Emitted:
    """Each row, repeated as often as its `times` column says."""
    emitted = emitter.emit(relation.input, relation.input.columns)
    node = emitter.add("repeat", {"times_column": emitted.names[relation.times]}, [emitted.node], relation.at)
    return Emitted(node, {name: emitted.names[name] for name in relation.columns})


def unnested(emitter: Emitter, relation: Unnested, needed: frozenset[str]) -> Emitted:
    """A row per element. A map with a single name is a multiset: each value is repeated by its count."""
    if mentioned(relation.collection):
        # Flink computes all columns of the query below an UNNEST.
        emitted = emitter.emit(relation.input, relation.input.columns)
    else:
        # The sets of GROUPING SETS: Flink keeps only used columns below them.
        columns = [name for name in relation.input.columns if name in needed]
        below = selected(relation.input, tuple((name, ref(name)) for name in columns)) if columns else relation.input
        emitted = emitter.emit(below, columns)
        emitted = emitter.narrowed(emitted, columns, relation.at) if columns else emitted
    writer = emitter.writer(emitted)
    collection = writer.write(relation.collection)
    taken = list(emitter.schema(emitted).names)
    names: dict[str, str] = {}
    for name in relation.columns[len(relation.input.columns) :]:
        names[name] = free_name(name, [*taken, *names.values()])
    parameters: dict[str, Any] = {
        "collection": collection,
        "names": [names[name] for name in relation.names],
        "keeps_empty": relation.keeps_empty,
    }
    type_ = writer.type_of(collection)
    if isinstance(type_, Map):
        parameters["elements"] = "entries" if len(relation.names) > 1 else "copies"
    elif isinstance(type_, Array) and isinstance(type_.element, Row):
        parameters["fields"] = _fields(type_.element, relation)
    if relation.position is not None:
        parameters["position"] = names[relation.position]
    node = emitter.add("unnest", parameters, [emitted.node], relation.at)
    return Emitted(node, {**emitted.names, **names}, emitted.arrival)


def _fields(type_: Row, relation: Unnested) -> list[str]:
    """The fields of a row, which become columns. Raises SqlRejected if their number is not that of the names."""
    fields = [name for name, _ in type_.fields]
    if len(fields) != len(relation.names):
        message = (
            f"the rows have the fields {', '.join(fields)}. Name them all: UNNEST(...) AS u ({', '.join(fields)})."
        )
        raise SqlRejected(message, relation.at)
    return fields


def computed(emitter: Emitter, relation: Computed, needed: frozenset[str]) -> Emitted:
    """A node per call."""
    used = frozenset().union(*(mentioned(call) for _, call in relation.calls), needed)
    emitted = emitter.emit(relation.input, used & frozenset(relation.input.columns))
    for name, call in relation.calls:
        if call.name.upper() == WATERMARK:
            emitted = _with_watermark(emitter, emitted, name, call)
            continue
        function = emitter.functions[call.name.upper()]
        writer = emitter.writer(emitted)
        result = emitter.free_name(name, emitted)
        parameters = {
            "code": function.code,
            # Without a name the last function is called.
            "function": "" if function.is_last else function.function,
            "arguments": [{"expression": writer.write(argument)} for argument in call.expressions],
            "name": result,
            "type": function.type,
        }
        node = emitter.add("python_function", parameters, [emitted.node], call)
        emitted = Emitted(node, {**emitted.names, name: result}, emitted.arrival)
    return emitted


def _with_watermark(emitter: Emitter, emitted: Emitted, name: str, call: Expr) -> Emitted:
    """CURRENT_WATERMARK(rowtime). Raises SqlRejected if the argument is not an event time."""
    column = plain(call.expressions[0]) if len(call.expressions) == 1 else None
    schema = emitter.schema(emitted)
    if column is None or column not in emitted.names or schema.column(emitted.names[column]).time is None:
        message = f"{WATERMARK} takes an event time: a column with a WATERMARK, as it is."
        raise SqlRejected(message, call)
    result = emitter.free_name(name, emitted)
    node = emitter.add("current_watermark", {"name": result}, [emitted.node], call)
    return Emitted(node, {**emitted.names, name: result}, emitted.arrival)


def arrived(emitter: Emitter, relation: Arrived, needed: frozenset[str]) -> Emitted:
    """The used columns and the time at which each change comes."""
    columns = [name for name in relation.input.columns if name in needed]
    emitted = emitter.narrowed(emitter.emit(relation.input, columns), columns, relation.at)
    time = emitter.free_name(relation.name, emitted)
    node = emitter.add("processing_time", {"name": time}, [emitted.node], relation.at)
    return Emitted(node, {**emitted.names, relation.name: time}, emitted.arrival)


def called(emitter: Emitter, relation: Called, needed: frozenset[str]) -> Emitted:
    """The called operator, over all columns of its inputs."""
    inputs = [_in_order(emitter, input_, relation.at) for input_ in relation.inputs]
    parameters = in_terms_of(operators()[relation.operator], relation.parameters, inputs[0].names)
    node = emitter.add(relation.operator, parameters, [input_.node for input_ in inputs], relation.at)
    # The order of arrival is no column of a node.
    arrival = frozenset().union(*(input_.arrival for input_ in inputs)) & frozenset(relation.columns)
    columns = [name for name in relation.columns if name not in arrival]
    return Emitted(node, dict(zip(columns, emitter.derived[node].schema.names, strict=True)), arrival)


def _in_order(emitter: Emitter, relation: Relation, at: Expr) -> Emitted:
    """A relation as a node that has just its columns, in their order: an operator passes on what its input has."""
    emitted = emitter.emit(relation, relation.columns)
    names = [emitted.names[name] for name in relation.columns if name in emitted.names]
    if list(emitter.schema(emitted).names) == names:
        return emitted
    columns = [name for name in relation.columns if name in emitted.names]
    node = emitter.project(emitted.node, [(name, quote(emitted.names[name])) for name in columns], at)
    return Emitted(node, {name: name for name in columns}, emitted.arrival)


def _common(types: tuple[Type, ...], name: str, relation: Union) -> Type:
    """The common type of a column over all inputs. Raises SqlRejected if there is none."""
    if (common := common_type(types)) is not None:
        return common
    listed = " and ".join(sorted({type_.flink for type_ in types}))
    message = f"the column {name!r} is {listed} on different sides of the set operation. Cast them to one type."
    raise SqlRejected(message, relation.at)
