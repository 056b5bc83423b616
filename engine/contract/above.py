"""Where the watermark of a node's output comes from, or where its event time was lost."""

from __future__ import annotations

from collections.abc import Sequence

from engine.contract.derived import Derived
from engine.contract.operator import Operator
from engine.contract.source import Source
from engine.model.combined_watermark import Above, Combined, latest_of, meeting


def above_of(operator: Operator | Source, node: str, inputs: Sequence[Derived]) -> Above:
    """The origin of an operator's watermark: its inputs, combined. Its output's watermark may be delayed further."""
    if not isinstance(operator, Operator):
        return node
    channels: list[Above] = []
    for input_ in inputs:
        above = input_.above
        # A union directly below another one is merged with it, as in Flink.
        is_one = operator.many_edges and isinstance(above, Combined) and above.is_union and above.made_by == input_.node
        channels += above.inputs if is_one and isinstance(above, Combined) else (above,)
    if operator.goes_by_latest:
        return latest_of(channels)
    return meeting(channels, is_union=operator.many_edges, node=node)


def why_timeless(node: str, operator: Operator | Source, derived: Derived, inputs: Sequence[Derived]) -> str:
    """The nearest place above at which rows have no event time, why, and what helps."""
    if isinstance(operator, Source):
        return f"Declare one in {node}."
    missing = [input_ for input_ in inputs if input_.schema.event_time is None]
    if missing and (operator.many_edges or len(missing) == len(inputs)):
        return missing[0].timeless
    if operator.time_ends:
        return f"{node} loses it: {operator.time_ends}"
    if derived.is_insert_only:
        names = dict.fromkeys(time.name for input_ in inputs if (time := input_.schema.event_time) is not None)
        return f"{node} loses it: add {' or '.join(names)} there, as it is."
    return f"{node} loses it: its results change later. Put this step before it, or let it compute in windows."
