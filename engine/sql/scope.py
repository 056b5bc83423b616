"""The columns that a query can name, and the binding of expressions to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from engine.errors import unknown_name
from engine.functions.refused import ELSEWHERE, REFUSED, WITHOUT_PARENTHESES
from engine.model.types import Row, Type
from engine.sql.algebra import Expr, Relation, Scan, Windowed, ref
from engine.sql.clauses.row_columns import row_type_of
from engine.sql.rejected import SqlRejected


def _paths(type_: Type | None, name: str) -> Iterator[tuple[str, ...]]:
    """The ways to the fields of a name in a row; within a row that has it, no other is looked for."""
    fields = dict(type_.fields) if isinstance(type_, Row) else {}
    if name in fields:
        yield (name,)
        return
    for field, inner in fields.items():
        for path in _paths(inner, name):
            yield (field, *path)


@dataclass(frozen=True)
class Visible:
    """A column that a query can name: the table's alias, its name there, and its name in the relation.

    is_hidden: `*` does not have it.
    """

    table: str | None
    name: str
    column: str
    is_hidden: bool = False


def _ambiguous(name: str, paths: Sequence[tuple[str | None, ...]], at: Expr) -> SqlRejected:
    """The error about a name of several columns. paths: for each of them the name of its table, and the rest."""
    whole = [".".join(filter(None, parts)) for parts in paths]
    if len({*whole}) == len(paths) and all(table for table, *_ in paths):
        return SqlRejected(f"the column {name!r} is ambiguous. Write {' or '.join(whole)}.", at)
    where = f": {paths[0][0]} has several" if paths[0][0] else ""
    return SqlRejected(f"the column {name!r} is ambiguous{where}. Give each a name of its own, with AS.", at)


@dataclass(frozen=True)
class Scope:
    """A relation and the names by which a query sees its columns."""

    relation: Relation
    visible: tuple[Visible, ...]

    @classmethod
    def of(cls, relation: Relation, alias: str | None) -> Scope:
        """All columns of a relation under one alias."""
        below = relation.input if isinstance(relation, Windowed) else relation
        hidden = below.table.hidden if isinstance(below, Scan) else ()
        return cls(relation, tuple(Visible(alias, name, name, name in hidden) for name in relation.columns))

    def renamed(self, names: Mapping[str, str]) -> tuple[Visible, ...]:
        """The same visible names over renamed columns. names: by column, its new name."""
        return tuple(replace(entry, column=names[entry.column]) for entry in self.visible)

    def has_table(self, name: str) -> bool:
        """Whether a table has this alias."""
        return any(entry.table == name for entry in self.visible)

    def star(self, table: str | None, at: Expr) -> tuple[Visible, ...]:
        """The columns of `*` or `t.*`. Raises SqlRejected for an unknown table."""
        columns = tuple(entry for entry in self.visible if table is None or entry.table == table)
        if not columns:
            raise self._unknown_table(str(table), at)
        return tuple(entry for entry in columns if not entry.is_hidden)

    def find(self, column: exp.Column) -> Visible | None:
        """The visible column of a name, or None for an unknown name. Raises SqlRejected for an ambiguous one.

        For a field of a row, it is the row's column.
        """
        resolved = self._resolved(column)
        return resolved[0] if resolved is not None else None

    def value_of(self, column: exp.Column) -> Expr | None:
        """A bound column or field, or None for an unknown name. Raises SqlRejected for an ambiguous one."""
        resolved = self._resolved(column)
        if resolved is None:
            return None
        value: Expr = ref(resolved[0].column, column)
        for field in resolved[1]:
            value = exp.Dot(this=value, expression=field.copy())
        return value

    def _resolved(self, column: exp.Column) -> tuple[Visible, Sequence[Expr]] | None:
        """The column of a name's first parts, and its other parts as fields. Tables take precedence over columns.

        A name of no column is that of a field, if one of the rows has it, at any depth (Calcite's PEEK_FIELDS).
        """
        parts = column.parts[self._database_of(column.parts) :]
        table = parts[0].name if len(parts) > 1 and self.has_table(parts[0].name) else ""
        name, *fields = parts[1:] if table else parts
        entry = self._named(name.name, table, fields, column)
        return (entry, fields) if entry is not None else self._peeked([name, *fields], table, column)

    def _database_of(self, parts: Sequence[Expr]) -> int:
        """How many parts before a table are its database, and the catalog of this."""
        if any(parts[0].name in (one.table, one.name) for one in self.visible):
            return 0
        return next((at for at in (1, 2) if len(parts) > at + 1 and self.has_table(parts[at].name)), 0)

    def _peeked(self, names: Sequence[Expr], table: str, column: exp.Column) -> tuple[Visible, Sequence[Expr]] | None:
        """The row with a field of this name, and the fields on the way to it, which are the fewest."""
        entries = {
            (entry.column, *path): entry
            for entry in self.visible
            if not table or entry.table == table
            for path in _paths(row_type_of(self.relation, ref(entry.column, column)), names[0].name)
        }
        nearest = [path for path in entries if len(path) == min(map(len, entries))]
        if len(nearest) > 1:
            rest = [part.name for part in names[1:]]
            whole = [(entries[path].table, entries[path].name, *path[1:], *rest) for path in nearest]
            raise _ambiguous(names[0].name, whole, column)
        for path in nearest:
            return entries[path], (*(exp.to_identifier(name, quoted=True) for name in path[1:-1]), *names)
        return None

    def _named(self, name: str, table: str, fields: Sequence[Expr], column: exp.Column) -> Visible | None:
        matches = [entry for entry in self.visible if entry.name == name and (not table or entry.table == table)]
        if len(matches) > 1 and len({entry.column for entry in matches}) > 1:
            raise _ambiguous(
                name, [(entry.table, name, *(field.name for field in fields)) for entry in matches], column
            )
        return matches[0] if matches else None

    def bind(self, expression: Expr, before: Callable[[exp.Column], Expr | None] = lambda _: None) -> Expr:
        """The expression with bound columns. Raises SqlRejected for an unknown column and for a sub-query.

        before: what stands for a name in place of the column that it would be.
        """

        def swap(node: Expr) -> Expr:
            if isinstance(node, exp.Exists | exp.Select | exp.SetOperation):
                message = (
                    "a sub-query is supported in FROM, and in SELECT, WHERE and HAVING for one value, as [NOT] EXISTS "
                    "(...) and as x [NOT] IN (...); not here. Write it as a join."
                )
                raise SqlRejected(message, node)
            if not isinstance(node, exp.Column):
                return node
            value = before(node) or self.value_of(node)
            if value is None:
                raise self.unknown(node)
            return value

        return expression.copy().transform(swap, copy=False)

    def unknown(self, column: exp.Column) -> SqlRejected:
        """The error for an unknown column, with the known columns."""
        call = column.parent
        if isinstance(call, exp.Anonymous) and call.name.upper() in ELSEWHERE:
            return SqlRejected(ELSEWHERE[call.name.upper()], call)
        if not column.table and column.name.upper() in WITHOUT_PARENTHESES:
            return SqlRejected(REFUSED[column.name.upper()], column)
        # Behind a table and a column, other parts are fields.
        table, *parts = [part.name for part in column.parts] if column.table else ["", column.name]
        names = dict.fromkeys(entry.name for entry in self.visible if not table or entry.table == table)
        name = f"{table}.{parts[0]}" if table else parts[0]
        if not names:
            return self._unknown_table(table, column)
        if column.name.lower() in ("window_start", "window_end", "window_time"):
            return SqlRejected(
                f"the column {column.name!r} is made by a window table function. Write FROM TABLE(TUMBLE(TABLE t, "
                "DESCRIPTOR(ts), INTERVAL '1' MINUTE)) in place of FROM t.",
                column,
            )
        return SqlRejected(f"{unknown_name('column', name, names)}.", column)

    def _unknown_table(self, name: str, at: Expr) -> SqlRejected:
        tables = dict.fromkeys(entry.table for entry in self.visible if entry.table)
        return SqlRejected(f"{unknown_name('table', name, tables)}.", at)
