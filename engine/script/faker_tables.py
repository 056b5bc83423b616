"""Tables of the connector flink-faker as sources of made-up rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from engine.errors import StudioError
from engine.model.pipeline import Node
from engine.model.types import Map, Row
from engine.reading.paced import SAMPLE
from engine.registry import configured
from engine.script.datagen_tables import possible_rate
from engine.script.tables import TableDdl
from engine.sources.faker import Faker

CONNECTOR: Final = "faker"
_RATE: Final = "10000"


def faked(ddl: TableDdl, warnings: list[str]) -> tuple[str, dict[str, Any]]:
    """The source of a table. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector", None)
    rows = _number(ddl, options, "number-of-rows", int)
    if rows is None:
        warnings.append(
            f"{ddl.name}: faker without 'number-of-rows' never ends; a run that is not live makes {SAMPLE} rows."
        )
    columns = []
    for column in ddl.columns:
        field = f"fields.{column.name}"
        names = [name for name, _ in column.type.fields] if isinstance(column.type, Row) else []
        names += ["key", "value"] if isinstance(column.type, Map) else []
        given = {name: options.pop(f"{field}.{name}.expression", "") for name in names}
        settings = {
            "name": column.name,
            "type": column.type.flink,
            "expression": options.pop(f"{field}.expression", ""),
            "elements": [{"name": name, "expression": text} for name, text in given.items() if text],
            "length": _number(ddl, options, f"{field}.length", int),
            "null_rate": _number(ddl, options, f"{field}.null-rate", float),
        }
        columns.append({name: value for name, value in settings.items() if value not in (None, "", [])})
    rate = possible_rate(ddl, _number(ddl, options, "rows-per-second", float) or float(_RATE), warnings)
    warnings += ddl.ignored(options)
    parameters = {"columns": columns, "rows": rows, "rate": rate}
    unknown = _placeholders(parameters)
    warnings += [f"{ddl.name}: #{{{name}}} is not known here; its values are numbered names." for name in unknown]
    return Faker.operator, parameters


def _placeholders(parameters: dict[str, Any]) -> tuple[str, ...]:
    try:
        source = configured(Node(id="n", operator=Faker.operator, parameters=parameters))
        return source.placeholders if isinstance(source, Faker) else ()
    except (StudioError, ValueError):
        # The node itself reports an expression that cannot be read.
        return ()


def _number(ddl: TableDdl, options: dict[str, str], option: str, read: Callable[[str], Any]) -> Any:
    text = options.pop(option, None)
    try:
        return None if text is None else read(text)
    except ValueError as error:
        message = f"the option {option!r} is a number, not {text!r}."
        raise ddl.rejected(message) from error
