"""A long run, for tests of what a page shows only during a run; the test cancels it at the end.

A run of few records may end before a page has drawn it once.
"""

from __future__ import annotations

from typing import Final

from tests.engine.planning import counted_numbers

# It is long enough to be cancelled from a page before it ends, on a slow machine too.
LASTING: Final = counted_numbers(200_000_000, 1_000_000)
