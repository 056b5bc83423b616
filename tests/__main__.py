"""Run every check: `python3 -m tests`, or only pytest: `python3 -m tests PYTEST_OPTIONS`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ui.bootstrap.commands import run_tests

if __name__ == "__main__":
    sys.exit(run_tests(sys.argv[1:]))
