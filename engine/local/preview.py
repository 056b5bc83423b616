"""The first records of an output, computed from the first rows of the sources: a fast preview of an edge.

The local executor computes them, mostly without Spark. The first rows are treated as the whole input, so windows fire
as at its end. Mini-batch is ignored: the ends of its bundles depend on records that are not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from engine.contract.frames import POSITION
from engine.errors import RunFailed, StudioError
from engine.local import LocalRun, Spark
from engine.local.sources import read
from engine.model.options import MINI_BATCH
from engine.model.printing import Printed, printable
from engine.planner import Plan
from engine.spark.failures import failure_sentence

ROWS: Final = 100
_SHOWN: Final = 200


@dataclass(frozen=True)
class Preview:
    """The first records of an output in order of position. rows: by source, the number of rows that were used.

    is_whole: no source has more rows than that.
    """

    columns: tuple[str, ...]
    records: tuple[Printed, ...]
    rows: Mapping[str, int]
    is_whole: bool


def first_records(plan: Plan, node_id: str, spark: Spark, folder: Path, *, rows: int = ROWS) -> Preview:
    """The output of a node for the first rows of the sources. Raises SourceError, RunFailed.

    spark: only used for sources and expressions that need it.
    """
    try:
        return _first_records(plan, node_id, spark, folder, rows)
    except StudioError:
        raise
    except Exception as error:
        raise RunFailed(failure_sentence(error), node_id) from error


def _first_records(plan: Plan, node_id: str, spark: Spark, folder: Path, rows: int) -> Preview:
    options = {name: text for name, text in plan.pipeline.options.items() if name != MINI_BATCH.name}
    plan = replace(plan, pipeline=plan.pipeline.model_copy(update={"options": options}))
    # Of all sources, not only those above the node: events are numbered as in a run.
    events = read(plan, spark, folder, rows)
    table = LocalRun(plan, events, spark).records(node_id).slice(0, _SHOWN)
    schema = plan.node(node_id).schema
    names, in_zone = schema.names, plan.zone
    columns = [printable(table.column(name)) for name in POSITION]
    columns += [printable(table.column(column.name), column.type, in_zone) for column in schema]
    return Preview(
        names,
        tuple(Printed(seq, step, kind, row) for seq, step, kind, *row in zip(*columns, strict=True)),
        {name: len(source_events) for name, source_events in events.items()},
        all(source_events.is_whole for source_events in events.values()),
    )
