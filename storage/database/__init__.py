"""The DuckDB file: its one connection, its catalog's migrations, the tables of a run, the cache."""
