"""CREATE TABLE: columns, computed columns, METADATA, WATERMARK, PRIMARY KEY, WITH."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import TokenType, exp, parse_one
from sqlglot.tokenizer_core import Token

from engine.contract.declared_table import DeclaredTable, Filled, Metadata, Watermark
from engine.errors import unknown_name
from engine.model.schema import Column
from engine.model.type_texts import flink_type
from engine.model.types import STRING, Type
from engine.script.of_databases import of_databases
from engine.script.statements import Cursor, Statement, place_of_token, raw
from engine.sql.algebra import Expr, plain
from engine.sql.dialect import Flink
from engine.sql.functions.intervals import interval_ms
from engine.sql.parsing import DOUBLE_QUOTES
from engine.sql.rejected import SqlRejected

# A comment between the fields of a ROW, but not in a quoted name or text.
_COMMENT: Final = re.compile(r"(?:(?<=\s)|^)(?:--[^\n]*|/\*.*?\*/)", re.DOTALL)
# Flink's planner prints it; texts have no other one.
_CHARSET: Final = re.compile(r"\s+CHARACTER\s+SET\s+(?:`[^`]*`|\"[^\"]*\"|[\w-]+)", re.IGNORECASE)
_TYPES: Final = (
    "STRING, BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p, s), DATE, TIME(p), TIMESTAMP(p), "
    "TIMESTAMP_LTZ(p), BYTES, ARRAY<..>, MAP<.., ..>, MULTISET<..>, ROW<..>"
)
_STATEMENTS: Final = ("SELECT", "WITH", "INSERT", "CREATE", "SET", "DROP", "ALTER", "EXECUTE", "EXPLAIN", "SHOW")
_AFTER_TYPE: Final = ("NOT", "NULL", "METADATA", "PRIMARY KEY", "COMMENT", "CONSTRAINT", "FIRST", "AFTER")


@dataclass(frozen=True)
class Computed:
    """A column that is computed from other columns of the table."""

    name: str
    value: Expr


def filled(column: Filled) -> Computed:
    """A metadata column as one that is computed."""
    value: Expr = exp.Null() if column.text is None else exp.Literal.string(column.text)
    if column.column is not None:
        value = exp.column(column.column.name, quoted=True)
        if column.column.type.is_instant and column.type.is_number:
            # A number is not cast from an instant; as metadata, it has its seconds.
            value = exp.Anonymous(this="UNIX_TIMESTAMP", expressions=[cast_to(value, STRING)])
    return Computed(column.name, cast_to(value, column.type))


def cast_to(value: Expr, type_: Type) -> Expr:
    """A value as of a type."""
    cast = parse_one(f"CAST(NULL AS {type_.flink})", dialect=Flink)
    cast.set("this", value)
    return cast


@dataclass(frozen=True, kw_only=True)
class TableDdl(DeclaredTable):
    """A table as a script declares it. start_ms: when the clock of its generator starts.

    clocked: the processing times that have the values of the recorded clock. hidden: columns that `*` does not have.
    """

    statement: Statement
    computed: tuple[Computed, ...] = ()
    warnings: tuple[str, ...] = ()
    start_ms: int | None = None
    clocked: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()

    @property
    def written(self) -> tuple[Column, ...]:
        """The columns that an INSERT fills, in their order: the physical ones, and metadata that is not virtual."""
        columns = [*self.columns, *(Column(entry.name, entry.type) for entry in self.metadata if not entry.is_virtual)]
        return tuple(sorted(columns, key=lambda column: self.order.index(column.name)))

    @property
    def never_null(self) -> tuple[str, ...]:
        """The columns that are NOT NULL by type."""
        return (*self.not_null, *self.primary_key)

    @property
    def rows(self) -> tuple[tuple[str, Type], ...]:
        """The columns with ROW values, with their types."""
        return tuple((column.name, column.type) for column in self.columns if column.type.has_row)

    def rejected(self, sentence: str, option: str = "") -> SqlRejected:
        """An error about the table, with its place, or that of one of its options."""
        named = (token for token in self.statement.tokens if option and token.text == option)
        place = next(map(place_of_token, named), self.statement.place)
        return SqlRejected(f"{self.name}: {sentence}", place=place)

    def targets(self, named: Sequence[str], place: tuple[int, int]) -> tuple[str, ...]:
        """The columns that an INSERT fills: the named ones, or all. Raises SqlRejected for unknown or repeated names.

        place: of the INSERT.
        """
        columns = tuple(column.name for column in self.written)
        for at, name in enumerate(named):
            if name not in columns:
                message = f"{self.name}: {unknown_name('column', name, columns)}."
                raise SqlRejected(message, place=place)
            if name in named[:at]:
                message = f"{self.name}: the column {name!r} is named twice. Name it once."
                raise SqlRejected(message, place=place)
        return tuple(named) or columns


@dataclass
class Draft:
    """The elements of a table as they are read."""

    columns: list[Column]
    computed: list[Computed]
    keys: list[str]
    warnings: list[str]
    metadata: list[Metadata]
    order: list[str]
    not_null: list[str]
    watermark: Watermark | None = None

    @classmethod
    def empty(cls) -> Draft:
        """Without elements."""
        return cls([], [], [], [], [], [], [])


def create_table(statement: Statement) -> tuple[TableDdl, Cursor]:
    """The table of a CREATE [TEMPORARY] TABLE statement, up to LIKE, if that follows. Raises SqlRejected."""
    cursor = Cursor(statement)
    name = cursor.created("TABLE")
    for part in of_databases(statement.tokens):
        if not part.is_read:
            instead = f"write {part.instead} for it" if part.instead else "leave that out"
            message = (
                f"{name}: {part.word} is of another database's DDL, not of Flink's. Run the statement there, and read "
                f"its table with 'connector' = 'jdbc' or 'postgres-cdc'; in a table of Flink, {instead}."
            )
            raise cursor.rejected(message, part.first)
    draft = Draft.empty()
    has_columns = cursor.skip("(")
    if not has_columns and not any(token.text.upper() == "LIKE" for token in cursor.tokens):
        message = f"{name}: a table needs its columns: CREATE TABLE {name} (k STRING, v BIGINT) WITH (...)."
        raise cursor.rejected(message)
    while has_columns:
        element(cursor, draft, name)
        # A comma before the end is noted by the rules of what Flink would refuse.
        if not cursor.skip(",") or cursor.sees(")"):
            cursor.expect(")")
            break
    if cursor.skip("COMMENT"):
        cursor.take()
    if cursor.skip("DISTRIBUTED"):
        _skip_buckets(cursor)
    partition_by = _partitions(cursor, name) if cursor.skip("PARTITIONED", "BY") else ()
    options = options_of(cursor) if cursor.skip("WITH") else {}
    if not cursor.is_done and not cursor.sees("LIKE"):
        word = cursor.here.text
        if word.upper() in _STATEMENTS:
            message = f"{name}: a semicolon is missing before {word}."
        else:
            message = f"{name}: {word!r} is not supported after WITH (...). Declare the table without it."
        raise cursor.rejected(message)
    table = TableDdl(
        name=name,
        columns=tuple(draft.columns),
        computed=tuple(draft.computed),
        watermark=draft.watermark,
        primary_key=tuple(draft.keys),
        options=options,
        statement=statement,
        warnings=tuple(draft.warnings),
        metadata=tuple(draft.metadata),
        order=tuple(draft.order),
        not_null=tuple(draft.not_null),
        partition_by=partition_by,
    )
    return table, cursor


def _partitions(cursor: Cursor, name: str) -> tuple[str, ...]:
    """The names of the columns by which folders are made."""
    start = cursor.at
    try:
        return tuple(cursor.listed())
    except SqlRejected as error:
        if cursor.at - start == 2:
            message = (
                f"{name}: PARTITIONED BY takes names of columns. A column with its type there, and TBLPROPERTIES, are "
                "of Hive's dialect: declare the column among the others, and write WITH (...)."
            )
            raise cursor.rejected(message) from error
        raise


def _skip_buckets(cursor: Cursor) -> None:
    """BY [HASH|RANGE] (k) and INTO n BUCKETS: where a connector keeps rows, which no query sees."""
    if cursor.skip("BY"):
        if not cursor.sees("("):
            cursor.take()
        list(cursor.listed())
    if cursor.skip("INTO"):
        cursor.take()
        cursor.expect("BUCKETS")
    elif cursor.sees("WITH") and not cursor.sees("WITH", "("):
        message = "the number of buckets follows INTO: DISTRIBUTED BY HASH(k) INTO 4 BUCKETS."
        raise cursor.rejected(message)


def element(cursor: Cursor, draft: Draft, table: str) -> None:
    """Read one element between the parentheses: a column, a key or the watermark. Raises SqlRejected."""
    if cursor.skip("CONSTRAINT"):
        cursor.name()
    if cursor.skip("PRIMARY", "KEY"):
        draft.keys += cursor.listed()
        cursor.skip("NOT", "ENFORCED")
    elif cursor.sees("WATERMARK", "FOR"):
        draft.watermark = _watermark(cursor, draft)
    else:
        _column(cursor, draft, table)


def _watermark(cursor: Cursor, draft: Draft) -> Watermark:
    cursor.expect("WATERMARK", "FOR")
    column = cursor.name()
    cursor.expect("AS")
    start = cursor.at
    value = cursor.expression().unnest()
    if plain(value) == column:
        return Watermark(column, 0)
    if isinstance(value, exp.Sub) and plain(value.this) == column:
        return Watermark(column, interval_ms(value.expression))
    if isinstance(value, exp.Anonymous) and value.name.upper() == "SOURCE_WATERMARK":
        draft.warnings.append(
            f"SOURCE_WATERMARK() is what a connector of Flink's knows of its rows; here the watermark is the latest "
            f"{column}. Where rows come late, write {column} - INTERVAL '5' SECOND."
        )
        return Watermark(column, 0)
    tokens = cursor.tokens[start : cursor.at]
    message = (
        f"the watermark {raw(tokens, cursor.text)} is not supported. Write {column}, or {column} - INTERVAL '5' SECOND."
    )
    raise cursor.rejected(message, tokens[0])


def _column(cursor: Cursor, draft: Draft, table: str) -> None:
    name = cursor.take().text
    draft.order.append(name)
    if cursor.skip("AS"):
        draft.computed.append(Computed(name, cursor.expression("COMMENT")))
    else:
        type_ = _type(cursor)
        # Part of the type; a message without the value has none of it anyway.
        if cursor.sees("NOT", "NULL", "METADATA") or cursor.sees("NULL", "METADATA"):
            cursor.skip("NOT")
            cursor.skip("NULL")
        if cursor.skip("METADATA"):
            key = cursor.take().text if cursor.skip("FROM") else name
            is_virtual = cursor.skip("VIRTUAL")
            draft.metadata.append(Metadata(name, _declared(type_, cursor, name).type, key, is_virtual))
        else:
            draft.columns.append(_declared(type_, cursor, name))
        while not cursor.is_done:
            if cursor.skip("PRIMARY", "KEY"):
                draft.keys.append(name)
                cursor.skip("NOT", "ENFORCED")
            elif cursor.skip("NOT", "NULL"):
                draft.not_null.append(name)
            elif not cursor.skip("NULL"):
                break
    if cursor.skip("COMMENT"):
        cursor.take()
    if not cursor.is_done and not any(cursor.sees(word) for word in (",", ")", "FIRST", "AFTER")):
        message = (
            f"the column {name} continues with {cursor.here.text!r}, which is not supported. "
            "Write NAME TYPE, or NAME AS x."
        )
        raise cursor.rejected(message)


def _type(cursor: Cursor) -> tuple[Token, ...]:
    """The tokens of a type: up to a comma outside of all its parentheses and angle brackets."""
    start, depth = cursor.at, 0
    while not cursor.is_done:
        text = cursor.here.text
        is_end = text in (",", ")") or text.upper() in _AFTER_TYPE or cursor.sees("WITH", "(")
        if depth == 0 and is_end:
            break
        depth += text.count("(") + text.count("<") - text.count(")") - text.count(">")
        cursor.at += 1
    return cursor.tokens[start : cursor.at]


def _declared(tokens: tuple[Token, ...], cursor: Cursor, name: str) -> Column:
    if not tokens:
        message = f"the column {name} has no type. Write, for example, {name} BIGINT."
        raise cursor.rejected(message)
    try:
        return Column(name, _type_of(tokens, cursor.text))
    except ValueError as error:
        message = f"{name}: {error}."
        if str(error).startswith("unknown type"):
            message = f"{name}: {_slip(tokens, cursor.text)}."
        raise cursor.rejected(message, tokens[0]) from error


def _type_of(tokens: Sequence[Token], text: str) -> Type:
    return flink_type(_CHARSET.sub("", _COMMENT.sub(" ", raw(tokens, text))))


def _slip(tokens: Sequence[Token], text: str) -> str:
    """What is wrong with a type: another column follows without a comma, or there is none of its name."""
    for count in range(len(tokens) - 1, 0, -1):
        try:
            _type_of(tokens[:count], text)
        except ValueError:
            continue
        return f"a comma is missing between {raw(tokens[:count], text)} and {tokens[count].text}"
    return f"unknown type {raw(tokens, text)!r}. Available: {_TYPES}"


def _option_text(cursor: Cursor) -> str:
    token = cursor.take()
    if token.text.startswith('"') and token.token_type is not TokenType.STRING:
        raise cursor.rejected(DOUBLE_QUOTES, token)
    return token.text


def options_of(cursor: Cursor) -> dict[str, str]:
    """The options in parentheses."""
    options: dict[str, str] = {}
    cursor.expect("(")
    while not cursor.sees(")"):
        name = _option_text(cursor)
        cursor.expect("=")
        options[name] = _option_text(cursor)
        if not cursor.skip(","):
            break
    if not cursor.is_done and cursor.here.token_type is TokenType.STRING:
        message = f"a comma is missing before {cursor.here.text!r}."
        raise cursor.rejected(message)
    cursor.expect(")")
    return options
