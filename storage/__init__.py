"""The studio's memory: one DuckDB file. Knows nothing of `ui`, and of `engine` only its types."""
