"""The limits of a shared studio on its runs, in all and for each person, checked when a run starts or is resumed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Timer

from engine.errors import PipelineError
from engine.spark.engines import Engine
from engine.spark.memory import heap, heap_bytes
from storage import Store
from ui.access.people import person
from ui.access.serving import Serving, serving
from ui.runs.job import Job
from ui.shell import words


def check_limits(store: Store, going_on: Collection[Job], made_by: str, engine: Engine) -> None:
    """Raise PipelineError if another run of this person on this engine would exceed a limit of the studio."""
    how = serving()
    if made_by:
        _check_person(how, store, [job for job in going_on if job.made_by == made_by], made_by, engine)
    if how.most_runs is not None and len(going_on) >= how.most_runs:
        message = (
            f"this studio allows {words.count(how.most_runs, 'run')} at once, and {len(going_on)} "
            f"{'is' if len(going_on) == 1 else 'are'} running or waiting. Wait until one ends, or cancel one."
        )
        raise PipelineError(message)
    size = store.size()
    if how.most_bytes is not None and size > how.most_bytes:
        message = (
            f"the store has {words.size(size)}, more than the {words.size(how.most_bytes)} that this studio allows. "
            "Delete runs that nobody needs."
        )
        raise PipelineError(message)


def _check_person(how: Serving, store: Store, own: Collection[Job], made_by: str, engine: Engine) -> None:
    is_own = made_by == person()
    theirs = "your" if is_own else f"{made_by}'s"
    if how.most_runs_each is not None and len(own) >= how.most_runs_each:
        message = (
            f"{'you have' if is_own else f'{made_by} has'} {words.count(len(own), 'run')} going on, and this studio "
            f"allows {how.most_runs_each} per person. Wait until one ends, or cancel one."
        )
        raise PipelineError(message)
    if how.most_memory_each is not None and engine.is_ours:
        used = {job.address for job in own if job.uses_our_memory}
        needed = len(used | {engine.address}) * heap_bytes()
        if needed > how.most_memory_each:
            message = (
                f"{theirs} runs go on on {words.count(len(used), 'engine')} with {heap()} of memory each, and this "
                f"studio allows {words.size(how.most_memory_each)} per person. Run it on {' or '.join(sorted(used))}, "
                "or wait until other runs end."
            )
            raise PipelineError(message)
    if how.most_bytes_each is not None:
        used_bytes = next((usage.size for usage in store.usages() if usage.person == made_by), 0)
        if used_bytes > how.most_bytes_each:
            message = (
                f"{theirs} runs have {words.size(used_bytes)} in the store, and this studio allows "
                f"{words.size(how.most_bytes_each)} per person. Delete runs that you no longer need."
            )
            raise PipelineError(message)


@contextmanager
def in_time(job: Job) -> Iterator[None]:
    """Cancel a run with a sentence once it takes longer than one person's may. A live run takes as long as it takes."""
    minutes = serving().most_minutes_each if job.made_by and job.live is None else None
    if minutes is None:
        yield
        return

    def end() -> None:
        job.cancel.why = (
            f"this studio allows {words.elapsed(60 * minutes)} per run, and this one took longer. Use fewer records, "
            "or ask whoever runs the studio for more."
        )
        job.cancel.set()

    timer = Timer(60 * minutes, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def runs_by_person(going_on: Collection[Job]) -> Counter[str]:
    """How many runs each person has going on."""
    return Counter(job.made_by for job in going_on)
