"""First records while a pipeline is composed: computed in the background, so that no page waits, and cached."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

from engine.contract.source import Source
from engine.errors import StudioError
from engine.local.preview import Preview, first_records
from engine.model.pipeline import Pipeline
from engine.planner import Plan
from engine.reading.files.source import FileSource
from engine.reading.files.storage import elsewhere, looking_at
from engine.reading.files.web import BEGINNING, fetching
from engine.scratch import scratch
from ui.builder.checking import checked
from ui.builder.editing import ancestors
from ui.builder.server_consent import first_not_asked
from ui.shell import workspace
from ui.shell.engine_gate import gate
from ui.shell.kept import kept

_KEPT: Final = 64
# Several at once, so that a preview that waits for a server does not delay those of other users of the process.
_AT_ONCE: Final = 4
_SERVED_S: Final = 60
_KEY: Final = "preview-asker"


class Asker:
    """A session that asks for previews. It shows one at a time."""


class Previews:
    """Previews by a key of their pipeline and files; the same key gives the same records."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "preview")
        self._lock = Lock()
        self._futures: OrderedDict[str, Future[Preview]] = OrderedDict()
        self._shown: WeakKeyDictionary[Asker, str] = WeakKeyDictionary()

    def ask(self, key: str, make: Callable[[], Preview], asker: Asker) -> Future[Preview]:
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
def previews() -> Previews:
    """The process's previews: all sessions share one Spark."""
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
    plan = verdict.plan
    not_asked = first_not_asked((node.id, node.operator) for node in plan.sources if isinstance(node.operator, Source))
    if not_asked is not None:
        return not_asked
    key = f"{node_id}\n{_stamps(plan)}\n{part.model_copy(update={'name': '', 'description': ''}).to_json()}"
    there = elsewhere()

    def ask() -> Preview:
        # The thread has no page, from which it would know where else files are.
        with looking_at(there), scratch("web") as web, fetching(web, BEGINNING):
            return first_records(plan, node_id, gate().spark, workspace.folder())

    return previews().ask(key, ask, kept(_KEY, Asker))


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
