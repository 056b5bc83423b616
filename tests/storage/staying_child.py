"""A process that records a run whose changelogs stay in a folder, epoch by epoch, until it is killed.

python -m tests.storage.staying_child STORE FOLDER
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from pathlib import Path

from storage import Store
from tests.storage.staying_runs import StayingRun
from tests.storage.written_runs import Epoch, Event, columns, edge, plan

EVENTS = 2_000
SCHEMA = columns(word="string", n="bigint")


def records_of(epoch: int) -> list[Event]:
    """The records of an epoch: two of each event."""
    seqs = range(epoch * EVENTS + 1, (epoch + 1) * EVENTS + 1)
    both = ((seq, kind) for seq in seqs for kind in ("-U", "+U"))
    return [(seq, bytes([kind == "+U"]), kind, (f"w{seq % 7}", seq)) for seq, kind in both]


def main() -> None:
    """Record without an end. A line for each epoch that is committed."""
    store, folder = sys.argv[1:]
    planned = plan(edge("counts", SCHEMA, "[I,UB,UA]", ["word"]))
    with Store.open(store) as opened, tempfile.TemporaryDirectory() as files:
        run = opened.runs.create("a run", planned.pipeline_json)
        recording = StayingRun.of(opened, run.run_id, f"{folder}/run-{run.run_id}")
        recording.begin(planned)
        for number in itertools.count():
            recording.commit(Epoch(number, {"counts": records_of(number)}, files=3).write(Path(files), planned.edges))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
