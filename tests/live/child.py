"""The command line in a process of its own, which somebody kills. Its tasks run in it where it is told so.

python -m tests.live.child in-process|on-spark run|resume ...
"""

from __future__ import annotations

import sys
from contextlib import nullcontext

from engine.__main__ import main
from engine.runtime.in_process import in_process

if __name__ == "__main__":
    with in_process() if sys.argv[1] == "in-process" else nullcontext():
        sys.exit(main(sys.argv[2:]))
