"""What an operator would have emitted for a record if no state had expired: its key is replayed without a TTL."""

from __future__ import annotations

from functools import lru_cache

from engine.expressions.analyzer import TypeRules
from engine.local.jobs import Spark
from engine.model.pipeline import Pipeline
from engine.model.state_ttl import with_ttl
from engine.planner import Plan, check
from engine.reading.files.storage import looking_at
from engine.replay import keyed_node
from storage import Store
from storage.event_time.expired_records import ExpiredRecord
from storage.model import Run
from ui.engines.far_files import far_files_of
from ui.inspect.outcomes import Condition, Outcome, key_of, outcome, replayable
from ui.inspect.replaying import plan_of
from ui.shell import workspace


def expiry_outcome(store: Store, run: Run, record: ExpiredRecord, spark: Spark) -> Outcome:
    """What came out for the record's event, and what would have without a TTL. Raises StudioError."""
    ran, free = (keyed_node(plan, record.node) for plan in (plan_of(run), _without_ttl(run.document, run.engine)))
    replayable(ran)
    key = key_of(store, run.run_id, ran, record, spark)
    marks = store.replays.marks(run.run_id)
    conditions = Condition(ran, marks), Condition(free, marks)
    return outcome(store, run.run_id, key, conditions, record.seq, spark, of_event=record.seq)


@lru_cache(maxsize=16)
def _without_ttl(document: str, engine: str) -> Plan:
    with looking_at(far_files_of(engine)):
        verdict = check(with_ttl(Pipeline.from_json(document), 0), TypeRules(), workspace.folder())
    if verdict.plan is not None:
        return verdict.plan
    raise verdict.problems[0]
