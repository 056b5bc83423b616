"""What of a run was late, in sentences: how many records, what became of them, and the delay they needed. Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from storage.event_time.model import LateSummary, LateTotals
from storage.model import Run
from ui.components.runs.so_far import so_far
from ui.shell import words


def late_sentence(run: Run, totals: LateTotals, summaries: Sequence[LateSummary], *, has_several: bool = False) -> str:
    """The records that were late, each once; how many were dropped and used, by whom; the delay that they needed.

    has_several: whether the run has several sources, so that it is told whose delay is meant.
    """
    verb = "was" if totals.late == 1 else "were"
    scope = f" {so_far(run)}" if so_far(run) else ""
    outcomes = [*_dropped(totals), *_used(totals)]
    start = f"**{totals.late:,} of {words.count(totals.records, 'record')} {verb} late**{scope}"
    return f"{start}: {'; '.join(outcomes)}.{_delays(totals, summaries, has_several=has_several)}"


def lines_sentence(totals: LateTotals) -> str:
    """Why the list of late records has more lines than there are records; empty if it has not."""
    if totals.lines == totals.late:
        return ""
    return (
        f"The list has {totals.lines:,} lines for these {totals.late:,} records, one for each operator for which a "
        "record was late."
    )


def _dropped(totals: LateTotals) -> list[str]:
    by_node = {node: dropped for node, (dropped, _) in totals.by_node.items() if dropped}
    return [_outcome(totals.dropped, "dropped", by_node)] if totals.dropped else []


def _used(totals: LateTotals) -> list[str]:
    by_node = {node: used for node, (_, used) in totals.by_node.items() if used}
    if not totals.used:
        # The records that were used by one operator were dropped by another.
        return [f"{_times(by_node)} of these were late but used elsewhere, by {_names(by_node)}"] if by_node else []
    return [_outcome(totals.used, "late but used", by_node)]


def _outcome(records: int, what: str, by_node: dict[str, int]) -> str:
    """One outcome: the number of records, and by which operators. A record can have it at several operators."""
    verb = "was" if records == 1 else "were"
    text = f"**{records:,} {verb} {what}**"
    if len(by_node) == 1 and sum(by_node.values()) == records:
        return f"{text} by {_names(by_node)}"
    return f"{text}, {_times(by_node)} in all: by {_names(by_node, counted=True)}" if by_node else text


def _times(by_node: dict[str, int]) -> str:
    return words.count(sum(by_node.values()), "time")


def _names(by_node: dict[str, int], *, counted: bool = False) -> str:
    names = [words.escaped(node) + (f" ({count:,})" if counted else "") for node, count in by_node.items()]
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _delays(totals: LateTotals, summaries: Sequence[LateSummary], *, has_several: bool) -> str:
    """The delays with which nothing had been dropped; where nothing was dropped, with which nothing had been late."""
    needed = partial(_needed, summaries, has_several=has_several)
    dropped = needed(lambda each: each.dropped, lambda each: each.dropped_delay_ms)
    if dropped:
        return f" {dropped} would have kept {'it' if totals.dropped == 1 else 'all that were dropped'}."
    used = needed(lambda each: each.used, lambda each: each.used_delay_ms)
    return f" With {used[:1].lower()}{used[1:]}, none of them had been late." if used else ""


def _needed(
    summaries: Sequence[LateSummary],
    count: Callable[[LateSummary], int],
    delay_ms: Callable[[LateSummary], int | None],
    *,
    has_several: bool,
) -> str:
    """The smallest delay of each source, such as `A watermark delay of 3 s`; empty if one is not known."""
    needed: dict[str, int] = {}
    for summary in summaries:
        own = delay_ms(summary)
        if count(summary) and own is None:
            return ""
        if own is not None:
            needed[summary.source] = max(needed.get(summary.source, 0), own)
    delays = [
        f"**{words.duration(delay)}**{f' at {words.escaped(source)}' if has_several or len(needed) > 1 else ''}"
        for source, delay in needed.items()
    ]
    if not delays:
        return ""
    return f"{'A watermark delay' if len(delays) == 1 else 'Watermark delays'} of {' and '.join(delays)}"
