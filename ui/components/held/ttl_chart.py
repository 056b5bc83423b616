"""What a TTL saves against what it changes: the size of the state, and the share of events with other results."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from ui.runs.ttl_trials import FoundTrial
from ui.shell import theme, words


def ttl_chart(trials: Sequence[FoundTrial], smallest_ms: int | None) -> go.Figure:
    """A point for each TTL, with its name. trials: in order of TTLs, after that without expiry."""
    chart = theme.figure(320)
    shown = [trial for trial in trials if trial.ttl_ms]
    chart.add_scatter(
        x=[trial.entries for trial in shown],
        y=[100 * trial.share for trial in shown],
        mode="lines+markers+text",
        name="tried TTLs",
        text=_labels(shown),
        textposition="top left",
        cliponaxis=False,
        line={"width": 2, "color": theme.series_color(0)},
        marker={"size": 9},
        customdata=[f"TTL {words.duration(trial.ttl_ms)}<br>{_words_of(trial)}" for trial in shown],
        hovertemplate="%{customdata}<extra></extra>",
    )
    for trial in shown:
        if trial.ttl_ms == smallest_ms:
            chart.add_scatter(
                x=[trial.entries],
                y=[100 * trial.share],
                mode="markers",
                name="smallest sufficient TTL",
                cliponaxis=False,
                marker={"symbol": "star", "size": 15, "color": theme.series_color(4)},
                hoverinfo="skip",
            )
    for trial in trials:
        if not trial.ttl_ms:
            chart.add_scatter(
                x=[trial.entries],
                y=[0],
                mode="markers",
                name="no TTL",
                cliponaxis=False,
                marker={"symbol": "diamond", "size": 12, "color": theme.series_color(3)},
                customdata=[f"no TTL<br>{_words_of(trial)}"],
                hovertemplate="%{customdata}<extra></extra>",
            )
    chart.update_xaxes(title="most entries of state at once", rangemode="tozero", tickformat=",d")
    chart.update_yaxes(title="events with other results (%)", rangemode="tozero")
    return chart


def _labels(trials: Sequence[FoundTrial]) -> list[str]:
    """The name of each TTL; where several are at one point, the first and the last of them, once."""
    labels = []
    for trial in trials:
        same = [other for other in trials if (other.entries, other.changed) == (trial.entries, trial.changed)]
        name = words.duration(same[0].ttl_ms) + (f" to {words.duration(same[-1].ttl_ms)}" if len(same) > 1 else "")
        labels.append(name if trial is same[0] else "")
    return labels


def _words_of(trial: FoundTrial) -> str:
    held = words.count(trial.entries, "entry", "entries")
    return f"{held}, {words.size(trial.size)}<br>{words.count(trial.changed, 'event')} with other results"
