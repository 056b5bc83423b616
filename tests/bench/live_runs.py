"""Shared parts of the live benchmarks: a count by key, and its use of memory and disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.model.pipeline import Pipeline
from tests.bench import process_tree


def counting(operator: str, **parameters: Any) -> Pipeline:
    """A count by key over a source."""
    count = {"function": "COUNT", "name": "n"}
    nodes = [
        {"id": "made", "operator": operator, "parameters": parameters},
        {"id": "counts", "operator": "aggregate", "parameters": {"group_by": ["key"], "aggregates": [count]}},
        {"id": "out", "operator": "sink"},
    ]
    edges = [{"source": "made", "target": "counts"}, {"source": "counts", "target": "out"}]
    return Pipeline.from_dict({"nodes": nodes, "edges": edges})


def footprint(process: int, store: Path) -> str:
    """The memory of a process, of its JVM and of its workers; the bytes of the store and of its runs' state."""
    memory = {role: size / 1e6 for role, size in process_tree.memory(process).items()}
    state = store.with_suffix(".live")
    return (
        f"memory {memory['driver']:5.0f} + {memory.get('java', 0):5.0f} + {memory.get('workers', 0):5.0f} MB  "
        f"store {_size(store.parent, f'{store.name}*'):6.1f} MB  state {_size(state, '**/*'):6.1f} MB"
    )


def _size(folder: Path, pattern: str) -> float:
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file()) / 1e6
