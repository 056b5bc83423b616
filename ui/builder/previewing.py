"""First records while one composes: asked for in the background, so that no page waits, and kept for who asks again."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from threading import Lock
from typing import Final

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

_KEPT: Final = 64
# One that waits for a server holds nobody else up, of all who use this process.
_AT_ONCE: Final = 4
_SERVED_S: Final = 60


class Previews:
    """Previews by what they are made of; the same pipeline and files give the same records."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_AT_ONCE, "preview")
        self._lock = Lock()
        self._asked: OrderedDict[str, Future[Preview]] = OrderedDict()

    def ask(self, key: str, make: Callable[[], Preview]) -> Future[Preview]:
        """The preview of a key, being made where nobody has asked before. What nobody waits for is given up."""
        with self._lock:
            if key not in self._asked:
                for other in self._asked.values():
                    other.cancel()
                self._asked[key] = self._pool.submit(make)
            self._asked.move_to_end(key)
            while len(self._asked) > _KEPT:
                self._asked.popitem(last=False)[1].cancel()
            # One that was given up while it waited is asked for again.
            if self._asked[key].cancelled():
                self._asked[key] = self._pool.submit(make)
            return self._asked[key]


@cache
def previews() -> Previews:
    """The process's previews: all sessions share one Spark."""
    return Previews()


def preview_of(pipeline: Pipeline, node_id: str) -> Future[Preview] | StudioError:
    """The first records of a node, as soon as they are there; or what has to be put right before.

    Only the node and what it is made of counts: the rest of the pipeline may still be wrong. NotAsked where a server
    has rows, and this session has not said that it may be asked.
    """
    part = ancestors(pipeline, node_id)
    verdict = checked(part)
    if verdict.plan is None:
        return verdict.problems[0]
    plan = verdict.plan
    asked = first_not_asked((node.id, node.operator) for node in plan.sources if isinstance(node.operator, Source))
    if asked is not None:
        return asked
    key = f"{node_id}\n{_stamps(plan)}\n{part.model_copy(update={'name': '', 'description': ''}).to_json()}"
    there = elsewhere()

    def ask() -> Preview:
        # Its thread has no page, which would say where else files are.
        with looking_at(there), scratch("web") as web, fetching(web, BEGINNING):
            return first_records(plan, node_id, gate().spark, workspace.folder())

    return previews().ask(key, ask)


def _stamps(plan: Plan) -> str:
    """What changes when a file does; a server is asked again after a while."""
    stamps: list[object] = []
    if any(isinstance(node.operator, Source) and node.operator.server for node in plan.sources):
        stamps.append(int(time.monotonic() // _SERVED_S))
    for node in plan.sources:
        if isinstance(node.operator, FileSource):
            stamps += [
                (file.path, file.modified_ns, file.size) for file in node.operator.files(node.id, workspace.folder())
            ]
    return repr(stamps)
