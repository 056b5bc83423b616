"""An operator's state after an event, for the keys that the event touched or for a chosen key."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from engine.errors import NotReplayable, StudioError
from engine.planner import Plan
from engine.replay import KeyedNode, keyed_node, keyed_nodes
from storage.model import CascadeRecord, Run
from ui.components.time_travel.key_state import key_state
from ui.inspect.replaying import MOST, Touched, keys_before, plan_of, state_of, touched_keys
from ui.shell import words, workspace
from ui.shell.engine_gate import gate
from ui.shell.guard import as_sentence, guarded
from ui.shell.state import state

_NODE: Final = "state-node"
_KEY: Final = "state-key"
_FOLLOW: Final = ""
_ALL: Final = "state-of-all-records"
_DRAWN: Final = 4
Key = tuple[Any, ...]


def operator_state(run: Run, event: int, cascade: Sequence[CascadeRecord]) -> None:
    """Draw the choice of operator and key, and the state. cascade: the records that the event caused."""
    try:
        plan = plan_of(run)
    except StudioError as error:
        st.warning(f"The state of this run cannot be shown: {as_sentence(error)}", icon=":material/memory:")
        return
    names = keyed_nodes(plan)
    if not names:
        st.caption("No operator of this pipeline keeps state.")
        return
    followed = _touched_node(plan, names, cascade)
    left, right = st.columns(2)
    with left:
        name = _pick_node(names, followed)
    try:
        node = keyed_node(plan, name)
    except NotReplayable as error:
        st.info(as_sentence(error), icon=":material/memory:")
        return
    store, spark = workspace.store(), gate().spark
    touched = touched_keys(store, run.run_id, node, event, spark) if event else Touched()
    before = keys_before(store, run.run_id, node, event, spark) if event else ()
    with right:
        keys = _pick_keys(node, touched.keys, before)
    if not keys:
        st.caption(f"{name} has no keys yet: none of its records has arrived." if event else "Before the first event.")
        return
    try:
        for key in keys[:_DRAWN]:
            _one(run, node, key, event)
    except NotReplayable as error:
        st.info(as_sentence(error), icon=":material/memory:")
    if len(keys) > _DRAWN:
        least = "at least " if touched.is_cut else ""
        st.caption(f"The event touched {least}{words.count(len(keys), 'key')} of {name}; choose one to see it.")


def chosen_node(run: Run, cascade: Sequence[CascadeRecord]) -> str | None:
    """The operator whose state is shown, which the canvas marks."""
    try:
        plan = plan_of(run)
    except StudioError:
        return None
    names = keyed_nodes(plan)
    return state.node if state.node in names else _touched_node(plan, names, cascade) if names else None


def _one(run: Run, node: KeyedNode, key: Key, event: int) -> None:
    store, spark = workspace.store(), gate().spark
    label = _label(node, key)
    with st.container(border=True, gap="small"):
        st.markdown(f"State of **{words.escaped(node.plan.id)}** for **{words.escaped(label)}** after event {event:,}")
        identity = f"{run.run_id} {node.plan.id} {key} {event}"
        most = None if st.session_state.get(_ALL) == identity else MOST
        with st.spinner("Replaying the records of this key …", show_time=most is None):
            snapshot = state_of(store, run.run_id, node, key, event, spark, most)
        if snapshot is None:
            st.caption("No record of this key has arrived yet.")
        elif key_state(snapshot, name=f"{node.plan.id} {label}", zone=store.runs.zone(run.run_id)):
            st.session_state[_ALL] = identity
            st.rerun()


def _touched_node(plan: Plan, names: Sequence[str], cascade: Sequence[CascadeRecord]) -> str:
    """The last operator with state that the event reached; if it reached none, the last of all."""
    carried = {(entry.edge.node, entry.edge.port) for entry in cascade}
    reached = [
        name
        for name in names
        if any((input_.node, input_.port) in carried for input_ in plan.node(name).inputs)
        or any(node == name for node, _ in carried)
    ]
    return (reached or list(names))[-1]


def _pick_node(names: Sequence[str], followed: str) -> str:
    current = state.node if state.node in names else _FOLLOW
    st.session_state[_NODE] = current

    @guarded
    def choose() -> None:
        state.update(node=st.session_state[_NODE] or None, key=None)

    def label(name: str) -> str:
        return name or f"follow the event: {followed}"

    st.selectbox("Operator", [_FOLLOW, *names], key=_NODE, format_func=label, on_change=choose)
    return current or followed


def _pick_keys(node: KeyedNode, touched: Sequence[Key], before: Sequence[Key]) -> Sequence[Key]:
    """Draw the picker of keys; return the chosen or typed key, else those that the event touched, else the last one."""
    keys_by_text = {_text(key): key for key in (*touched, *before)}
    chosen = state.key
    options = [_FOLLOW, *keys_by_text]
    if chosen and chosen not in options:
        options.append(chosen)
    st.session_state[_KEY] = chosen or _FOLLOW
    follows = ", ".join(_label(node, key) for key in touched[:2]) + (" …" if len(touched) > 2 else "")
    if not touched and before:
        follows = f"none; last {_label(node, before[0])}"

    @guarded
    def choose() -> None:
        picked = st.session_state[_KEY]
        state.update(node=node.plan.id if picked else state.node, key=_typed(node, picked) if picked else None)

    def label(text: str) -> str:
        if not text:
            return f"follow the event: {follows or 'nothing'}"
        parsed = _parsed(text)
        return _label(node, keys_by_text.get(text, parsed)) if parsed is not None else text

    title = f"Key ({words.escaped(', '.join(node.key_names))})" if node.key_names else "Key"
    typed = ", or type one" if node.key_names else ""
    typed += ", its parts separated by commas" if len(node.key_names) > 1 else ""
    st.selectbox(
        title,
        options,
        key=_KEY,
        format_func=label,
        on_change=choose,
        accept_new_options=bool(node.key_names),
        help=f"Choose a key{typed}.",
    )
    if chosen:
        chosen_key = keys_by_text.get(chosen) or _parsed(chosen)
        return (chosen_key,) if chosen_key is not None else ()
    return touched or before[:1]


def _label(node: KeyedNode, key: Key) -> str:
    if not key:
        return "all records"
    return ", ".join(f"{name} = {words.value(part)}" for name, part in zip(node.key_names, key, strict=False))


def _text(key: Key) -> str:
    """A key as text in the URL."""
    return json.dumps([part if part is None or isinstance(part, int | str) else str(part) for part in key])


def _typed(node: KeyedNode, text: str) -> str:
    """A picked or typed key, as text in the URL."""
    if _parsed(text) is not None:
        return text
    parts = [part.strip() for part in text.split(",", maxsplit=max(0, len(node.key_names) - 1))]
    return json.dumps(parts)


def _parsed(text: str) -> Key | None:
    try:
        parts = json.loads(text)
    except ValueError:
        return None
    return tuple(parts) if isinstance(parts, list) else None
