"""The script that a pipeline was opened from, as far as it still says what the pipeline is.

Rows that were entered since for a table, instead of what its connector would read, stand in comments above that table.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from engine.contract.operator import Analyzer
from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.reading.flink_table import rows_above
from engine.script.node_ids import node_id_of
from engine.script.reading import Script, script_of
from engine.script.same import is_same
from engine.script.taken_apart import taken_apart
from engine.sources.rows import Rows

_ROWS: Final = re.compile(r"^[ \t]*--\s*studio\.rows:[^\n]*\n", re.MULTILINE)


def kept_script(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> tuple[str, Script] | None:
    """The script of a pipeline with the rows that were entered since, and as it is read; None if it says another one.

    Where nodes are placed does not matter.
    """
    text = pipeline.script
    if not text:
        return None
    try:
        script = script_of(text, analyzer, folder, pipeline.name)
        by_id = {node.id: node for node in script.pipeline.nodes}
        for node in pipeline.nodes:
            if node.operator == Rows.operator and node.parameters != getattr(by_id.get(node.id), "parameters", None):
                text = with_rows(text, node.id, node.parameters.get("rows", ()))
        if text != pipeline.script:
            script = script_of(text, analyzer, folder, pipeline.name)
    except StudioError:
        return None
    return (text, script) if is_same(script.pipeline, pipeline, analyzer, folder) else None


def with_rows(script: str, node: str, rows: Sequence[Any]) -> str:
    """The script with rows in comments above the table of a node; the same one if the script inserts its rows."""
    parts = taken_apart(script)
    table = next((ddl for name, ddl in parts.tables.items() if node_id_of(name) == node), None)
    if table is None or table.name in parts.rows:
        return script
    statement = parts.whole(table.statement)
    start = statement.tokens[0].start
    above = start - len(statement.comment)
    comment = _ROWS.sub("", statement.comment)
    line = "" if not comment or comment.endswith("\n") else "\n"
    return f"{script[:above]}{comment}{line}{rows_above(rows)}{script[start:]}"
