"""Plain words for what pydantic says about a value in a document."""

from __future__ import annotations

from typing import Any, Final

_MUST_BE: Final = {
    "string_type": "a text",
    "string_unicode": "a text of whole characters",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "an object with names and values",
    "mapping_type": "an object with names and values",
    "model_type": "an object with the fields of its form",
    "model_attributes_type": "an object with the fields of its form",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
    "string_too_long": "no longer than {max_length} characters",
    "too_long": "a list of at most {max_length}",
    "missing": "given",
}


def in_plain_words(error: Any) -> str:
    """What is wrong with a value, from pydantic's details of one error: `it must be a text`, without the full stop."""
    needed = _MUST_BE.get(error["type"])
    if needed is not None:
        return f"it must be {needed.format(**error.get('ctx', {}))}"
    message: str = error["msg"]
    return message.removeprefix("Value error, ").removesuffix(".")
