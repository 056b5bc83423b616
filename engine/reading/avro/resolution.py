"""What a reader's schema makes of values that were written with another one.

    int -> long -> float -> double; string <-> bytes        promoted
    a field that the writer has not                         the reader's default
    a field that the reader has not                         left out
    a branch of the writer's union that the reader has not  only such a value cannot be read

Values are those of `engine.reading.avro.schemas.decoder`. An enum is no string, and a fixed no bytes: Flink does not
read them as such unless its option `schema` says so.
Source: the Avro specification, Schema Resolution; Avro's Resolver for Java.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.reading.avro.schemas import Avro, AvroField

Resolve = Callable[[Any], Any]

_PROMOTED: Final = {
    "int": ("int", "long", "float", "double"),
    "long": ("long", "float", "double"),
    "float": ("float", "double"),
    "string": ("string", "bytes"),
    "bytes": ("bytes", "string"),
}
_CLASSES: Final[dict[str, type]] = {
    "boolean": bool,
    "int": int,
    "long": int,
    "float": float,
    "double": float,
    "bytes": bytes,
    "string": str,
    "array": list,
    "map": dict,
}
_NAMED: Final = ("record", "enum", "fixed")
_INT: Final = 1 << 31
_BROKEN: Final = "its bytes are not those of its schema"


class Unreadable(ValueError):
    """A value that a reader cannot have. The message is a clause; that of `resolver` names the column."""


def resolver(writer: Avro, reader: Avro, path: str = "") -> Resolve:
    """Makes of a written value what the reader has of it. Raises Unreadable. path: of the value, for the message."""
    if writer.kind == "union":
        return _of_union(writer, reader, path)
    branch = _branch(writer, reader)
    if branch is None:
        return _refusing(writer, reader, path)
    if reader.kind == "union":
        reader = branch
    if (why := _other_unit(writer, reader)) is not None:
        return _raising(f"{_column(path)}{why}")
    match writer.kind:
        case "record":
            return _of_record(writer, reader, path)
        case "array":
            item = resolver(writer.item, reader.item, f"{path}[]")
            return lambda values: [item(value) for value in values]
        case "map":
            value_of = resolver(writer.item, reader.item, f"{path}[]")
            return lambda values: {name: value_of(value) for name, value in values.items()}
        case "enum":
            allowed = frozenset(reader.symbols)
            return lambda symbol: symbol if symbol in allowed else _fail(f"{_column(path)}{symbol!r} is not known")
        case "int" | "long" if reader.kind in ("float", "double"):
            return float
        case "int":
            return _int
        case "string" if reader.kind == "bytes":
            return str.encode
        case "bytes" if reader.kind == "string":
            return lambda value: value.decode(errors="replace")
    return lambda value: value


def _branch(writer: Avro, reader: Avro) -> Avro | None:
    """The branch of the reader that has the writer's values: of its own type, else one to which they are promoted."""
    same = [branch for branch in reader.branches if branch.kind == writer.kind]
    if writer.kind in ("enum", "fixed"):
        same = [branch for branch in same if branch.name == writer.name and branch.size == writer.size]
    if writer.kind == "record" and len(same) > 1:
        same = [branch for branch in same if branch.name == writer.name] or same
    wider = [branch for branch in reader.branches if branch.kind in _PROMOTED.get(writer.kind, ())]
    return next(iter(same or wider), None)


def _other_unit(writer: Avro, reader: Avro) -> str | None:
    """Why numbers of a logical type mean something else to the reader, who looks at the numbers alone."""
    if "timestamp" in writer.logical and "timestamp" in reader.logical:
        unit, wanted = (logical.rpartition("-")[2] for logical in (writer.logical, reader.logical))
        if unit != wanted:
            return (
                f"it was written as {writer.logical}, which Flink takes for {wanted} here. Declare it BIGINT, or with "
                "as many digits"
            )
    if writer.logical == reader.logical == "decimal" and writer.scale != reader.scale:
        return (
            f"it was written with {writer.scale} digits after the point, which Flink takes for {reader.scale}. Declare "
            f"it DECIMAL({writer.precision}, {writer.scale})"
        )
    return None


def _of_union(writer: Avro, reader: Avro, path: str) -> Resolve:
    """By the branch that a value is of: named types are told by name, the others by class."""
    by_name = {part.name: resolver(part, reader, path) for part in writer.branches if part.kind in _NAMED}
    by_class = {_CLASSES[part.kind]: resolver(part, reader, path) for part in writer.branches if part.kind in _CLASSES}
    has_null = any(part.kind == "null" for part in writer.branches)
    of_null = resolver(Avro("null"), reader, path) if has_null else _raising(_BROKEN)

    def resolve(value: Any) -> Any:
        if value is None:
            return of_null(None)
        if type(value) is tuple:
            return by_name[value[0].rpartition(".")[2]](value[1])
        return by_class[type(value)](value)

    return resolve


def _of_record(writer: Avro, reader: Avro, path: str) -> Resolve:
    written = {field.name: field for field in writer.parts}
    steps = [_of_field(field, written, f"{path}.{field.name}".lstrip(".")) for field in reader.parts]
    return lambda row: {name: resolve(row[source] if source else None) for name, source, resolve in steps}


def _of_field(field: AvroField, written: dict[str, AvroField], path: str) -> tuple[str, str, Resolve]:
    """The name of a field, that of the writer's field, and what makes the value; without one, its default."""
    source = next((name for name in (field.name, *field.aliases) if name in written), None)
    if source is not None:
        return field.name, source, resolver(written[source].type, field.type, path)
    if not field.has_default:
        return field.name, "", _raising(f"{_column(path)}the message has no such field, and it is NOT NULL")
    default = default_of(field.type, field.default)
    return field.name, "", lambda _: default


def default_of(schema: Avro, given: Any) -> Any:
    """A default, which JSON has, as a value. It is of the first branch of a union."""
    first = schema.branches[0] if schema.branches else schema
    match first.kind:
        case "record":
            return {field.name: default_of(field.type, given.get(field.name, field.default)) for field in first.parts}
        case "array":
            return [default_of(first.item, element) for element in given]
        case "map":
            return {name: default_of(first.item, value) for name, value in given.items()}
        case "bytes" | "fixed":
            return given.encode("latin-1")
        case "float" | "double":
            return float(given)
    return given


def _int(value: int) -> int:
    return value if -_INT <= value < _INT else _fail(_BROKEN)


def _refusing(writer: Avro, reader: Avro, path: str) -> Resolve:
    wanted = [branch for branch in reader.branches if branch.kind != "null"]
    if writer.kind == "null":
        return _raising(f"{_column(path)}it is null, and the column is NOT NULL")
    return _raising(f"{_column(path)}it was written as {writer.title}, not as {' or '.join(o.title for o in wanted)}")


def _column(path: str) -> str:
    return f"column {path!r}: " if path else ""


def _raising(message: str) -> Resolve:
    return lambda _: _fail(message)


def _fail(message: str) -> Any:
    raise Unreadable(message)
