"""An operator's state for a key as of an event: the engine's own kernel replays the store's records of that key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from engine.contract.recorder import ALL
from engine.errors import NotReplayable
from engine.expressions.analyzer import TypeRules
from engine.local.jobs import Spark
from engine.model.changelog import RowKind
from engine.model.pipeline import Pipeline
from engine.planner import Plan, check
from engine.reading.files.storage import looking_at
from engine.replay import KeyedNode, Replay, Replayed
from engine.replay.question import Question
from storage import Store
from storage.errors import RecordsNotKept
from storage.library.replays import KeyRecords
from storage.model import Run
from storage.wanted import Filter, equal
from ui.engines.far_files import far_files_of
from ui.shell import workspace

MOST: Final = 100_000
"""The most records of one key that are replayed unless more are requested; they take about a second."""
_AT_ONCE: Final = 50_000
_AROUND: Final = 400
_KEYS_SHOWN: Final = 40

Key = tuple[Any, ...]


@dataclass(frozen=True)
class KeyState:
    """The state of a key after an event, and before it. total: the number of its records up to the event.

    now: as of an earlier event if there are more records than were replayed.
    """

    now: Replayed
    before: Replayed | None
    total: int

    @property
    def is_cut(self) -> bool:
        """Whether there are records that were not replayed."""
        return self.total > self.now.records


class Touched(NamedTuple):
    """The keys that an event touched. is_cut: whether it may have touched more."""

    keys: tuple[Key, ...] = ()
    is_cut: bool = False


def plan_of(run: Run) -> Plan:
    """The plan of a run. Raises StudioError if its sources can no longer be read."""
    return _plan(run.document, run.engine)


@lru_cache(maxsize=16)
def _plan(document: str, engine: str) -> Plan:
    with looking_at(far_files_of(engine)):
        verdict = check(Pipeline.from_json(document), TypeRules(), workspace.folder())
    if verdict.plan is not None:
        return verdict.plan
    raise verdict.problems[0]


def state_of(
    store: Store, run_id: int, node: KeyedNode, key: Sequence[Any], event: int, spark: Spark, most: int | None = MOST
) -> KeyState | None:
    """The state of a key after an event; None if no record has that key. A key's parts may be texts.

    The records are read in batches, up to about `most` of them in total; None: all. Raises NotReplayable if records
    that determine the state were deleted.
    """
    _check_history(store, run_id, node, event)
    if node.is_bundled:
        return _state_in_bundles(store, run_id, node, key, event, spark)
    questions = node.questions(key)
    wanted = None if all(query.is_exact for query in questions) else key
    replay = Replay(node, store.replays.marks(run_id), event)
    before: Replayed | None = None
    done = read = 0
    is_cut = False
    # First up to the previous event, so that one replay gives the state before the event and after it.
    for last in (event - 1, event):
        while done < last and not is_cut:
            records_by_port = {
                query.port: key_records(store, run_id, query, last, _AT_ONCE, first=done + 1) for query in questions
            }
            # If a batch is cut off, its last event may be incomplete.
            until = min([last, *(records.last_seq - 1 for records in records_by_port.values() if records.is_cut)])
            replay.feed({port: records.table for port, records in records_by_port.items()}, wanted, until, spark)
            read += sum(len(records.table) for records in records_by_port.values())
            is_cut = until < last and (until <= done or (most is not None and read >= most))
            done = max(done, until)
        before = replay.state(done) if last < event else before
    now = replay.state(done)
    if now is None:
        return None
    return KeyState(now, None if is_cut else before, _count(store, run_id, questions, event) if is_cut else now.records)


def _check_history(store: Store, run_id: int, node: KeyedNode, event: int) -> None:
    """Raise NotReplayable if records that determine the state after an event, or before it, were deleted.

    Of an updating input, the rows that were in its table before the deletion are kept: a replay begins with them.
    """
    for _, edge in store.runs.stored(run_id).input_edges(node.plan.id):
        if edge.share != ALL:
            raise NotReplayable(str(RecordsNotKept(run_id, [edge.name])), node.plan.id)
        if edge.kept_from == 1:
            continue
        deleted = f"the records of {edge.name} before event {edge.kept_from:,} were deleted."
        if edge.is_insert_only or node.is_bundled:
            message = f"{deleted} Its state is computed from them, too."
            raise NotReplayable(message, node.plan.id)
        if event < edge.kept_from:
            message = f"{deleted} Go to that event or to a later one."
            raise NotReplayable(message, node.plan.id)


def _state_in_bundles(
    store: Store, run_id: int, node: KeyedNode, key: Sequence[Any], event: int, spark: Spark
) -> KeyState | None:
    """The same in mini-batch. Raises NotReplayable if too many records of all keys determine the ends of bundles."""
    records_by_port = {query.port: key_records(store, run_id, query, event, MOST) for query in node.questions()}
    if any(records.is_cut for records in records_by_port.values()):
        message = (
            "it works in bundles (mini-batch). The end of a bundle depends on the records of all keys, and there "
            f"are more than {MOST:,} up to event {event:,}. Go to an earlier event."
        )
        raise NotReplayable(message, node.plan.id)
    replay = Replay(node, store.replays.marks(run_id), event)
    replay.feed({port: records.table for port, records in records_by_port.items()}, key, event - 1, spark)
    before = replay.state(event - 1)
    replay.feed({}, key, event, spark)
    now = replay.state(event)
    return None if now is None else KeyState(now, before, now.records)


def touched_keys(store: Store, run_id: int, node: KeyedNode, event: int, spark: Spark) -> Touched:
    """The keys that an event touched: those of its input records, else those of the records emitted for it."""
    now = {query.port: key_records(store, run_id, query, event, _AROUND, first=event) for query in node.questions()}
    keys = node.keys({port: records.table for port, records in now.items()}, spark)
    is_cut = any(records.is_cut for records in now.values())
    if not keys:
        emitted = store.changelog.page(run_id, node.plan.id, filter=Filter(from_seq=event, to_seq=event), limit=_AROUND)
        keys = node.keys_of_output([record.values for record in emitted.records])
        is_cut = emitted.total > len(emitted.records)
    return Touched(keys[:_KEYS_SHOWN], is_cut or len(keys) > _KEYS_SHOWN)


def keys_before(store: Store, run_id: int, node: KeyedNode, event: int, spark: Spark) -> tuple[Key, ...]:
    """Some keys of the last records up to an event, the newest first."""
    last = {query.port: _last(store, run_id, query, event) for query in node.questions()}
    return node.keys(last, spark, newest_first=True)[:_KEYS_SHOWN]


def key_records(
    store: Store, run_id: int, question: Question, event: int, limit: int, *, first: int | None = None
) -> KeyRecords:
    """The first records of a question's key up to an event. first: only from this event on."""
    wanted = Filter(_kinds(question), terms=equal(question.equals), from_seq=first, to_seq=event)
    return store.replays.records(run_id, question.node, question.output, wanted, limit)


def _last(store: Store, run_id: int, question: Question, event: int) -> Any:
    """The last records of an input up to an event."""
    return store.replays.last_records(run_id, question.node, question.output, event, _AROUND)


def _count(store: Store, run_id: int, questions: Sequence[Question], event: int) -> int:
    """The number of records of a key; if a part of the key is computed, of those that may belong to it."""
    wanted = [(query, Filter(_kinds(query), terms=equal(query.equals), to_seq=event)) for query in questions]
    return sum(store.changelog.count(run_id, query.node, query.output, filter=filter) for query, filter in wanted)


def _kinds(question: Question) -> frozenset[RowKind]:
    return question.kinds if len(question.kinds) < len(RowKind) else frozenset()
