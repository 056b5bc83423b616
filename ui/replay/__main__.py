"""The command `python3 -m ui.replay RUN FILE.html [--events FIRST-LAST] [--story NAME] [--store FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.errors import StudioError
from storage import Store, default_path
from storage.errors import StoreError
from storage.model import EventRange
from ui.replay.page import replay_as_html
from ui.stories import stories


def main() -> int:
    """Write the file. Returns the exit status: 2 for a user error, with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python3 -m ui.replay", description="A run as one HTML file that plays.")
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the run in the store")
    parser.add_argument("file", type=Path, metavar="FILE", help="a new file")
    parser.add_argument("--events", default="", metavar="FIRST-LAST", help="default: from the first kept event on")
    parser.add_argument("--story", choices=sorted(stories()), help="the narration")
    parser.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
    args = parser.parse_args()
    first, _, last = args.events.partition("-")
    events = EventRange(int(first) if first.isdecimal() else None, int(last) if last.isdecimal() else None)
    try:
        with Store.open(args.store or default_path()) as store:
            story = stories()[args.story] if args.story else None
            text = replay_as_html(store, store.runs.get(args.run), events, story)
        with args.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except (StudioError, StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
