"""What if: the effect of another watermark delay or allowed lateness, shown at once without a run, then applied."""

from __future__ import annotations

from typing import Final

import streamlit as st

from engine.model.zones import Zone
from storage.event_time.needed_waits import LateOperator
from storage.event_time.what_if import Losses, WhatIfRecord
from storage.model import Run
from ui.components.event_time.apply_delays import apply_delays
from ui.components.event_time.late_link import is_late, open_late_file
from ui.components.event_time.loss_chart import loss_chart
from ui.components.event_time.tried_delays import Tried, in_address
from ui.components.grid import Cell, Row, Table, grid
from ui.components.runs.next_steps import next_steps
from ui.components.runs.open_run import opened_run
from ui.components.runs.so_far import all_clear
from ui.components.shell.pager import pager
from ui.components.time_travel.event_player import move_to
from ui.forms.durations import durations_to
from ui.inspect.older_plans import with_late_rules
from ui.shell import words, workspace
from ui.shell.guard import guarded
from ui.shell.state import state
from ui.shell.theme import draw_figure

_PAGE: Final = 50
_STOPS: Final = 100
_TRADE_OFF: Final = "The delay beyond which waiting longer keeps only few more records."


def _top(run: Run, operator: LateOperator, losses: Losses) -> int:
    """The maximum of the sliders in whole seconds: above the lossless wait, the current settings and the window.

    Above what a source alone needs, too: with a longer delay of all, a record may be kept sooner.
    """
    lateness = operator.rule.allowed_lateness_ms or 0
    summaries = workspace.store().late.summary(run.run_id, run.last_seq)
    alone = max((summary.delay_ms for summary in summaries if summary.node == operator.node), default=0)
    waits = (losses.lossless_ms * 5 // 4, operator.delay_ms * 2, lateness * 2, operator.rule.window_ms, 1000)
    wanted = max(alone, *waits)
    return -(-wanted // 1000) * 1000


def _worth_trying(losses: Losses, other_ms: int) -> list[int]:
    """The values at which one more record is kept, given what the other slider adds; a sample if there are many."""
    needed = sorted({int(wait_ms) - other_ms for wait_ms in losses.needed})
    return [wait_ms for wait_ms in needed[:: 1 + len(needed) // _STOPS] if wait_ms > 0]


@guarded
def _set(ran: LateOperator, wanted: LateOperator, lateness_ms: int, keep: float | None = None) -> None:
    """Keep what is tried in the address, which has only what differs from the run."""
    state.update(
        delay=None if wanted == ran else in_address(wanted),
        lateness=None if lateness_ms == (ran.rule.allowed_lateness_ms or 0) else lateness_ms,
        keep=None if keep is None else f"{keep:g}",
    )


def _sliders(ran: LateOperator, losses: Losses, safe: Losses, tried: Tried, key: str, top: int) -> None:
    """Draw a slider for the delay of each source, one for the allowed lateness, and buttons for what is worth trying.

    losses: with the delays of the run. safe: the records that lose something, dropped or not.
    """
    lateness = ran.rule.allowed_lateness_ms
    is_single = len(ran.sources) == 1
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        for source in ran.sources:
            field = f"{key}-delay-{source}"

            def take(field: str = field, source: str = source) -> None:
                _set(ran, tried.operator.with_delay_of(source, int(st.session_state[field])), tried.lateness_ms)

            delay_ms = st.session_state[field] = tried.operator.delays_ms[source]
            worth = _worth_trying(losses, tried.lateness_ms) if is_single else ()
            st.select_slider(
                f"Watermark delay of {source}",
                durations_to(top, ran.delays_ms[source], delay_ms, *worth),
                format_func=words.duration,
                key=field,
                on_change=guarded(take),
                help="Results wait this long." if ran.rule.delays_results else "Rows are kept this much longer.",
            )
        if lateness is not None:
            field_of_lateness = f"{key}-lateness"

            def take_lateness() -> None:
                _set(ran, tried.operator, int(st.session_state[field_of_lateness]))

            st.session_state[field_of_lateness] = tried.lateness_ms
            st.select_slider(
                f"Allowed lateness of {ran.node}",
                durations_to(top, lateness, tried.lateness_ms, *_worth_trying(losses, tried.delay_ms)),
                format_func=words.duration,
                key=field_of_lateness,
                on_change=guarded(take_lateness),
            )
    tried_lateness = tried.lateness_ms
    all_kept = "Nothing dropped" if safe is losses else "None behind the watermark"
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        _keep(ran, losses, key, tried_lateness)
        for label, at, name, explanation in (
            ("As it ran", ran.delay_ms, "ran", None),
            ("Best trade-off", max(0, safe.knee_ms() - tried_lateness), "knee", _TRADE_OFF),
            (all_kept, max(0, safe.lossless_ms - tried_lateness), "lossless", None),
        ):
            preset_lateness = (lateness or 0) if name == "ran" else tried_lateness
            st.button(
                f"{label}: {words.duration(at)}",
                key=f"{key}-{name}",
                on_click=_set,
                args=(ran, ran.with_delay(at), preset_lateness),
                type="secondary",
                help=explanation,
            )
    _told_share(ran, losses, tried_lateness)


def _keep(ran: LateOperator, losses: Losses, key: str, lateness_ms: int) -> None:
    """Draw the field that takes a share of the records, and sets the smallest delay that keeps it.

    A share that the run itself kept changes nothing.
    """
    field = f"{key}-share"

    def take() -> None:
        share = st.session_state[field]
        if share is None:
            state.update(keep=None)
        elif share / 100 <= losses.kept(ran.wait_ms):
            _set(ran, ran, ran.rule.allowed_lateness_ms or 0, share)
        else:
            delay_ms = max(0, losses.wait_for(share / 100) - lateness_ms)
            _set(ran, ran.with_delay(delay_ms), lateness_ms, share)

    st.session_state[field] = _share_asked_for()
    st.number_input(
        "Keep % of the records",
        min_value=0.0,
        max_value=100.0,
        value=None,
        step=0.1,
        format="%.2f",
        key=field,
        on_change=guarded(take),
        placeholder=_percent(losses.kept(ran.wait_ms)).removesuffix(" %"),
        help="Sets the smallest delay with which no more records are dropped than that.",
        width=190,
    )


def _share_asked_for() -> float | None:
    try:
        share = float(state.keep or "")
    except ValueError:
        return None
    return share if 0 <= share <= 100 else None


def _percent(share: float) -> str:
    """Rounded down, so that only all records are 100 %."""
    return f"{int(share * 10_000 + 1e-6) / 100:g} %"


def _told_share(ran: LateOperator, losses: Losses, lateness_ms: int) -> None:
    """Draw which share of the records was in time, and what a larger share needs."""
    share, asked = losses.kept(ran.wait_ms), _share_asked_for()
    said = f"As it ran, {_percent(share)} of the records are in time"
    if asked is None:
        st.caption(f"{said}.")
    elif asked / 100 <= share:
        least = max(0, losses.wait_for(asked / 100) - (ran.rule.allowed_lateness_ms or 0))
        shorter = f" A delay of {words.duration(least)} would do for {asked:g} %." if least < ran.delay_ms else ""
        st.caption(f"**{said}; nothing needs to change** to keep {asked:g} %.{shorter}")
    else:
        least = max(0, losses.wait_for(asked / 100) - lateness_ms)
        st.caption(f"{said}; {asked:g} % need a delay of {words.duration(least)}.")


def _figures(run: Run, operator: LateOperator, losses: Losses, tried: Tried, then: int) -> None:
    """Draw what is kept and what it costs. losses: with the delays of the run. then: how many are dropped."""
    now, delay_ms = losses.lost(operator.wait_ms), tried.delay_ms
    wait = workspace.store().added_latency.compared(run.run_id, operator, tried.operator)
    with st.container(horizontal=True):
        in_time = losses.total - then
        st.metric("Records kept", f"{in_time:,} of {losses.total:,}", f"{now - then:+,}" if now != then else None)
        st.metric("Records dropped", f"{then:,}", f"{then - now:+,}" if now != then else None, delta_color="inverse")
        st.metric(
            "Results wait" if operator.rule.delays_results else "Rows are kept longer by",
            words.duration(delay_ms),
            _signed(delay_ms - operator.delay_ms) if delay_ms != operator.delay_ms else None,
            delta_color="inverse",
        )
        if wait.windows:
            st.metric(
                "Windows fire",
                f"{abs(wait.events):,.1f} events {'earlier' if wait.events < 0 else 'later'}"
                if wait.events
                else "as in the run",
                help="On average, compared with the run.",
            )
    if wait.at_end and delay_ms > operator.delay_ms:
        st.caption(
            f"{wait.at_end:,} of {words.count(wait.windows, 'window')} would fire only at the end of the input: no "
            "record advances the watermark that far."
        )
    if not operator.is_exact:
        st.caption(
            "Approximate: the result also depends on other records (sessions merge, joined rows keep each other) or on "
            "an earlier watermark. A run gives the exact result."
        )


def _may_miss(run: Run, tried: Tried) -> bool:
    """Draw how many records would come behind the watermark, where these lose something without being dropped."""
    behind = workspace.store().what_if.behind(run.run_id, tried.operator)
    if behind is None or not (number := behind.lost(tried.delay_ms)):
        return False
    st.warning(
        f"**{words.count(number, 'record')} would come behind the watermark**, and may miss partners that "
        f"{words.escaped(tried.operator.node)} has let go.",
        icon=":material/warning:",
    )
    return True


def _signed(ms: int) -> str:
    return f"+{words.duration(ms)}" if ms > 0 else f"-{words.duration(-ms)}"


def _records(run: Run, operator: LateOperator, tried: Tried, *, is_safe: bool) -> None:
    lateness_ms = tried.lateness_ms
    total = workspace.store().what_if.count(run.run_id, operator, tried.operator, lateness_ms)
    if not total:
        if is_safe:
            all_clear("No record is dropped, neither in the run nor with these settings", run)
        return
    key = f"what-if-{run.run_id}-{operator.node}-{tried.told}-{lateness_ms}"
    offset = int(st.session_state.get(key, 0))
    records = workspace.store().what_if.records(
        run.run_id, operator, tried.operator, lateness_ms, offset=offset, limit=_PAGE
    )
    st.markdown("**Which records**")
    windows = ("end of its window",) if operator.rule.window_ms else ()
    zone = workspace.store().runs.zone(run.run_id)
    delay = "kept by a delay of"
    columns = ("event", "with these settings", words.event_time(zone), *windows, delay, "record")
    rows = [_record(record, lateness_ms, bool(windows), zone) for record in records]
    grid(
        Table(columns, rows, frozenset({"event", delay})),
        key=f"what-if-grid-{run.run_id}",
        height=340,
        on_pick=lambda seq: _picked(run, int(seq)),
        label="Records that would be dropped or kept",
    )
    pager(key, offset, _PAGE, total, what="records")


def _picked(run: Run, event: int) -> None:
    """Open the record's file if it was late in the run; a record that only these settings would drop has none."""
    if is_late(run, event):
        open_late_file(run.run_id, event)
    else:
        move_to(event)


def _record(each: WhatIfRecord, lateness_ms: int, has_window: bool, zone: Zone | None) -> Row:
    """lateness_ms: what the windows allow with these settings, which adds to a delay."""
    words_of = {(True, True): ("still dropped", "bad"), (True, False): ("kept", "good")}
    outcome, tone = words_of.get((each.was_late, each.is_late), ("dropped now", "bad"))
    end_ms = each.window_end_ms
    return Row(
        (
            Cell(f"{each.seq:,}", is_number=True),
            Cell(outcome, tone=tone, is_strong=True),
            Cell(words.instant(each.event_time_ms, zone)),
            *((Cell("" if end_ms is None else words.instant(end_ms, zone)),) if has_window else ()),
            Cell(words.duration(max(0, each.needed_ms - lateness_ms)), is_number=True),
            Cell(words.record(each.columns, each.values) if each.values else ""),
        ),
        pick=str(each.seq),
        is_current=each.seq == state.event,
    )


def _show(run: Run) -> None:
    operators = {operator.node: operator for operator in workspace.store().what_if.operators(run.run_id)}
    if not operators:
        st.info(
            "This page predicts the late records of windows, interval joins, over aggregates, sorting by time, pattern "
            "matching and the first row by event time, below sources with a **watermark delay**. This run has none of "
            "these.",
            icon=":material/info:",
        )
        next_steps(run, "Add a window, or a watermark delay")
        return
    names = list(operators)
    node = names[0]
    if len(names) > 1:
        node = _chosen_node(run, names)
    operator = operators[node]
    store = workspace.store()
    losses = store.what_if.losses(run.run_id, operator)
    safe = store.what_if.behind(run.run_id, operator) or losses
    top = _top(run, operator, safe)
    tried = Tried.of(operator, top)
    dropped = store.what_if.losses(run.run_id, tried.operator).lost(tried.wait_ms)
    _sliders(operator, losses, safe, tried, f"what-if-{run.run_id}-{node}", top)
    _figures(run, operator, losses, tried, dropped)
    is_safe = not _may_miss(run, tried)
    apply_delays(run, operator, tried, top)
    draw_figure(loss_chart(losses, operator, tried.delay_ms, tried.lateness_ms, dropped, top), "loss-chart")
    _records(run, operator, tried, is_safe=is_safe)


def _chosen_node(run: Run, names: list[str]) -> str:
    """The operator whose time the address names, else the one whose records it does, else the first.

    Another one begins as it ran.
    """
    key = f"what-if-node-{run.run_id}"
    looked_at = (state.seen, (state.edge or "").partition(".")[0], state.node)
    st.session_state[key] = next((name for name in looked_at if name in names), names[0])

    def take() -> None:
        state.update(seen=st.session_state[key], delay=None, lateness=None, keep=None)

    return str(st.selectbox("Operator", names, key=key, on_change=guarded(take)))


chosen = opened_run()
if chosen is not None:
    _show(with_late_rules(chosen))
