"""Rows of a SQL Gateway (its row format JSON) in the form of `engine.flink.inside`'s answers."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

_KINDS: Final = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def records(columns: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]]) -> Iterator[list[Any]]:
    """Records: the kind, then the values. The JSON of numbers with a point is their text."""
    types = [column["logicalType"] for column in columns]
    for row in rows:
        values = zip(row["fields"], types, strict=True)
        yield [_KINDS[row["kind"]], *(_value(value, type_) for value, type_ in values)]


def _value(value: Any, type_: dict[str, Any]) -> Any:
    if value is None:
        return None
    match type_["type"]:
        case "DECIMAL":
            return format(Decimal(str(value)).quantize(Decimal(1).scaleb(-int(type_.get("scale", 0)))), "f")
        case "FLOAT" | "DOUBLE":
            number = float(value)
            return number if abs(number) < float("inf") else str(value)
        case "TIMESTAMP_WITHOUT_TIME_ZONE" | "TIMESTAMP_WITH_LOCAL_TIME_ZONE":
            moment = datetime.fromisoformat(_six_digits(str(value).rstrip("Z"))).replace(tzinfo=UTC)
            since = moment - _EPOCH
            return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000
        case "BINARY" | "VARBINARY":
            return base64.b64decode(value).hex()
        case "ARRAY" | "MULTISET":
            return [_value(element, type_["elementType"]) for element in value]
        case "ROW":
            fields = type_["fields"]
            return [_value(value[field["name"]], field["fieldType"]) for field in fields]
        case "MAP":
            pairs = [[_value(key, type_["keyType"]), _value(inner, type_["valueType"])] for key, inner in value.items()]
            return sorted(pairs, key=lambda pair: (pair[0] is not None, str(type(pair[0])), pair[0]))
        case _:
            return value


def _six_digits(moment: str) -> str:
    """A moment with six digits below the second: Python reads three or six, Java writes as many as are needed."""
    whole, _, digits = moment.partition(".")
    return f"{whole}.{digits[:6]:0<6}" if digits else whole
