"""Removes the external resources of a deleted live run: messages, replication slots."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engine.contract.live import Begun, Checkpoint
from engine.contract.source import Source
from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.registry import configured


def let_go(document: str, begun: Begun) -> Sequence[str]:
    """Remove the resources. Returns what could not be removed, as sentences for users."""
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
