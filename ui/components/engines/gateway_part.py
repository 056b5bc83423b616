"""The user's SQL Gateway: the second form of "Flink, for checking"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import streamlit as st

from engine.errors import EngineUnavailable
from engine.flink.gateway import Gateway, complaint_about
from engine.flink.gateway_script import MOST
from engine.flink.places import Named, forget, name, named, prefer
from ui.shell.guard import as_sentence, guarded
from ui.shell.kept import kept
from ui.shell.words import code, escaped

_ADDRESS: Final = "gateway-address"
_TOKEN: Final = "gateway-token"
_ASKED: Final = "gateway-asked"
_GATEWAY, _INSTALLED = "The SQL Gateway", "The installed Flink"


@dataclass
class _Corner:
    """is_open: the form is. complaint: about what was typed. said: what the gateway answered to a test, and if well."""

    is_open: bool = False
    complaint: str = ""
    said: tuple[bool, str] | None = None


def gateway_part(*, is_installed: bool) -> None:
    """Draw the gateway, or the form that names one."""
    corner = kept("gateway", _Corner)
    gateway = named()
    if gateway is not None:
        _draw(gateway, corner, is_installed=is_installed)
    elif not corner.is_open:
        _button("Use a SQL Gateway", "add", "lan", _open, corner)
    if corner.is_open:
        _form(gateway, corner)


def _draw(known: Named, corner: _Corner, *, is_installed: bool) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**SQL Gateway** {code(known.address)}" + (" with a token" if known.token else ""))
        st.space("stretch")
        _button("Test", "test", "network_check", _test, corner, known)
        _button("Change", "change", "edit", _open, corner)
        _button("Remove", "remove", "delete", _remove, corner)
    if is_installed:
        st.radio(
            "Ask Flink asks",
            [_GATEWAY, _INSTALLED],
            index=0 if known.is_asked else 1,
            key=_ASKED,
            horizontal=True,
            on_change=guarded(_prefer),
        )
    if corner.said is not None:
        good, sentence = corner.said
        box, icon = (st.success, "check_circle") if good else (st.error, "error")
        box(as_sentence(escaped(sentence)), icon=f":material/{icon}:")


def _button(label: str, key: str, icon: str, pressed: Callable[..., None], *args: Any) -> None:
    st.button(label, key=f"gateway-{key}", icon=f":material/{icon}:", on_click=guarded(pressed), args=args)


def _form(known: Named | None, corner: _Corner) -> None:
    address, token = st.columns(2, gap="medium")
    with address, st.container(gap="xxsmall"):
        st.text_input(
            "Address",
            known.address if known else "",
            key=_ADDRESS,
            placeholder="https://host:8083",
            autocomplete="off",
            help="Of its REST endpoint. A run's records are sent there in a statement, in a session of its own.",
        )
        if corner.complaint:
            st.markdown(f":small[:red[:material/error: {escaped(corner.complaint)}]]")
    token.text_input(
        "Token",
        key=_TOKEN,
        type="password",
        autocomplete="new-password",
        placeholder="a token is saved; type to replace it" if known and known.token else "only if it asks for one",
        help="Sent as a bearer token, to another machine with TLS only. It is stored for this address, in a file that "
        "only you can read, and never shown again.",
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"Up to {MOST:,} records; what it cannot be asked is said before.")
        st.space("stretch")
        st.button("Cancel", key="gateway-cancel", on_click=guarded(_close), args=(corner,))
        st.button(
            "Save",
            key="gateway-save",
            type="primary",
            icon=":material/save:",
            on_click=guarded(_save),
            args=(corner, known),
        )


def _open(corner: _Corner) -> None:
    corner.is_open, corner.complaint = True, ""


def _close(corner: _Corner) -> None:
    corner.is_open = False
    st.session_state.pop(_TOKEN, None)


def _save(corner: _Corner, before: Named | None) -> None:
    address, token = str(st.session_state[_ADDRESS]).strip().rstrip("/"), str(st.session_state[_TOKEN]).strip()
    if not token and before is not None and before.address == address:
        token = before.token
    corner.complaint = complaint_about(address, token)
    if corner.complaint:
        return
    wanted = Named(address, token)
    name(wanted)
    _close(corner)
    _test(corner, wanted)


def _test(corner: _Corner, known: Named) -> None:
    try:
        corner.said = True, f"Flink {Gateway(known.address, known.token).version()} answers."
    except EngineUnavailable as error:
        corner.said = False, str(error)


def _remove(corner: _Corner) -> None:
    forget()
    corner.said = None


def _prefer() -> None:
    prefer(gateway=st.session_state[_ASKED] == _GATEWAY)
