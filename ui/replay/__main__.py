"""The command `python3 -m ui.replay RUN FILE.html [--events FIRST-LAST] [--story] [--store FILE]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from engine.errors import PipelineError, StudioError
from storage import Store, default_path
from storage.errors import StoreError
from storage.model import EventRange
from ui.replay.page import replay_as_html
from ui.stories.telling import story_of_run


def main() -> int:
    """Write the file. Returns the exit status: 2 for a user error, with one sentence on standard error."""
    parser = argparse.ArgumentParser(prog="python3 -m ui.replay", description="A run as one HTML file that plays.")
    parser.add_argument("run", type=int, metavar="RUN", help="the number of the run in the store")
    parser.add_argument("file", type=Path, metavar="FILE", help="a new file")
    parser.add_argument("--events", default="", metavar="FIRST-LAST", help="default: from the first kept event on")
    parser.add_argument("--story", action="store_true", help="with the story of the run's pipeline")
    parser.add_argument("--store", type=Path, metavar="FILE", help="the DuckDB file that keeps the run")
    args = parser.parse_args()
    first, _, last = args.events.partition("-")
    events = EventRange(int(first) if first.isdecimal() else None, int(last) if last.isdecimal() else None)
    try:
        with Store.open(args.store or default_path()) as store:
            run = store.runs.get(args.run)
            story = story_of_run(store, run) if args.story else None
            if args.story and (story is None or not story.steps):
                message = f"the pipeline of run {run.run_id} has no story. Press Story on the run to write one."
                raise PipelineError(message)
            text = replay_as_html(store, run, events, story)
        with args.file.open("x", encoding="utf-8") as file:
            file.write(text)
    except (StudioError, StoreError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
