"""Avro's schemas as values, and the decoders of what was written with one.

A schema comes from a stranger. One that contains itself is refused, for it may be nested without end, and so is one of
which a few bytes would be decoded to very many values.
Source: the Avro specification.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from io import BytesIO
from typing import Any, Final

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
_LEVELS: Final = 100
# The most values that nothing, or one byte of an item, is decoded to.
_MOST_VALUES: Final = 1000
_MOST_FIELDS: Final = 10_000
_NO_DEFAULT: Final = object()


class BadSchema(ValueError):
    """A schema that is none, or that is not read here. The message completes "its schema ...": "is broken"."""


class Undecodable(ValueError):
    """Bytes that were not written with their schema. The message is a clause: "it ends within its value"."""


@dataclass(frozen=True)
class Avro:
    """A schema. parts: the fields of a record by name, the branches of a union, the item of an array or of a map.

    name: of a record, an enum or a fixed, without its namespace.
    """

    kind: str
    name: str = ""
    logical: str = ""
    precision: int = 0
    scale: int = 0
    size: int = 0
    parts: tuple[AvroField, ...] = ()
    symbols: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """The type in a sentence: `long (timestamp-micros)`."""
        words = f"{self.kind} {self.name}".strip()
        return f"{words} ({self.logical})" if self.logical else words

    @property
    def item(self) -> Avro:
        """The item of an array, the value of a map."""
        return self.parts[0].type

    @property
    def branches(self) -> tuple[Avro, ...]:
        """The branches of a union; of any other type, the type itself."""
        return tuple(part.type for part in self.parts) if self.kind == "union" else (self,)

    @property
    def text(self) -> str:
        """The schema as JSON. Its named types have names of their own."""
        return json.dumps(self._json())

    def _json(self) -> Any:
        match self.kind:
            case "union":
                return [branch._json() for branch in self.branches]
            case "array":
                return {"type": "array", "items": self.item._json()}
            case "map":
                return {"type": "map", "values": self.item._json()}
            case "record":
                fields = [{"name": part.name, "type": part.type._json()} for part in self.parts]
                return {"type": "record", "name": self.name, "fields": fields}
            case "enum":
                return {"type": "enum", "name": self.name, "symbols": self.symbols}
            case "fixed":
                return {"type": "fixed", "name": self.name, "size": self.size}
        return self.kind

    def nullable(self) -> Avro:
        """A union of null and this type."""
        return Avro("union", parts=(AvroField("", NULL), AvroField("", self)))


@dataclass(frozen=True)
class AvroField:
    """A field of a record. has_default: whether a reader has `default` where a writer has no such field."""

    name: str
    type: Avro
    aliases: tuple[str, ...] = ()
    has_default: bool = False
    default: Any = None


NULL: Final = Avro("null")
Decode = Callable[[BytesIO], Any]


def schema_of(texts: Sequence[str]) -> Avro:
    """The schema of the last text; the others are those that it refers to. Raises BadSchema."""
    named: dict[str, Avro] = {}
    schema = NULL
    for text in texts:
        try:
            schema = _Reading(named).of(_json(text), "", 0)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            if isinstance(error, BadSchema):
                raise
            message = f"is not one of Avro: {error}"
            raise BadSchema(message) from error
    _width(schema, {})
    return schema


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        # The registry knows a primitive type as its bare name, too.
        if text.strip() in PRIMITIVES:
            return text.strip()
        message = "is not JSON"
        raise BadSchema(message) from error


@dataclass(frozen=True)
class _Reading:
    """Reads the JSON of a schema. named: the types by full name; one without parts is still being read."""

    named: dict[str, Avro]

    def of(self, given: Any, space: str, depth: int) -> Avro:
        if depth > _LEVELS:
            message = f"is nested more than {_LEVELS} levels deep"
            raise BadSchema(message)
        if isinstance(given, list):
            return Avro("union", parts=tuple(AvroField("", self.of(branch, space, depth + 1)) for branch in given))
        if isinstance(given, str):
            return Avro(given) if given in PRIMITIVES else self._known(given, space)
        kind = given["type"]
        if not isinstance(kind, str):
            return self.of(kind, space, depth + 1)
        match kind:
            case "array" | "map":
                item = self.of(given["items" if kind == "array" else "values"], space, depth + 1)
                return Avro(kind, parts=(AvroField("", item),))
            case "record" | "error" | "enum" | "fixed":
                return self._defined(given, kind, space, depth)
        return _with_logical(self.of(kind, space, depth), given)

    def _known(self, name: str, space: str) -> Avro:
        full = name if "." in name else f"{space}.{name}".lstrip(".")
        schema = self.named.get(full, self.named.get(name))
        if schema is None:
            message = f"refers to {name}, which it does not define"
            raise BadSchema(message)
        if schema.kind == "open":
            message = f"contains itself ({name}), and could be nested without end"
            raise BadSchema(message)
        return schema

    def _defined(self, given: Mapping[str, Any], kind: str, space: str, depth: int) -> Avro:
        name = str(given["name"])
        own_space = name.rpartition(".")[0] or str(given.get("namespace", space) or "")
        plain = name.rpartition(".")[2]
        full = f"{own_space}.{plain}".lstrip(".")
        self.named[full] = Avro("open")
        if kind == "enum":
            schema = Avro("enum", plain, symbols=tuple(map(str, given["symbols"])))
        elif kind == "fixed":
            schema = _with_logical(Avro("fixed", plain, size=int(given["size"])), given)
        else:
            if len(given["fields"]) > _MOST_FIELDS:
                message = f"has more than {_MOST_FIELDS:,} fields"
                raise BadSchema(message)
            schema = Avro(
                "record", plain, parts=tuple(self._field(field, own_space, depth + 1) for field in given["fields"])
            )
        self.named[full] = schema
        return schema

    def _field(self, given: Mapping[str, Any], space: str, depth: int) -> AvroField:
        default = given.get("default", _NO_DEFAULT)
        has_default = default is not _NO_DEFAULT
        return AvroField(
            str(given["name"]),
            self.of(given["type"], space, depth),
            tuple(map(str, given.get("aliases", ()))),
            has_default,
            default if has_default else None,
        )


def _with_logical(plain: Avro, given: Mapping[str, Any]) -> Avro:
    return replace(
        plain,
        logical=str(given.get("logicalType", "")),
        precision=int(given.get("precision", 0)),
        scale=int(given.get("scale", 0)),
    )


def _width(of: Avro, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """The fewest bytes of a value, and the most values in so many. Raises BadSchema if they are out of proportion."""
    if id(of) in known:
        return known[id(of)]
    parts = [_width(part.type, known) for part in of.parts]
    values = 1
    match of.kind:
        case "null":
            width = 0
        case "fixed":
            width = of.size
        case "record":
            width, values = sum(fewest for fewest, _ in parts), 1 + sum(many for _, many in parts)
        case "union":
            width, values = 1, 1 + max((many for _, many in parts), default=0)
        case "array" | "map":
            width = 1
            fewest, many = parts[0]
            if many > _MOST_VALUES * (fewest + (of.kind == "map")):
                message = f"makes very many values of few bytes, in {'an array' if of.kind == 'array' else 'a map'}"
                raise BadSchema(message)
        case _:
            width = 1
    if values > _MOST_FIELDS * 10:
        message = "has more fields than are read here"
        raise BadSchema(message)
    known[id(of)] = width, values
    return width, values


@lru_cache(maxsize=256)
def decoder(texts: tuple[str, ...]) -> Decode:
    """Decodes one value that was written with the schema of the last text. Raises BadSchema.

    Numbers and bytes of logical types come as they are; a value of a named type within a union comes with the name:
    ("Name", value). The decoder raises Undecodable.
    """
    fastavro = reading()
    from fastavro.schema import SchemaParseException, UnknownType

    schema_of(texts)
    named: dict[str, Any] = {}
    try:
        for text in texts:
            parsed = fastavro.parse_schema(_without_logical(_json(text)), named_schemas=named)
    except (SchemaParseException, UnknownType, KeyError, TypeError, ValueError) as error:
        message = f"is not one of Avro: {error}"
        raise BadSchema(message) from error

    def decode(stream: BytesIO) -> Any:
        try:
            return fastavro.schemaless_reader(
                stream, parsed, None, return_named_type=True, handle_unicode_errors="replace"
            )
        except EOFError as error:
            message = "it ends within its value"
            raise Undecodable(message) from error
        except (IndexError, ValueError, TypeError, OverflowError, MemoryError) as error:
            message = "its bytes are not those of its schema"
            raise Undecodable(message) from error

    return decode


def reading() -> Any:
    """The library. Raises OSError on workers that do not have it."""
    try:
        import fastavro
    except ModuleNotFoundError as error:
        message = "Avro is read with fastavro, which the engine's workers do not have. Install it there."
        raise OSError(message) from error
    return fastavro


def _without_logical(schema: Any) -> Any:
    """A schema whose values come as they are written."""
    if isinstance(schema, dict):
        return {name: _without_logical(part) for name, part in schema.items() if name != "logicalType"}
    return [_without_logical(part) for part in schema] if isinstance(schema, list) else schema
