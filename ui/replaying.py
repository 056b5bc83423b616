"""An operator's state for a key as of an event: the store's records of that key, through the engine's own kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from engine.changelog import RowKind
from engine.errors import StudioError
from engine.pipeline import Pipeline
from engine.planner import Plan, check
from engine.replay import KeyedNode, Replayed, replay
from engine.replay.question import Question, Spark
from storage import Store
from storage.model import Filter, Run
from ui import workspace
from ui.engine_gate import EngineStarting, gate

MOST: Final = 20_000
"""Records of one key that are replayed; what comes after them is left out, and said."""
_AROUND: Final = 400
_KEYS_SHOWN: Final = 40

Key = tuple[Any, ...]


@dataclass(frozen=True)
class KeyState:
    """The state of a key: what was replayed, and how many records the key has up to the event in all."""

    replayed: Replayed
    total: int

    @property
    def is_cut(self) -> bool:
        """Whether it is the state as of an earlier event, since there are too many records."""
        return self.total > self.replayed.records


class StillStarting(StudioError):
    """Spark is needed to plan the pipeline, and is on its way."""


def plan_of(run: Run) -> Plan:
    """The plan that a run had. Raises StudioError where its sources cannot be read any more, or Spark is not there."""
    return _plan(run.document)


@lru_cache(maxsize=16)
def _plan(document: str) -> Plan:
    found = check(Pipeline.from_json(document), gate(), workspace.folder())
    if found.plan is not None:
        return found.plan
    problem = found.problems[0]
    if isinstance(problem, EngineStarting):
        message = "Spark is starting; it types the expressions of this pipeline. Try again in a few seconds."
        raise StillStarting(message)
    raise problem


def state_of(
    store: Store, run_id: int, node: KeyedNode, key: Sequence[Any], event: int, spark: Spark
) -> KeyState | None:
    """The state of a key after an event; None where no record has had it. A key's parts may be texts."""
    questions = node.questions(key)
    found = {each.port: _asked(store, run_id, each, event, MOST) for each in questions}
    cut = [records.last_seq - 1 for records in found.values() if records.is_cut]
    is_exact = all(each.is_exact for each in questions)
    tables = {port: records.table for port, records in found.items()}
    marks = store.replays.marks(run_id)
    made = replay(node, None if is_exact else key, tables, marks, min([event, *cut]), spark)
    if made is None:
        return None
    return KeyState(made, sum(records.total for records in found.values()) if cut else made.records)


def touched_keys(store: Store, run_id: int, node: KeyedNode, event: int, spark: Spark) -> tuple[Key, ...]:
    """The keys that an event touched: of its records, then of what it made the operator emit."""
    now = {each.port: _asked(store, run_id, each, event, _AROUND, event).table for each in node.questions()}
    keys = node.keys(now, spark)
    if keys:
        return keys[:_KEYS_SHOWN]
    emitted = store.changelog.page(
        run_id, node.plan.id, filter=Filter(from_seq=event, to_seq=event), limit=_AROUND
    ).records
    return node.keys_of_output([record.values for record in emitted])[:_KEYS_SHOWN]


def keys_before(store: Store, run_id: int, node: KeyedNode, event: int, spark: Spark) -> tuple[Key, ...]:
    """Some keys of the events up to one, the newest first."""
    last = {each.port: _last(store, run_id, each, event) for each in node.questions()}
    return node.keys(last, spark, newest_first=True)[:_KEYS_SHOWN]


def _asked(store: Store, run_id: int, asked: Question, event: int, limit: int, first: int | None = None) -> Any:
    wanted = Filter(_kinds(asked), equals=asked.equals, from_seq=first, to_seq=event)
    return store.replays.records(run_id, asked.node, asked.output, wanted, limit)


def _last(store: Store, run_id: int, asked: Question, event: int) -> Any:
    """The last records of an input up to an event."""
    return store.replays.last_records(run_id, asked.node, asked.output, event, _AROUND)


def _kinds(asked: Question) -> frozenset[RowKind]:
    return asked.kinds if len(asked.kinds) < len(RowKind) else frozenset()
