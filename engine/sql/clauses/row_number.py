"""OVER: row numbers, whose range comes from an outer condition, and aggregates over a frame."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from engine.aggregates.registry import functions
from engine.errors import available
from engine.functions.refused import REFUSED
from engine.model.free_names import free_name
from engine.sql.aggregate_calls import aggregate_function
from engine.sql.algebra import Expr, Named, Numbered, Over, Relation, Select, SortKey, is_free, mentioned, plain, ref
from engine.sql.rejected import SqlRejected

NUMBERING = ("ROW_NUMBER", "RANK", "DENSE_RANK")

Item = tuple[str | None, Expr]


def numbered(relation: Relation, items: list[Item], query: exp.Select) -> tuple[Relation, list[Item]]:
    """The relation with a column per window function of the select list, and the list with these columns."""
    items = [(name, item.copy().transform(_with_default, copy=False)) for name, item in items]
    if any(_is_by_row(window) for _, item in items for window in item.find_all(exp.Window)):
        # A row number counts rows: next to a ROWS frame it is computed over the same frame.
        items = [(name, item.copy().transform(_by_row, copy=False)) for name, item in items]
    windows = [window for _, item in items for window in item.find_all(exp.Window)]
    if not windows:
        return relation, items
    first = windows[0]
    if any(not _same_window(window, first) for window in windows):
        message = "all OVER windows of one SELECT have to be the same. Put the others into a query around this one."
        raise SqlRejected(message, next(window for window in windows if not _same_window(window, first)))
    is_narrow = query.args.get("qualify") is not None or not all(_is_free(item) for _, item in items)
    if is_narrow:
        relation, items = _narrowed(relation, items)
    relation, partition, order = _prepared(relation, first)
    named_windows: list[tuple[str, exp.Window]] = []
    for name, item in items:
        for window in item.find_all(exp.Window):
            if all(window != earlier for _, earlier in named_windows):
                wanted = name if name is not None and item.unnest() == window else f"EXPR${len(named_windows)}"
                taken = [*relation.columns, *(name for name, _ in named_windows)]
                named_windows.append((free_name(wanted, taken), window))
    functions = {window.this.name.upper() for _, window in named_windows if isinstance(window.this, exp.Anonymous)}
    is_alone = len(named_windows) == 1
    if functions & set(NUMBERING) and (is_alone or ("ROW_NUMBER" in functions and not _is_by_row(first))):
        if len(named_windows) > 1:
            message = "a row number must be the only window function of its SELECT. Put the others into another query."
            raise SqlRejected(message, named_windows[1][1])
        (name, window), *_ = named_windows
        relation = Numbered(
            input=relation,
            function=window.this.name.upper(),
            partition=partition,
            order=order,
            name=name,
            at=window,
            is_narrow=is_narrow,
        )
    else:
        calls = tuple((name, _call(window)) for name, window in named_windows)
        relation = Over(relation, calls, partition, order, first.args.get("spec"), first, is_narrow)

    def swap(node: Expr) -> Expr:
        for column, window in named_windows:
            if node == window:
                return ref(column, node)
        return node

    return relation, [(name, item.copy().transform(swap, copy=False)) for name, item in items]


def sort_keys(order: exp.Order | None, at: Expr) -> tuple[SortKey, ...]:
    """The keys of ORDER BY, with NULL lowest by default. Raises SqlRejected without ORDER BY."""
    if order is None:
        message = "ORDER BY is missing: it says which row comes first."
        raise SqlRejected(message, at)
    keys: list[SortKey] = []
    for item in order.expressions:
        descending = bool(item.args.get("desc"))
        first = bool(item.args.get("nulls_first"))
        keys.append(SortKey(item.this, descending, None if first is not descending else first))
    return tuple(keys)


def with_columns(relation: Relation, expressions: Sequence[Expr]) -> tuple[Relation, tuple[str, ...]]:
    """The relation with a column per expression, computed unless it is a column already, and their names."""
    names: list[str] = []
    added: list[Named] = []
    for expression in expressions:
        name = plain(expression)
        if name is None:
            existing = next((name for name, value in added if value == expression), None)
            name = existing or free_name(f"EXPR${len(added)}", (*relation.columns, *(name for name, _ in added)))
            if existing is None:
                added.append((name, expression))
        names.append(name)
    if not added:
        return relation, tuple(names)
    passed_on = tuple((name, ref(name)) for name in relation.columns)
    return Select(relation, (*passed_on, *added)), tuple(names)


def _is_free(item: Expr) -> bool:
    """Whether a projection of an item costs Flink nothing: it and the arguments of its window function are columns."""
    bare = item.unnest()
    if not isinstance(bare, exp.Window):
        return is_free(bare)
    order = bare.args.get("order")
    keys = [key.this for key in order.expressions] if order is not None else []
    arguments = [
        argument
        for part in bare.this.iter_expressions()
        for argument in (part.expressions if isinstance(part, exp.Distinct) else [part])
    ]
    return all(is_free(part) for part in (*arguments, *(bare.args.get("partition_by") or ()), *keys))


def _narrowed(relation: Relation, items: list[Item]) -> tuple[Relation, list[Item]]:
    """The relation as a projection to the columns that the items read and to what is computed beside the windows.

    Source: Calcite ProjectToWindowRule, Flink ProjectWindowTransposeRule.
    """
    computed: list[Named] = []

    def without(node: Expr) -> Expr:
        """What a node is over the projection: its parts without windows that cost something become columns."""
        if isinstance(node, exp.Window):
            return node
        if node.find(exp.Window) is None and not isinstance(node, exp.If):
            if is_free(node) or not mentioned(node):
                return node
            column = next((name for name, value in computed if value == node), None)
            if column is None:
                column = free_name(f"EXPR${len(computed)}", (*relation.columns, *(name for name, _ in computed)))
                computed.append((column, node.copy()))
            return ref(column, node)
        for part in list(node.iter_expressions()):
            part.replace(without(part))
        return node

    items = [(name, without(exp.Paren(this=item.copy())).unnest()) for name, item in items]
    read = frozenset().union(*(mentioned(item) for _, item in items))
    passed_on = tuple((name, ref(name)) for name in relation.columns if name in read)
    return Select(relation, (*passed_on, *computed)), items


def _prepared(relation: Relation, window: exp.Window) -> tuple[Relation, tuple[str, ...], tuple[SortKey, ...]]:
    keys = sort_keys(window.args.get("order"), window)
    partition = window.args.get("partition_by") or ()
    relation, names = with_columns(relation, [*partition, *(key.expression for key in keys)])
    columns = tuple(
        SortKey(ref(name, key.expression), key.descending, key.nulls_first)
        for name, key in zip(names[len(partition) :], keys, strict=True)
    )
    return relation, names[: len(partition)], columns


def _with_default(node: Expr) -> Expr:
    """LAG(v, n, d): the default d if there are fewer than n previous rows."""
    if not isinstance(node, exp.Window) or not isinstance(node.this, exp.Anonymous) or len(node.this.expressions) != 3:
        return node
    function = aggregate_function(node.this)
    if function is None or not function.has_offset:
        return node
    value, offset, default = node.this.expressions
    lag, rows = node.copy(), node.copy()
    lag.this.set("expressions", [value, offset])
    rows.set("this", row_count())
    enough = exp.GT(this=rows, expression=offset.copy())
    return exp.Case(ifs=[exp.If(this=enough, true=lag)], default=default.copy())


def _is_by_row(window: exp.Window) -> bool:
    """Whether its frame is ROWS from UNBOUNDED PRECEDING to CURRENT ROW."""
    spec = window.args.get("spec")
    if spec is None or str(spec.args.get("kind")).upper() != "ROWS":
        return False
    start, end = (str(spec.args.get(part) or "").upper() for part in ("start", "end"))
    return start == "UNBOUNDED" and end in ("", "CURRENT ROW")


def _by_row(node: Expr) -> Expr:
    """ROW_NUMBER with its implicit frame written out."""
    if isinstance(node, exp.Window) and isinstance(node.this, exp.Anonymous) and node.this.name.upper() == "ROW_NUMBER":
        node.set("spec", exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"))
    return node


def _same_window(one: exp.Window, other: exp.Window) -> bool:
    parts = ("partition_by", "order", "spec")
    return all(one.args.get(part) == other.args.get(part) for part in parts)


def row_count() -> Expr:
    """COUNT(*), for every numbering function. With the default frame, rows of one time get the last of their ranks."""
    return exp.Anonymous(this="COUNT", expressions=[exp.Star()])


def _call(window: exp.Window) -> Expr:
    call = window.this
    if isinstance(call, exp.Anonymous) and call.name.upper() in NUMBERING:
        return row_count()
    bare = call.this if isinstance(call, exp.Filter) else call
    if aggregate_function(bare) is None:
        name = bare.name.upper() if isinstance(bare, exp.Anonymous) else ""
        names = (*NUMBERING, *sorted(functions()))
        message = REFUSED.get(name, f"{bare.sql()} cannot be used with OVER. {available(bare.name, names)}.")
        raise SqlRejected(message, window)
    aggregate: Expr = call
    return aggregate
