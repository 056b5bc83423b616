"""Start the app: `python3 -m ui [--store FILE] [streamlit options]`, on a machine that has only Python."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ui.bootstrap.commands import start_app

if __name__ == "__main__":
    sys.exit(start_app(sys.argv[1:]))
