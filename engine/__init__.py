"""Pipelines, planner, operators and their runtime on Spark. Knows neither `ui` nor `storage`."""

import sys
from typing import Final

# Queries and expressions are trees, and their readers take some 20 calls for each level. Python's own 1,000 calls end
# at 50 parentheses; these end at 180. A thread's stack of 8 MB holds at least 5,000 calls of any kind.
_CALLS: Final = 4_000
sys.setrecursionlimit(max(_CALLS, sys.getrecursionlimit()))
