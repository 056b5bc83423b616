"""First records while a pipeline is composed, and what a run of it will take: computed in the background, so that no
page waits, and cached.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from engine.contract.source import Source
from engine.errors import StudioError
from engine.local import Spark
from engine.local.preview import Preview, first_records
from engine.local.run_size import RunSize, run_size
from engine.model.pipeline import Pipeline
from engine.planner import Plan
from engine.reading.files.source import FileSource
from engine.reading.files.storage import elsewhere, looking_at
from engine.reading.files.web import BEGINNING, fetching
from engine.scratch import scratch
from ui.builder.checking import checked
from ui.builder.editing import ancestors
from ui.builder.server_consent import NotAsked, first_not_asked
from ui.shell import workspace
from ui.shell.engine_gate import gate
from ui.shell.kept import kept

_KEPT: Final = 64
# Several at once, so that a preview that waits for a server does not delay those of other users of the process.
_AT_ONCE: Final = 4
_SERVED_S: Final = 60
_KEY: Final = "preview-asker"
Made = TypeVar("Made")


class Asker:
    """A session that asks for previews. It shows one at a time."""


class Previews(Generic[Made]):
    """Previews by a key of their pipeline and files; the same key gives the same records."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "preview")
        self._lock = Lock()
        self._futures: OrderedDict[str, Future[Made]] = OrderedDict()
        self._shown: WeakKeyDictionary[Asker, str] = WeakKeyDictionary()

    def ask(self, key: str, make: Callable[[], Made], asker: Asker) -> Future[Made]:
        """The cached or newly submitted preview of a key.

        If the asker's last preview has not started and no other asker shows it, it is cancelled.
        """
        with self._lock:
            last = self._shown.get(asker)
            self._shown[asker] = key
            if last is not None and last in self._futures and last not in self._shown.values():
                self._futures[last].cancel()
            # A preview that was cancelled before it started is submitted again.
            if key not in self._futures or self._futures[key].cancelled():
                self._futures[key] = self._pool.submit(make)
            self._futures.move_to_end(key)
            while len(self._futures) > _KEPT:
                self._futures.popitem(last=False)[1].cancel()
            return self._futures[key]


@cache
def previews() -> Previews[Preview]:
    """The process's previews: all sessions share one Spark."""
    return Previews()


@cache
def _sizes() -> Previews[RunSize]:
    return Previews()


def preview_of(pipeline: Pipeline, node_id: str) -> Future[Preview] | StudioError:
    """The first records of a node, as a future; or the problem that prevents them.

    Only the node and everything upstream of it are checked: the rest of the pipeline may be invalid. NotAsked if the
    rows are on a server that this session has not agreed to contact.
    """
    part = ancestors(pipeline, node_id)
    verdict = checked(part)
    if verdict.plan is None or node_id not in verdict.derived:
        return verdict.problems[0]
    if (not_asked := _not_asked(verdict.plan)) is not None:
        return not_asked
    make = partial(first_records, verdict.plan, node_id)
    return previews().ask(f"{node_id}\n{_key(verdict.plan, part)}", _there(make), kept(_KEY, Asker))


def size_of(pipeline: Pipeline) -> Future[RunSize] | None:
    """What a bounded run will take; None if the pipeline is not valid, or nobody has agreed to ask a server of it."""
    plan = checked(pipeline).plan
    if plan is None or _not_asked(plan) is not None:
        return None
    return _sizes().ask(_key(plan, pipeline), _there(partial(run_size, plan)), kept(_KEY, Asker))


def _not_asked(plan: Plan) -> NotAsked | None:
    return first_not_asked((node.id, node.operator) for node in plan.sources if isinstance(node.operator, Source))


def _key(plan: Plan, pipeline: Pipeline) -> str:
    return f"{_stamps(plan)}\n{pipeline.model_copy(update={'name': '', 'description': ''}).to_json()}"


def _there(make: Callable[[Spark, Path], Made]) -> Callable[[], Made]:
    """Make it in another thread, which has no page from which it would know where else files are."""
    there = elsewhere()

    def ask() -> Made:
        with looking_at(there), scratch("web") as web, fetching(web, BEGINNING):
            return make(gate().spark, workspace.folder())

    return ask


def _stamps(plan: Plan) -> str:
    """A text that changes if a file does; for servers it changes after a while, so that they are asked again."""
    stamps: list[object] = []
    if any(isinstance(node.operator, Source) and node.operator.server for node in plan.sources):
        stamps.append(int(time.monotonic() // _SERVED_S))
    for node in plan.sources:
        if isinstance(node.operator, FileSource):
            stamps += [
                (file.path, file.modified_ns, file.size) for file in node.operator.files(node.id, workspace.folder())
            ]
    return repr(stamps)
