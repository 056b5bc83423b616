"""Which records are late: their most telling values, beside the share that these have among all records.

A picked value is drawn with those of its column, and leads to its records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import plotly.graph_objects as go
import streamlit as st

from engine.contract.source import Source
from engine.errors import StudioError
from engine.model.pipeline import Pipeline
from engine.reading.files.source import ManyFiles
from engine.reading.kafka.source import KafkaTopics
from engine.registry import configured
from storage.event_time.late_group import LateGroup
from storage.event_time.telling_values import LateGroups, TellingColumns, TellingValue
from storage.model import Run
from ui.builder.drafting import open_draft
from ui.components.event_time.late_link import open_late_group
from ui.components.event_time.late_records import none_late
from ui.components.grid import Cell, Row, Table, grid
from ui.runs.operator_lines import pipeline_of
from ui.runs.starting import run_draft
from ui.shell import words, workspace
from ui.shell.theme import DROPPED, IN_TIME, draw_figure

_DROPPED_ONLY, _LATE = "dropped", "late"
# Below it, late records are spread as all records are.
_TELLS: Final = 0.02
_ROW_PX: Final = 44
_LETTER_PX: Final = 8


def late_groups(run: Run, *, dropped: int) -> None:
    """Draw the groups of a source's late records. dropped: how many the run dropped; if any, they can be chosen."""
    sources = [edge.node for edge in workspace.store().runs.stored(run.run_id).sources]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        source = sources[0]
        if len(sources) > 1:
            worst = workspace.store().telling_values.worst_source(run.run_id, dropped=bool(dropped))
            source = st.selectbox("Source", sources, sources.index(worst), key=f"groups-source-{run.run_id}")
        which = _LATE
        if dropped:
            which = st.segmented_control(
                "Which", [_DROPPED_ONLY, _LATE], default=_DROPPED_ONLY, required=True, key=f"groups-which-{run.run_id}"
            )
    with st.spinner("Comparing the late records with all records …"):
        grouped = workspace.store().telling_values.groups(run.run_id, source, dropped=which == _DROPPED_ONLY)
    if not grouped.late:
        none_late(f"No record of {words.escaped(source)} was {which}", run)
        _sources(grouped, which)
        return
    telling = [group for group in grouped.groups if group.bits >= _TELLS]
    if not telling:
        st.info(
            f"The {words.count(grouped.late, f'{which} record')} of {source} are spread over all values like its other "
            "records: no column explains them.",
            icon=":material/info:",
        )
    else:
        st.markdown(headline(grouped, telling[0], which, source))
    picked = _Picked.of(grouped, st.session_state.get(_drawn_key(run), ""), telling)
    if picked is not None:
        draw_figure(_chart(grouped, picked.group, which), "late-groups")
        _lead(run, source, picked, which)
    _sources(grouped, which)
    _offer_place(run, source)
    st.caption("Pick a line to draw its column, and to see its records.")

    def draw(name: str) -> None:
        st.session_state[_drawn_key(run)] = name

    grid(
        _table(grouped, which, picked),
        key=f"groups-grid-{run.run_id}",
        label="Which records are late",
        height=320,
        on_pick=draw,
    )


def _drawn_key(run: Run) -> str:
    return f"groups-drawn-{run.run_id}"


def _name(group: TellingColumns) -> str:
    return " and ".join(group.columns)


@dataclass(frozen=True)
class _Picked:
    """The value that was picked: the most telling one, until somebody picks another."""

    group: TellingColumns
    value: TellingValue

    @classmethod
    def of(cls, found: LateGroups, pick: str, telling: list[TellingColumns]) -> _Picked | None:
        lines = [cls(group, value) for group in found.groups for value in group.values]
        first = (cls(group, _most_telling(found, group)) for group in telling)
        return next((line for line in lines if line.pick == pick), next(first, None))

    @property
    def pick(self) -> str:
        return f"{_name(self.group)}: {', '.join(_texts(self.value))}"


def _lead(run: Run, source: str, picked: _Picked, which: str) -> None:
    """Draw the way to the records of the picked value."""
    values = tuple(zip(picked.group.columns, picked.value.values, strict=True))
    st.button(
        f"See {words.count(picked.value.late, f'{which} record')} with {_named(picked.group, picked.value)}",
        key=f"groups-records-{run.run_id}",
        icon=":material/list:",
        on_click=open_late_group,
        args=(run.run_id, LateGroup(source, values, only_dropped=which == _DROPPED_ONLY)),
    )


def _offer_place(run: Run, source: str) -> None:
    """Draw the offer to run again with the file, or the partition, of each record, if there are several untold ones."""
    pipeline = pipeline_of(run)
    place = _place_of(pipeline, source)
    if place is None:
        return
    what, fact = place
    if st.button(
        f"Group by {what}, too: run again with the {what} of each record",
        key=f"groups-place-{run.run_id}",
        icon=":material/folder_open:",
        type="tertiary",
        help=f"Adds a column to {source}, which all other nodes can use as well.",
    ):
        run_draft(open_draft(_with_column(pipeline, source, what, fact), identity=run.identity))


