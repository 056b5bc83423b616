"""The studio's memory: one DuckDB file. Knows nothing of `ui`, and of `engine` only its types."""

from storage.store import Store, default_path

__all__ = ["Store", "default_path"]
