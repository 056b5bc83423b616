"""The studio's storage: one DuckDB file. It does not import `ui`, and of `engine` only types."""

from storage.store import Store, default_path

__all__ = ["Store", "default_path"]
