"""A source without its parameters that name columns: they may be wrong while the user chooses its file or table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from engine.contract.source import Source
from engine.registry import sources

_OF_COLUMNS: Final = frozenset({*Source.model_fields, "types", "primary_key"})


def source_without_columns(operator: str, parameters: Mapping[str, Any]) -> Source | None:
    """The source; None if it is none, or other parameters are wrong."""
    cls = sources().get(operator)
    if cls is None:
        return None
    try:
        return cls.model_validate({name: value for name, value in parameters.items() if name not in _OF_COLUMNS})
    except ValidationError:
        return None
