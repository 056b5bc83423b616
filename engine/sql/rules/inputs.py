"""The relations that a relation is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from engine.sql.algebra import Relation


def with_inputs(relation: Any, changed: Callable[[Relation], Relation]) -> Relation:
    """The relation with changed inputs; itself if they stay the same."""
    given: dict[str, Any] = {field.name: getattr(relation, field.name) for field in fields(relation)}
    new: dict[str, Any] = {}
    for name in ("input", "left", "right", "apart"):
        if given.get(name) is not None and (below := changed(given[name])) is not given[name]:
            new[name] = below
    if "inputs" in given:
        parts = tuple(map(changed, given["inputs"]))
        if any(a is not b for a, b in zip(parts, given["inputs"], strict=True)):
            new["inputs"] = parts
    rewritten: Relation = replace(relation, **new) if new else relation
    return rewritten
