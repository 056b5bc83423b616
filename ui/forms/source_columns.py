"""The columns of a file, a row each: the inferred type with its reason, the type to read, the event time.

Below the columns, the first rows are shown as they are parsed, and the rows that would be rejected, before a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import streamlit as st
from pydantic import ValidationError

from engine.errors import StudioError
from engine.expressions.flink_sql import flink, flink_in
from engine.local.parsed import Parsed, parsed_rows
from engine.model.free_names import free_name
from engine.model.schema import Schema
from engine.model.type_texts import flink_type, in_flink
from engine.model.types import INTEGERS, Timestamp, Type
from engine.reading.files.input_files import InputFile
from engine.reading.files.source import FileSource
from engine.reading.typed.profile import ColumnProfile, TimeProposal
from engine.registry import sources
from ui.builder.editing import ABSENT, set_parameter
from ui.components.grid import Cell, Row, Table, grid, number_columns
from ui.forms.begun import begun
from ui.forms.binding import FormContext
from ui.forms.durations import format_duration
from ui.forms.without_columns import source_without_columns
from ui.shell import workspace
from ui.shell.guard import as_sentence, guarded
from ui.shell.pending import pending
from ui.shell.words import escaped

_TYPES: Final = (
    "BIGINT",
    "INT",
    "DOUBLE",
    "DECIMAL(10, 2)",
    "STRING",
    "BOOLEAN",
    "DATE",
    "TIME(0)",
    "TIMESTAMP(3)",
    "TIMESTAMP_LTZ(3)",
)
_AS_FOUND: Final = ""
_WIDTHS: Final = [41, 43, 16]
_MOST: Final = 60
_ROWS_HEIGHT: Final = 240
_OF_TIME: Final = ("event_time", "event_time_unit", "watermark_delay_ms", "computed")


def _can_be_time(type_: Type) -> bool:
    return isinstance(type_, Timestamp) or type_ in INTEGERS


def source_columns(form: FormContext) -> bool:
    """Draw the table. False if the columns are unknown or too many, so that the types have to be typed."""
    source = source_without_columns(form.node.operator, form.node.parameters)
    if not isinstance(source, FileSource):
        return False
    try:
        files = source.files(form.node.id, workspace.folder())
        columns, proposals = _columns(source, files, form.node.id)
    except StudioError:
        return False
    if not columns or len(columns) > _MOST:
        return False
    st.markdown("**Columns**")
    for title, place in zip(("Column", "Type", "Time"), st.columns(_WIDTHS), strict=True):
        place.caption(title)
    types = form.node.parameters.get("types")
    chosen = types if isinstance(types, Mapping) else {}
    with st.container(height=330 if len(columns) > 6 else "content", border=False, gap="xsmall"):
        for at, column in enumerate(columns):
            _row(form, at, column, chosen.get(column.name), proposals)
    _proposal(form, proposals)
    _first_rows(form, source, files)
    return True


def _row(form: FormContext, at: int, column: ColumnProfile, chosen: object, proposals: Sequence[TimeProposal]) -> None:
    name, type_, time = st.columns(_WIDTHS, vertical_alignment="center", gap="xsmall")
    explanation = f"{column.why} ({column.note})" if column.note else column.why
    if column.proposed != column.type:
        is_taken = in_flink(str(chosen)) == column.proposed.flink
        explanation += (
            ". Such rows are rejected" if is_taken else f". Choose {column.proposed.flink} to reject such rows"
        )
    with name, st.container(gap=None):
        st.markdown(escaped(column.name))
        st.caption(escaped(explanation))
        _number(form, at, column)
    with type_:
        _type(form, at, column, chosen)
    proposal = next((proposal for proposal in proposals if proposal.column == column.name), None)
    with time:
        _tick(form, at, column, chosen, proposal)


def _number(form: FormContext, at: int, column: ColumnProfile) -> None:
    """Offer the number that a text is."""
    computed = form.node.parameters.get("computed", ())
    if column.number is None or any(flink_in(entry.get("expression")) == column.number for entry in computed):
        return
    taken = {*(form.output.names if form.output is not None else ()), *(entry.get("name") for entry in computed)}
    name = free_name(f"{column.name}_number", taken)
    st.button(
        "Add as number",
        key=form.key(f"number.{at}", (column.name,)),
        type="tertiary",
        help=f"One more column, {escaped(name)}: ``{column.number}``",
        on_click=guarded(form.write),
        args=(("computed",), [*computed, {"name": name, "expression": flink(column.number)}]),
        kwargs={"redraw": True},
    )


def _type(form: FormContext, at: int, column: ColumnProfile, chosen: object) -> None:
    shown = in_flink(chosen) if isinstance(chosen, str) else _AS_FOUND
    own_type = column.type.flink
    key = form.key(f"types.{at}", (column.name, own_type))
    others = [type_ for type_ in _TYPES if type_ != own_type]
    options = [_AS_FOUND, *others, *([shown] if shown not in ("", *others) else [])]

    def take(typed: Any) -> None:
        if form.is_current(key):
            text = str(typed or "").strip()
            wanted = in_flink(text, flink_type)
            meant = begun(text, (own_type, *others)) if not _is_type(text) else None
            if meant is not None:
                form.drafting.redraw(f"{form.node.id}|types")
                wanted = meant
            form.write(("types", column.name), ABSENT if wanted in (_AS_FOUND, own_type) else wanted)

    pending().draw(key, shown, take)
    st.selectbox(
        f"Type of {column.name}",
        options,
        options.index(shown),
        key=key,
        format_func=lambda each: each or own_type,
        accept_new_options=True,
        label_visibility="collapsed",
    )


def _is_type(text: str) -> bool:
    try:
        flink_type(text)
    except ValueError:
        return False
    return True


def _tick(form: FormContext, at: int, column: ColumnProfile, chosen: object, proposal: TimeProposal | None) -> None:
    parameters = form.node.parameters
    is_time = parameters.get("event_time") == column.name or (
        proposal is not None and parameters.get("event_time") == proposal.parameters.get("event_time")
    )
    output = form.output.column(column.name) if form.output is not None and column.name in form.output else None
    can_be = is_time or proposal is not None or (output is not None and _can_be_time(output.type))
    key = form.key(f"event_time.{at}", (column.name,))

    def take(ticked: Any) -> None:
        if form.is_current(key):
            _set_time(form, (proposal.parameters if proposal else {"event_time": column.name}) if ticked else {})

    pending().draw(key, is_time, take)
    st.checkbox(
        f"{column.name} is the event time",
        is_time,
        key=key,
        disabled=not can_be,
        label_visibility="collapsed",
        help=None if can_be else "Choose TIMESTAMP(3) as its type first.",
    )


def _set_time(form: FormContext, parameters: Mapping[str, Any]) -> None:
    """Set the event time, its unit and its delay; those that are not among the parameters are removed."""
    drafting = form.drafting
    node = drafting.pipeline.node(form.node.id)
    rest = [entry for entry in node.parameters.get("computed", ()) if entry.get("name") != parameters.get("event_time")]
    types = {**node.parameters.get("types", {}), **parameters.get("types", {})}
    wanted: dict[str, Any] = {name: parameters.get(name, ABSENT) for name in _OF_TIME}
    wanted["computed"] = [*rest, *parameters.get("computed", ())] or ABSENT
    wanted["types"] = types or ABSENT
    document = drafting.pipeline
    for name, value in wanted.items():
        document = set_parameter(document, node.id, name, value)
    drafting.edit(document)


def _proposal(form: FormContext, proposals: Sequence[TimeProposal]) -> None:
    """Draw the event time and delay that the data suggests, with a button to use them if others are set."""
    if not proposals:
        return
    current = form.node.parameters.get("event_time")
    best = next((proposal for proposal in proposals if proposal.parameters["event_time"] == current), proposals[0])
    delay = best.parameters["watermark_delay_ms"]
    assert isinstance(delay, int)
    advice = (
        f"A watermark delay of {format_duration(delay)} {best.why}."
        if delay
        else f"No watermark delay is needed: {best.why}."
    )
    if not delay and best.why.startswith("keeps"):
        advice = f"A watermark without delay {best.why}."
    is_chosen = best.parameters["event_time"] == current
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f":material/schedule: {advice}")
        if is_chosen and form.node.parameters.get("watermark_delay_ms", 0) != delay:
            st.button(
                f"Use {format_duration(delay)}",
                key=form.key("watermark_delay_ms.proposed"),
                type="tertiary",
                on_click=guarded(_set_delay),
                args=(form, delay),
            )
        elif not is_chosen:
            st.button(
                f"Use {escaped(best.column)} as event time",
                key=form.key("event_time.proposed"),
                type="tertiary",
                on_click=guarded(_set_time),
                args=(form, best.parameters),
            )


def _set_delay(form: FormContext, delay: int) -> None:
    form.write(("watermark_delay_ms",), delay, redraw=True)


def _first_rows(form: FormContext, source: FileSource, files: tuple[InputFile, ...]) -> None:
    schema = form.output
    if schema is None:
        return
    try:
        parsed = _parsed(
            form.node.operator, json.dumps(form.node.parameters), schema, files, form.node.id, workspace.folder()
        )
    except StudioError as error:
        st.caption(as_sentence(error.sentence))
        return
    if parsed is None:
        return
    extent = f"all {parsed.looked_at:,} rows" if parsed.is_whole else f"the first {parsed.looked_at:,} rows"
    lost = f"Of {extent}, {len(parsed.rejected):,} would be rejected."
    lost += "" if parsed.is_whole else " The rows after these were not looked at."
    zoned = any(column.type.is_instant for column in schema if column.name in parsed.columns)
    clock = "Times with a zone are shown in UTC." if zoned else ""
    later = f"{', '.join(parsed.left_out)}: shown in the tab Records below." if parsed.left_out else ""
    sentences = ("The first rows as they are read.", lost if parsed.rejected else "", clock, later)
    st.caption(" ".join(filter(None, sentences)))
    rows = tuple(Row(tuple(Cell.of(value) for value in row)) for row in parsed.rows)
    grid(
        Table(parsed.columns, rows, number_columns(parsed.columns, parsed.rows)),
        key=form.key("types.rows"),
        height=_ROWS_HEIGHT,
        label="Parsed rows",
    )
    if parsed.rejected:
        lines = tuple(
            Row((Cell(f"{row.line:,}", is_number=True), Cell(row.reason, is_prose=True), Cell(row.raw, is_code=True)))
            for row in parsed.rejected[:10]
        )
        table = Table(("line", "reason", "row"), lines, frozenset({"line"}))
        grid(table, key=form.key("types.rejected"), height=_ROWS_HEIGHT, label="Rejected rows")


def _columns(
    source: FileSource, files: tuple[InputFile, ...], node: str
) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
    columns, proposals = source.profile(node, workspace.folder())
    if not columns:
        schema = source.derive(node, workspace.folder()).schema
        columns = [ColumnProfile(column.name, column.type, column.type, "") for column in schema]
    return columns, proposals


@lru_cache(maxsize=32)
def _parsed(
    operator: str, parameters: str, schema: Schema, files: tuple[InputFile, ...], node: str, folder: Path
) -> Parsed | None:
    """The first rows. files: part of the key of the cache, because a changed file is a different value."""
    try:
        source = sources()[operator].model_validate(json.loads(parameters))
    except ValidationError:
        return None
    return parsed_rows(source, schema, node, folder)
