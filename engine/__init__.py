"""Pipelines, planner, operators and their runtime on Spark. It imports neither `ui` nor `storage`."""

import sys
from typing import Final

# Queries and expressions are trees, and their parsers need about 20 calls per level. Python's default of 1,000 calls is
# enough for 50 parentheses, this limit for 180. A thread's stack of 8 MB is enough for 5,000 calls of any kind.
_CALLS: Final = 4_000
sys.setrecursionlimit(max(_CALLS, sys.getrecursionlimit()))
