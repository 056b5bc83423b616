"""A run that lasts: what is only there while a run goes on is looked at on this one, then it is cancelled.

A run of few records may end before a page has drawn it once.
"""

from __future__ import annotations

from typing import Final

from tests.engine.planning import pipeline_of

# It never ends before somebody who opens a page, on a slow machine too, has cancelled it.
LASTING: Final = pipeline_of(
    "numbers -> counted -> out",
    numbers=("generator", {"rows": 200_000_000, "keys": 1_000_000}),
    counted=("aggregate", {"group_by": ["key"], "aggregates": [{"function": "COUNT", "name": "cnt"}]}),
    out=("sink", {"mode": "changelog"}),
)
