"""Made-up rows as from the connector flink-faker: names, numbers, options and times by expressions, but reproducible.

Every value is chosen by (seed, column, record number), so it does not depend on the process that makes it. Times such
as `#{date.past '5','SECONDS'}` are relative to the time of the record: `start_ms` plus 1000 / rate ms per record; in
flink-faker it is the current time.
Source: knaufk/flink-faker, FlinkFakerTableSourceFactory and FlinkFakerGenerator.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from engine.contract.declared_table import Declared, DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import Parameters, parameter
from engine.contract.scan import Scan
from engine.errors import PipelineError
from engine.model.schema import Column, Schema
from engine.model.types import Array, Map, Row, Type
from engine.reading.declared_options import DeclaredOptions
from engine.reading.faker.records import PART_RECORDS, Element, FakedColumn, FakedPart, Recipe, read
from engine.reading.faker.values import prepared, unknown_in
from engine.reading.flink_table import create_table
from engine.reading.paced import START_MS, MadeUp, Seed, Start
from engine.reading.typed.columns import check_names, column_of, derive_source


class FakedElement(Parameters):
    """A field of a ROW, or the key or the value of a MAP."""

    name: str = parameter("Name", "A field of a ROW; key or value of a MAP.", min_length=1)
    expression: str = parameter("Expression", "As for a column.")


class FakerColumn(Parameters):
    """One column, and the expression of its values."""

    name: str = parameter("Name", min_length=1)
    type: str = parameter(
        "Type", "A type of Flink, such as BIGINT, STRING or TIMESTAMP(3).", default="STRING", is_type=True
    )
    expression: str = parameter(
        "Expression",
        "Text with calls: #{Name.fullName}, #{number.numberBetween '1','100'}, #{Options.option 'a','b'}, "
        "#{regexify '[A-Z]{3}'}, #{date.past '5','SECONDS'}.",
        default="",
    )
    elements: tuple[FakedElement, ...] = parameter(
        "Parts", "Of a ROW, the expression of each field; of a MAP, those of key and value.", default=()
    )
    length: int = parameter("Length", "The number of elements of an ARRAY or a MAP.", default=1, ge=1, le=1000)
    null_rate: float = parameter("Share of NULL", default=0.0, ge=0, le=1)


class Faker(MadeUp):
    """Made-up rows."""

    operator: ClassVar[str] = "faker"
    title: ClassVar[str] = "Faker"
    summary: ClassVar[str] = "Made-up names, places, orders and times, by the expressions of flink-faker."
    connector = "faker"
    # Confluent's tables have options of their topics, too.
    table_options = f"{MadeUp.table_options} changelog.mode key.* value.* kafka.* scan.* error-handling.*"
    is_looked_up = True

    columns: tuple[FakerColumn, ...] = parameter("Columns", "Names, types and expressions of the columns.", default=())
    seed: Seed = 1
    start_ms: Start = START_MS

    @property
    def size(self) -> int | None:
        """The number of records."""
        return self.rows

    @property
    def placeholders(self) -> tuple[str, ...]:
        """The functions that nobody knows here; their values are numbered names. Raises ValueError."""
        texts = [text for column in self.columns for text in _expressions(column)]
        return tuple(dict.fromkeys(name for text in texts for name in unknown_in(text)))

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        check_names([column.name for column in self.columns], node, "columns")
        columns = [column_of(column.name, column.type, node, "columns") for column in self.columns]
        for spec, column in zip(self.columns, columns, strict=True):
            _faked(spec, column.type, node)
        return derive_source(self, node, columns)

    def scan(self, node: str, folder: Path) -> Scan:
        """All records, in parts."""
        schema = self.derive(node, folder).schema
        columns = tuple(_faked(spec, schema.column(spec.name, node).type, node) for spec in self.columns)
        recipe = Recipe(columns, self.seed, self.start_ms, 1000.0 / self.rate)
        first, end = self.range
        starts = range(first, end, PART_RECORDS) if end > first else [first]
        parts = tuple(FakedPart(recipe, schema, node, at, min(at + PART_RECORDS, end)) for at in starts)
        return Scan(parts, read)

    @classmethod
    def with_arrival(cls, table: Declared, name: str) -> Declared:
        """With one more column, of the current time."""
        option = {f"fields.{name}.expression": "#{date.future '0','SECONDS'}"}
        return replace(super().with_arrival(table, name), options={**table.options, **option})

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """Made-up values for its columns."""
        options = DeclaredOptions(table)
        parameters = cls.parameters_of(options)
        # The node itself reports an expression that cannot be read.
        with suppress(ValueError):
            for name in cls.model_validate(parameters).placeholders:
                options.note(f"#{{{name}}} is not known here; its values are numbered names.")
        return options.read(parameters)

    @classmethod
    def settings_of(cls, column: Column, options: DeclaredOptions) -> dict[str, Any]:
        """Its expression, or those of its parts, its length and the share of NULL."""
        field = f"fields.{column.name}"
        names = [name for name, _ in column.type.fields] if isinstance(column.type, Row) else []
        names += ["key", "value"] if isinstance(column.type, Map) else []
        given = {name: options.take(f"{field}.{name}.expression") for name in names}
        settings = {
            "expression": options.take(f"{field}.expression"),
            "elements": [{"name": name, "expression": text} for name, text in given.items() if text],
            "length": options.number(f"{field}.length"),
            "null_rate": options.number(f"{field}.null-rate", float),
        }
        return {name: value for name, value in settings.items() if value not in (None, "", [])}

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector of the same name, which chooses other values."""
        options = self.pace_options
        for spec in self.columns:
            field = f"fields.{spec.name}"
            if spec.expression:
                options[f"{field}.expression"] = spec.expression
            options |= {f"{field}.{part.name}.expression": part.expression for part in spec.elements}
            if spec.length != 1:
                options[f"{field}.length"] = str(spec.length)
            if spec.null_rate:
                options[f"{field}.null-rate"] = f"{spec.null_rate:g}"
        return create_table(node, schema, self, options)


def _expressions(column: FakerColumn) -> Iterator[str]:
    yield column.expression
    yield from (part.expression for part in column.elements)


def _faked(column: FakerColumn, type_: Type, node: str) -> FakedColumn:
    """A column that is ready to be made. Raises PipelineError for an expression that is missing or wrong."""
    if isinstance(type_, Row):
        shape, wanted = "row", list(type_.fields)
    elif isinstance(type_, Map) and column.expression:
        # A multiset is a map of its values to their counts.
        shape, wanted = "multiset", [("", type_.key)]
    elif isinstance(type_, Map):
        shape, wanted = "map", [("key", type_.key), ("value", type_.value)]
    elif isinstance(type_, Array):
        shape, wanted = "array", [("", type_.element)]
    else:
        shape, wanted = "scalar", [("", type_)]
    given = {"": column.expression} | {part.name: part.expression for part in column.elements}
    elements = []
    for name, inner in wanted:
        where = f"{column.name}.{name}" if name else column.name
        if not given.get(name):
            message = f"columns: {where} has no expression. Write one, such as #{{Name.fullName}}."
            raise PipelineError(message, node, "columns")
        try:
            elements.append(Element(name, inner, prepared(given[name])))
        except ValueError as error:
            message = f"columns: {where}: {error}."
            raise PipelineError(message, node, "columns") from error
    return FakedColumn(column.name, shape, tuple(elements), column.length, column.null_rate)


SOURCE = Faker
