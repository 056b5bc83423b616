"""Text that goes into SQL: identifiers and literals, quoted here and nowhere else. Values are bound."""

from __future__ import annotations


def identifier(*parts: str) -> str:
    """A name, qualified where there are several parts, each quoted."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str) -> str:
    """A string literal, for the few statements that take no bound values (COMMENT ON, COPY .. TO, views)."""
    return "'" + text.replace("'", "''") + "'"


def blob(value: bytes) -> str:
    """A BLOB literal."""
    return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
