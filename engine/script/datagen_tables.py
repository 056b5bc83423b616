"""Tables of Flink's datagen as sources of random values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.reading.paced import MOST_PER_SECOND, SAMPLE
from engine.script.tables import TableDdl


def generated(ddl: TableDdl, warnings: list[str]) -> dict[str, Any]:
    """The parameters of a table of random values. Raises SqlRejected."""
    options = dict(ddl.options)
    options.pop("connector", None)
    rows = options.pop("number-of-rows", None)
    if rows is None:
        warnings.append(
            f"{ddl.name}: datagen without 'number-of-rows' never ends; a run that is not live makes {SAMPLE} rows."
        )
    columns = []
    for column in ddl.columns:
        settings: dict[str, Any] = {"name": column.name, "type": column.type.flink}
        for option, name, read in (
            ("kind", "kind", str),
            ("start", "min", float),
            ("end", "max", float),
            ("min", "min", float),
            ("max", "max", float),
            ("length", "length", int),
            ("null-rate", "null_rate", float),
        ):
            text = options.pop(f"fields.{column.name}.{option}", None)
            if text is not None:
                settings[name] = _number(ddl, option, text, read)
        columns.append(settings)
    rate = possible_rate(ddl, _number(ddl, "rows-per-second", options.pop("rows-per-second", "10000"), float), warnings)
    warnings += ddl.ignored(options)
    count = None if rows is None else _number(ddl, "number-of-rows", rows, int)
    return {"columns": columns, "rows": count, "rate": rate}


def possible_rate(ddl: TableDdl, rate: float, warnings: list[str]) -> float:
    """The rows per second, with a note if the table asks for more than a source makes."""
    if rate > MOST_PER_SECOND:
        warnings.append(f"{ddl.name}: it makes {MOST_PER_SECOND:,} rows per second at most.")
    return min(rate, MOST_PER_SECOND)


def _number(ddl: TableDdl, option: str, text: str, read: Callable[[str], Any]) -> Any:
    try:
        return read(text)
    except ValueError as error:
        message = f"the option {option!r} is a number, not {text!r}."
        raise ddl.rejected(message) from error
