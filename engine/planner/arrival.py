"""Checks the order of arrival of the sources before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.contract.source import Source
from engine.errors import PipelineError, unknown_name
from engine.model.options import CLOCK, goes_by_arrival
from engine.model.pipeline import Pipeline
from engine.model.schema import Column
from engine.model.types import DATE, FLOATS, INTEGERS, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from engine.planner.derive import DerivedNode
from engine.planner.plan import tables_of

_NUMBERS: Final = {"whole numbers", "decimals", "approximate numbers"}


def check_arrival(pipeline: Pipeline, nodes: Mapping[str, DerivedNode]) -> None:
    """Raise PipelineError for an order or a clock that the sources cannot have.

    Such an order lists a non-source, merges sources of which one has no event time, or sorts by columns that cannot be
    compared; such a clock goes by columns of
    arrival times, and no source has one, or one is of another type.
    """
    sources = {name: node.operator for name, node in nodes.items() if isinstance(node.operator, Source)}
    if goes_by_arrival(pipeline.options):
        clocks = [source.clock_in(nodes[name].derived.schema, name) for name, source in sources.items()]
        if not any(clocks):
            message = (
                f"options: {CLOCK.name} is ARRIVAL_COLUMN, but no source says when its records arrived. Set the "
                "arrival column of a source; above a CREATE TABLE it is "
                '-- studio.arrived: "its name".'
            )
            raise PipelineError(message, "", "options")
    match pipeline.arrival.mode:
        case "listed":
            for name in dict.fromkeys(pipeline.arrival.order):
                if name not in sources:
                    message = f"arrival.order: {unknown_name('source', name, sources)}."
                    raise PipelineError(message, "", "arrival.order")
        case "by_event_time":
            for name in _streams(sources, nodes):
                if nodes[name].derived.schema.event_time is None:
                    message = (
                        "the sources arrive by event time, but this one has none. Set its event time, or choose "
                        "another order of arrival."
                    )
                    raise PipelineError(message, name, "event_time")
        case "by_column":
            streams = _streams(sources, nodes)
            _check_columns({name: streams[name].arrival_in(nodes[name].derived.schema, name) for name in streams})
        case "recorded":
            runs = {name: source.recorded_run for name, source in sources.items()}
            for name, run in runs.items():
                if run is None or run != next(iter(runs.values())):
                    what = "is no recording" if run is None else "is a recording of another run than the others"
                    message = (
                        f"arrival: records can arrive as they were recorded where all sources are recordings of one "
                        f"run, but {name} {what}. Choose another order of arrival."
                    )
                    raise PipelineError(message, "", "arrival.mode")
        case "one_after_the_other" | "in_turn":
            pass


def _streams(sources: Mapping[str, Source], nodes: Mapping[str, DerivedNode]) -> dict[str, Source]:
    """The sources but lookup tables, which come before all others."""
    tables = tables_of(
        (node.operator, [nodes[edge.source].output(edge.source_port) for edge in node.edges]) for node in nodes.values()
    )
    return {name: source for name, source in sources.items() if name not in tables}


def _check_columns(columns: Mapping[str, Column]) -> None:
    """Raise PipelineError unless these columns, by source, are of one kind."""
    kinds: dict[str, str] = {}
    for name, column in columns.items():
        kind = _kind_of(column.type)
        if kind is None:
            message = (
                f"the arrival column {column.name} is {column.type.flink}. Sources are merged by numbers, times "
                "or texts; choose another arrival column."
            )
            raise PipelineError(message, name, "arrival_column")
        other = next((before for before in kinds if not _can_be_merged(kind, kinds[before])), None)
        if other is not None:
            if {kind, kinds[other]} <= _NUMBERS:
                advice = (
                    "DECIMALs are not merged with FLOAT or DOUBLE. Give one of the columns another type: set it in the "
                    "types of its source, or add a computed column with CAST there."
                )
            else:
                advice = "Choose columns that are all numbers, all times or all texts."
            message = (
                f"the arrival column {column.name} is {column.type.flink}, but {columns[other].name} of {other} "
                f"is {columns[other].type.flink}. {advice}"
            )
            raise PipelineError(message, name, "arrival_column")
        kinds[name] = kind


def _can_be_merged(kind: str, other: str) -> bool:
    # A DOUBLE does not hold the numbers of a DECIMAL, and a DECIMAL holds neither NaN nor all DOUBLEs.
    return kind == other or ({kind, other} <= _NUMBERS and {kind, other} != {"decimals", "approximate numbers"})


def _kind_of(type_: Type) -> str | None:
    """What the values of a type are when they are put in order; None if sources cannot be merged by them."""
    if type_.is_number:
        return "approximate numbers" if type_ in FLOATS else "whole numbers" if type_ in INTEGERS else "decimals"
    return {DATE: "times", TIMESTAMP: "times", TIMESTAMP_NTZ: "times", STRING: "texts"}.get(type_)
