"""Random pipelines on Flink and here for so many seconds, in one session of Flink, with counts by operator.

    CHANGELOG_STUDIO_FLINK=<python with apache-flink>  python -m tests.differential --seconds 600 --seed 7

What differs is shrunk and printed. --record FILE writes up to --most pipelines whose changelogs are equal record for
record, with Flink's answers, for `test_recorded.py`, which needs no Flink.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from random import Random

from tests.differential.arrived import AnyJob, plan_of, run_locally, with_rows
from tests.differential.random_jobs import random_job
from tests.differential.random_joins import random_join
from tests.differential.random_windows import random_windows
from tests.differential.test_fuzz import FLINK, Flink, difference, planned_or_none, records_of, shrunk

MAKERS = (random_job, random_join, random_windows)


def main(arguments: list[str]) -> int:
    """Give 1 where anything differs."""
    parser = argparse.ArgumentParser(prog="python -m tests.differential", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--most", type=int, default=100)
    given = parser.parse_args(arguments)
    if not FLINK:
        sys.stderr.write("CHANGELOG_STUDIO_FLINK names no interpreter with apache-flink.\n")
        return 2
    flink, random, until = Flink(FLINK), Random(given.seed), time.monotonic() + given.seconds
    ran: Counter[str] = Counter()
    told: Counter[str] = Counter()
    recorded: list[str] = []
    for number, make in enumerate(cycle(MAKERS)):
        if time.monotonic() > until:
            break
        job = make(random)
        planned = planned_or_none(job)
        if planned is None:
            ran["refused here"] += 1
            continue
        names = {node.operator.operator for node in planned.nodes}
        found = difference(flink, job, planned)
        ran["pipelines"] += 1
        ran.update(names)
        if found is None:
            if given.record and len(recorded) < given.most:
                recorded += _recorded(flink, job)
            continue
        outcome = "refused by Flink" if found.startswith("Flink refuses") else "different"
        told[outcome] += 1
        if outcome == "different":
            small = shrunk(flink, job)
            text = difference(flink, small, plan_of(small)) or found
            sys.stdout.write(f"pipeline {number} of seed {given.seed}: {small}\n{text}\n\n")
        else:
            sys.stdout.write(f"pipeline {number} of seed {given.seed}: {found}\n")
        sys.stdout.flush()
    flink.close()
    if given.record:
        given.record.write_text("".join(recorded), encoding="utf-8")
    sys.stdout.write("".join(f"{count:6} {name}\n" for name, count in (*ran.most_common(), *told.most_common())))
    return 1 if told["different"] else 0


def _recorded(flink: Flink, job: AnyJob) -> list[str]:
    """A pipeline with its rows and Flink's changelog, as a line; [] where the two are not equal record for record."""
    planned = plan_of(job)
    ours = records_of(run_locally(planned, job.arrivals).records(planned.nodes[-1].id))
    theirs = flink.run(job, planned)
    if not ours or ours != theirs:
        return []
    pipeline = with_rows(job).model_dump(mode="json", exclude_defaults=True)
    arrivals = [list(row) for row in job.arrivals]
    return [json.dumps({"pipeline": pipeline, "arrivals": arrivals, "flink": theirs}) + "\n"]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
