"""Consent to contact servers while a pipeline is only viewed: for servers that the session has typed or agreed to.

A pipeline can come from anybody; it determines which servers are contacted and which secrets are sent there. So the
first records and the columns of a source are requested only after the user has pressed a button that names the server,
or has typed its address in this session. A run contacts every server of the pipeline: pressing *Run* is the consent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import streamlit as st
from pydantic import ValidationError

from engine.contract.source import Source
from engine.errors import SourceError
from engine.registry import sources

_KEY: Final = "servers-that-may-be-asked"
Agreed = set[tuple[str, str]]
"""Pairs of an address and the name of a secret; an empty name stands for the address alone."""


class NotAsked(SourceError):
    """The rows of a source are on a server that this session has not agreed to contact."""

    def __init__(self, source: Source, node: str) -> None:
        self.source = source
        sent = f", and then sends it the values of {', '.join(source.variables)}" if source.variables else ""
        sentence = (
            f"its rows are on {source.server}. The studio contacts it only when you press the button below{sent}."
        )
        super().__init__(sentence, node)


def may_be_asked(source: Source) -> bool:
    """Whether viewing a source may contact its server; True for a source without a server."""
    return _of(source) <= _agreed()


def agree(source: Source) -> None:
    """Allow this session to contact the server of a source, and to send it the secrets that the source names."""
    _agreed().update(_of(source))


def first_not_asked(named: Iterable[tuple[str, Source]]) -> NotAsked | None:
    """The error for the first of these (node, source) pairs whose server may not be contacted, or None."""
    return next((NotAsked(source, node) for node, source in named if not may_be_asked(source)), None)


def note_typed(operator: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """After an edit of a source in its form, allow its new addresses and secrets: the user has typed them.

    Addresses and secrets that were there before are not allowed by this, whoever wrote them.
    """
    old, new = _read(operator, before), _read(operator, after)
    if old is None or new is None or not new.server:
        return
    addresses = _addresses(new)
    secrets = set(new.variables) - set(old.variables)
    typed = {(address, "") for address in addresses - _addresses(old)}
    if typed or secrets:
        _agreed().update(typed | {(address, secret) for address in addresses for secret in secrets})


def _of(source: Source) -> Agreed:
    return {(address, name) for address in _addresses(source) for name in ("", *source.variables)}


def _addresses(source: Source) -> set[str]:
    return {part.strip() for part in source.server.split(",") if part.strip()}


def _read(operator: str, parameters: Mapping[str, Any]) -> Source | None:
    cls = sources().get(operator)
    try:
        return cls.model_validate(parameters) if cls is not None else None
    except ValidationError:
        return None


def _agreed() -> Agreed:
    # Reading a single entry of the session state can interrupt the script run.
    agreed: Agreed | None = st.session_state.to_dict().get(_KEY)
    if agreed is None:
        agreed = st.session_state[_KEY] = set()
    return agreed
