"""The examples of the gallery: pipeline documents that run in a few seconds, the seeds' stories first."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from engine.model.pipeline import Pipeline

FOLDER = Path(__file__).parent


@cache
def examples() -> dict[str, Pipeline]:
    """The examples by file name, in the order of the gallery."""
    return {path.stem: Pipeline.from_json(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}
