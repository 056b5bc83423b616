"""Query store: the user's own queries of the store, read-only, with a description of the tables and examples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import streamlit as st

from engine.model.changelog import RowKind
from engine.model.position import readable
from engine.scratch import scratch
from storage.errors import QueryError
from storage.model import Run
from storage.queries.queries import MEMORY_LIMIT_MIB, ROW_LIMIT, TIME_LIMIT_S, QueryResult
from ui.components.editor import Editing, Wrong, code_area, editors, wrong_at
from ui.components.grid import Cell, Row, Table, grid
from ui.components.grid.spreadsheets import for_spreadsheets
from ui.components.runs.open_run import opened_run
from ui.components.sql.query_chart import query_chart
from ui.components.sql.query_state import TEXT, adopt, ask, last_query, take_back
from ui.components.sql.schema_browser import schema_browser
from ui.shell import words, workspace
from ui.shell.guard import as_sentence, guarded

_SHORT_S: Final = 0.5
_SAVED: Final = 8
_KINDS: Final[dict[object, RowKind]] = {kind.symbol: kind for kind in RowKind}


@guarded
def _ask(text: str) -> None:
    st.session_state[TEXT] = text
    ask(text)


@guarded
def _ask_what_is_written() -> None:
    ask(st.session_state[TEXT])


def _writer(text: str, schema: str, *, safe: bool) -> Callable[[], bytes]:
    def write() -> bytes:
        with scratch("sql") as folder:
            path = folder / "result.csv"
            workspace.store().queries.export(text, path, schema=schema, for_spreadsheets=safe)
            return path.read_bytes()

    return write


def _saved() -> None:
    """Draw the saved queries."""
    questions = [view for view in workspace.store().saved_views.list() if view.query.get("sql")]
    if not questions:
        return
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.caption("Saved", width="content")
        for view in questions[:_SAVED]:
            st.button(
                words.escaped(view.name),
                key=f"saved-question-{view.view_id}",
                type="tertiary",
                icon=":material/bookmark:",
                help=words.escaped(view.note) or None,
                on_click=_ask,
                args=(view.query["sql"],),
            )


def _editor(run: Run) -> None:
    examples = workspace.store().catalog.examples(run.run_id)
    with st.container(horizontal=True, gap="small"):
        for at, example in enumerate(examples):
            st.button(
                example.title, key=f"example-{at}", icon=":material/play_arrow:", on_click=_ask, args=(example.sql,)
            )
    _saved()
    adopt(examples[0].sql)
    code_area(
        "Query of the store",
        key=TEXT,
        height=190,
        label_visibility="collapsed",
        placeholder="SELECT ...",
        help="DuckDB's SQL. Tables of the chosen run need no prefix; those of another run are run_2.name.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Run query", type="primary", icon=":material/play_arrow:", key="sql-ask", on_click=_ask_what_is_written
        )
        st.caption(
            f"Read-only. At most {ROW_LIMIT:,} rows are shown. A query is stopped after {TIME_LIMIT_S:g} s or above "
            f"{MEMORY_LIMIT_MIB:,} MiB."
        )


def _answered(text: str, schema: str) -> QueryResult:
    """The result of a query. Any action on the page meanwhile ends it: Streamlit stops the script in `waiting`."""
    place = st.empty()
    seconds_place = None

    def waiting(seconds: float) -> None:
        nonlocal seconds_place
        if seconds < _SHORT_S:
            return
        if seconds_place is None:
            with place.container(horizontal=True, vertical_alignment="center"):
                st.button("Cancel", icon=":material/stop_circle:", key="sql-cancel", on_click=guarded(take_back))
                seconds_place = st.empty()
        seconds_place.caption(f"Running for {seconds:.0f} s …")

    try:
        return workspace.store().queries.run(text, schema=schema, on_wait=waiting)
    finally:
        place.empty()


def _result(result: QueryResult, text: str, schema: str) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        shown = words.count(len(result.rows), "row")
        more = ", and there are more" if result.is_cut else ""
        st.markdown(f"**{'The first ' if result.is_cut else ''}{shown}**{more} · {words.elapsed(result.seconds)}")
        st.space("stretch")
        safe = for_spreadsheets("sql")
        st.download_button(
            "CSV",
            _writer(text, schema, safe=safe),
            "result.csv",
            "text/csv",
            icon=":material/download:",
            on_click="ignore",
            key="sql-csv",
            help="All rows, up to a million.",
            disabled=not result.rows,
        )
    if not result.rows:
        st.caption("The query returned no rows.")
        return
    numbers = frozenset(
        name for at, name in enumerate(result.columns) if any(isinstance(row[at], int | float) for row in result.rows)
    )
    rows = [Row([_cell(name, value) for name, value in zip(result.columns, row, strict=True)]) for row in result.rows]
    grid(Table(result.columns, rows, numbers), key="sql-result", height=420, label="Result")
    query_chart(result)


def _cell(name: str, value: object) -> Cell:
    """The cell of a value; a kind and a step look as on the other pages."""
    if name == "kind" and value in _KINDS:
        return Cell(kinds=(_KINDS[value],))
    if name == "step" and isinstance(value, bytes):
        try:
            return Cell(readable(value), is_code=True)
        except IndexError:
            # A column of this name that is no step.
            return Cell.of(value)
    return Cell.of(value)


def _show(run: Run) -> None:
    left, right = st.columns([2.6, 1], gap="medium")
    with left:
        _editor(run)
        text = last_query()
        wrong: list[Wrong] = []
        if text is not None:
            try:
                result = _answered(text, run.tables.schema)
            except QueryError as error:
                st.error(f"{words.at_line(error.line)}{as_sentence(error)}", icon=":material/error:")
                wrong += wrong_at(text, error.line, 0, str(error))
            else:
                _result(result, text, run.tables.schema)
        editors({TEXT: Editing("duckdb", wrong=wrong, runs="sql-ask")}, key="sql-editor")
    with right:
        schema_browser(run)


chosen = opened_run()
if chosen is not None:
    _show(chosen)
