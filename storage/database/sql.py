"""Text inside SQL: identifiers and literals, quoted only by this module. Values are bound."""

from __future__ import annotations


def identifier(*parts: str) -> str:
    """A name; several parts make a qualified name. Each part is quoted."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str) -> str:
    """A string literal, for the few statements without bound values (COMMENT ON, COPY .. TO, views)."""
    return "'" + text.replace("'", "''") + "'"


def blob(value: bytes) -> str:
    """A BLOB literal."""
    return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"
