"""The form of one engine: to add it, or to change it in place in the list.

All fields are shown from the start, and complaints appear after Save: nothing moves under the mouse. A saved token is
never put into its field.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import streamlit as st

from engine.spark.engines import Engine
from ui.engines.chosen import forget_choice
from ui.engines.engine_tests import engine_tests
from ui.engines.form import NAME_LENGTH, Typed, read, split_address
from ui.engines.known import keep
from ui.shell.guard import guarded
from ui.shell.kept import kept

_KEY: Final = "engine-form"
_FIELDS: Final = ("name", "address", "workspace", "changelogs_stay", "token", "use_ssl", "forget_token")


@dataclass
class _Form:
    """The open form. name: of the engine being changed, "" for a new one; number: the serial number of the form."""

    name: str
    number: int
    complaints: Mapping[str, str] = field(default_factory=dict)

    def key(self, name: str) -> str:
        return f"engine-{name}|{self.number}"


@dataclass
class _Corner:
    opened: int = 0
    form: _Form | None = None


def _corner() -> _Corner:
    return kept(_KEY, _Corner)


def is_adding() -> bool:
    """Whether the form of a new engine is open."""
    form = _corner().form
    return form is not None and not form.name


def is_editing(engine: Engine) -> bool:
    """Whether the form of this engine is open."""
    form = _corner().form
    return form is not None and form.name == engine.name


@guarded
def open_form(name: str = "") -> None:
    """Open the form of an engine, by its name, or of a new one."""
    corner = _corner()
    corner.opened += 1
    corner.form = _Form(name, corner.opened)


def add_button() -> None:
    """The button that opens the form of a new engine."""
    st.button("Add an engine", icon=":material/add:", key="engine-add", type="primary", on_click=open_form)


@guarded
def _close() -> None:
    _corner().form = None


@guarded
def _split(form: _Form) -> None:
    """Move the parts of a pasted address into their own fields."""
    pasted = split_address(str(st.session_state[form.key("address")]))
    if pasted is None:
        return
    address, token, use_ssl = pasted
    st.session_state[form.key("address")] = address
    if token:
        st.session_state[form.key("token")] = token
    if use_ssl:
        st.session_state[form.key("use_ssl")] = True


@guarded
def _save(form: _Form, before: Engine | None, taken: Collection[str]) -> None:
    values = st.session_state.to_dict()
    typed = Typed(**{name: values[key] for name in _FIELDS if (key := form.key(name)) in values})
    engine, form.complaints = read(typed, taken, before)
    if engine is None:
        return
    keep(engine, before.name if before is not None else None)
    if before is not None and before.name != engine.name:
        engine_tests().forget(before.name)
    forget_choice()
    _corner().form = None
    # Streamlit forgets the fields once they are no longer drawn; the token is forgotten at once.
    st.session_state.pop(form.key("token"), None)


def engine_form(before: Engine | None, taken: Collection[str]) -> None:
    """Draw the open form. before: the engine that is changed; taken: the names of the others."""
    form = _corner().form
    if form is None:
        return
    shown = before or Engine("", "")
    with st.container(border=True, key="engine-form"):
        st.markdown(f"**{'Change this engine' if before else 'A new engine'}**")
        name, address = st.columns(2, gap="medium")
        workspace, token = st.columns(2, gap="medium")
        with name:
            _text(form, "name", shown.name, "cluster", "Runs are listed under it.", max_chars=NAME_LENGTH)
        with address:
            _text(
                form,
                "address",
                shown.typed,
                "sc://host:port",
                "`local[2]`: two cores of this machine, `local[*]`: all of them.  \n"
                "`spark://host:7077`: a Spark cluster.  \n"
                "`sc://host:15002`: a Spark Connect server. `sc://host:port/;token=...;use_ssl=true` can be pasted "
                "as a whole.",
                on_change=_split,
                args=(form,),
            )
        with workspace:
            _text(
                form,
                "workspace",
                shown.workspace,
                "none: the engine sees the files of this machine",
                "A folder or URI that all workers of the engine can write, such as `s3a://bucket/studio` or "
                "`/mnt/shared/studio`. It is needed where the engine does not see the files of this machine.",
            )
            st.checkbox(
                "Changelogs of bounded runs stay there",
                shown.changelogs_stay,
                key=form.key("changelogs_stay"),
                help="The workers write the records of every output into the workspace, and all pages read them there: "
                "this machine needs access to it for as long as the run is kept. Deleting the run deletes them. "
                "Otherwise they are loaded into the store.",
            )
        with token:
            st.text_input(
                "Token",
                key=form.key("token"),
                type="password",
                autocomplete="new-password",
                placeholder="a token is saved; type to replace it" if shown.token else "only for sc:// addresses",
                help="The token for a Spark Connect server. It is stored for this address, in a file that only you can "
                "read, and never shown again.",
            )
        with st.container(horizontal=True, vertical_alignment="center"):
            st.checkbox(
                "Encrypt the connection (TLS)",
                shown.use_ssl,
                key=form.key("use_ssl"),
                help="For `sc://` addresses. Spark sends a token to another machine only with TLS.",
            )
            if shown.token:
                st.checkbox("Delete the saved token", key=form.key("forget_token"))
            st.space("stretch")
            st.button("Cancel", key="engine-cancel", on_click=_close)
            st.button(
                "Save",
                key="engine-save",
                type="primary",
                icon=":material/save:",
                on_click=_save,
                args=(form, before, tuple(taken)),
            )


def _text(form: _Form, name: str, value: str, placeholder: str, help: str, **more: Any) -> None:
    """Draw a text field with its complaint. more: further arguments of the widget."""
    with st.container(gap="xxsmall"):
        st.text_input(
            name.title(),
            value,
            key=form.key(name),
            placeholder=placeholder,
            autocomplete="off",
            help=help,
            **more,
        )
        if sentence := form.complaints.get(name):
            st.markdown(f":small[:red[:material/error: {sentence}]]")
