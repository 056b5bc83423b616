"""Processes that are forked from one that has done the imports of all: these take most of the CPU time of a start."""

from __future__ import annotations

import multiprocessing
from functools import cache
from multiprocessing.context import ForkServerContext

# No module of `ui`: its components need Streamlit's runtime.
_ALL_IMPORT = (
    *("streamlit", "streamlit.web.cli", "streamlit.starlette", "pandas", "plotly.graph_objects", "duckdb"),
    *("pyarrow.compute", "pyarrow.parquet", "pyspark.sql.connect.session", "pyspark.sql.connect.functions"),
    *("engine.registry", "engine.planner", "engine.runtime", "engine.script", "engine.local", "engine.spark.session"),
    *("storage", "engine.__main__"),
)


@cache
def processes() -> ForkServerContext:
    """Makes such processes. One process that has done the imports is there for all: Python allows no second one."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_ALL_IMPORT))
    return context
