"""What a live run holds outside of its store, and lets go of when it is deleted: messages, replication slots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.contract.live import Begun, Checkpoint
from engine.contract.source import Source
from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.registry import configured


def let_go(document: str, begun: Begun) -> Sequence[str]:
    """Let go of it. What could not be, and is left for a person to remove, in sentences."""
    positions = Checkpoint.from_json(begun.checkpoint).positions if begun.checkpoint else {}
    left: list[str] = []
    for node in Pipeline.from_json(document).nodes:
        try:
            source = configured(node)
            if isinstance(source, Source):
                left += source.let_go(node.id, Path(begun.folder), begun.name, positions.get(node.id))
        except StudioError as error:
            left.append(str(error))
    return left