def _place_of(pipeline: Pipeline, source: str) -> tuple[str, str] | None:
    """What tells where records of a source lie, and its metadata key; None if there is one place, or it is told."""
    try:
        node = pipeline.node(source)
        operator = configured(node)
        if not isinstance(operator, Source) or operator.metadata_keys:
            return None
        if isinstance(operator, KafkaTopics):
            return "partition", "partition"
        has_several = isinstance(operator, ManyFiles) and len(operator.files(source, workspace.folder())) > 1
    except (StudioError, OSError):
        return None
    return ("file", "file.name") if has_several else None


def _with_column(pipeline: Pipeline, source: str, name: str, fact: str) -> Pipeline:
    def told(parameters: dict[str, object]) -> dict[str, object]:
        return {**parameters, "metadata": [{"name": name, "of": fact}]}

    nodes = (node.with_parameters(told(node.parameters)) if node.id == source else node for node in pipeline.nodes)
    return pipeline.model_copy(update={"nodes": tuple(nodes)})


def _sources(found: LateGroups, which: str) -> None:
    """Draw the share of each source in the late records of the run against its share in all records."""
    late, records = (sum(getattr(source, name) for source in found.sources) for name in ("late", "records"))
    if not late:
        return
    shares = [(source.late / late, source.records / records, str(source.values[0])) for source in found.sources]
    said = [
        f"{of_late:.0%} came from {words.escaped(name)}, which sent {of_all:.0%} of all records"
        for of_late, of_all, name in sorted(shares, key=lambda each: each[1] - each[0])
    ]
    st.caption(f"Of the {which} records of all sources, {'; '.join(said)}.")


def headline(found: LateGroups, group: TellingColumns, which: str, source: str) -> str:
    """The most telling value in a sentence: its share of the late records against its share of all. Markdown."""
    value = _most_telling(found, group)
    share, of_all = value.late / found.late, value.records / found.records
    return (
        f"**{share:.0%} of the {which}** {'record has' if found.late == 1 else 'records have'} "
        f"{words.escaped(_named(group, value))}; of all records of {words.escaped(source)} it is {of_all:.1%}."
    )


def _most_telling(found: LateGroups, group: TellingColumns) -> TellingValue:
    return max(group.values, key=lambda each: each.late / found.late - each.records / found.records)


def _named(group: TellingColumns, value: TellingValue) -> str:
    return " and ".join(f"{name} = {text}" for name, text in zip(group.columns, _texts(value), strict=True))


def _texts(value: TellingValue) -> list[str]:
    return ["NULL" if text is None else text for text in value.values]


def _chart(found: LateGroups, group: TellingColumns, which: str) -> go.Figure:
    labels = [words.in_chart(", ".join(_texts(value))) for value in group.values]
    # The title is as high as it is long, and would be cut at the ends of a chart of few bars.
    title = [words.in_chart(column) for column in group.columns]
    figure = go.Figure()
    for name, shares, color in (
        (f"of the {which} records", [value.late / found.late for value in group.values], DROPPED),
        ("of all records", [value.records / found.records for value in group.values], IN_TIME),
    ):
        figure.add_bar(
            y=labels,
            x=shares,
            name=name,
            orientation="h",
            marker_color=color,
            text=[f"{share:.0%}" for share in shares],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{x:.1%} " + name + "<extra></extra>",
        )
    figure.update_layout(
        barmode="group",
        height=max(90 + _ROW_PX * len(labels), 60 + _LETTER_PX * (4 + max(map(len, group.columns)))),
        margin={"l": 8, "r": 40, "t": 30, "b": 8},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        yaxis={"autorange": "reversed", "title": " and<br>".join(title), "type": "category"},
        xaxis={"tickformat": ".0%", "rangemode": "tozero"},
    )
    return figure


def _table(found: LateGroups, which: str, picked: _Picked | None) -> Table:
    columns = ("column", "value", f"{which} records", f"of the {which}", "of all records", f"how often {which}")
    rows = []
    for group in found.groups:
        for at, value in enumerate(group.values):
            rate = (value.late / value.records) / (found.late / found.records)
            rows.append(
                Row(
                    (
                        Cell(_name(group) if at == 0 else "", is_strong=True),
                        Cell(", ".join(_texts(value))),
                        Cell(f"{value.late:,}", is_number=True),
                        Cell(f"{value.late / found.late:.1%}", is_number=True),
                        Cell(f"{value.records / found.records:.1%}", is_number=True),
                        Cell(f"{rate:,.1f} × the average", is_number=True, tone="bad" if rate >= 2 else ""),
                    ),
                    pick=_Picked(group, value).pick,
                    is_current=picked == _Picked(group, value),
                )
            )
    return Table(columns, rows, frozenset(columns[2:]))
