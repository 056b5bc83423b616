"""A parameter that is one of several named objects: documents contain the name, forms offer all names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import core_schema

from engine.errors import unknown_name


@dataclass(frozen=True)
class Named:
    """Annotates the type of such a parameter. known: returns the current objects by name."""

    known: Callable[[], Mapping[str, Any]]

    def __get_pydantic_core_schema__(self, source: type[Any], handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Accepts a known name or any object of the type; serializes the name."""

        def validate(value: object) -> Any:
            by_name = self.known()
            if isinstance(value, str) and value in by_name:
                return by_name[value]
            if isinstance(value, source):
                return value
            message = unknown_name("name", str(value), by_name)
            raise ValueError(message)

        return core_schema.no_info_plain_validator_function(
            validate, serialization=core_schema.plain_serializer_function_ser_schema(self._name, when_used="json")
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """One of the names."""
        return {"enum": list(self.known()), "type": "string"}

    def _name(self, value: object) -> str:
        name: str = getattr(value, "name", "")
        return next((name for name, candidate in self.known().items() if candidate == value), name)
