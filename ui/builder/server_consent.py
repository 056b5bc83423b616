"""Which servers may be asked while somebody only looks at a pipeline: those that this session named, or agreed to.

A pipeline can come from anybody; it says who is asked, and which secrets are sent there. So the first records and the
columns of a source are asked for once a person has pressed a button that names the server, or has typed its address in
this session. A run asks whoever the pipeline names: that is what *Run* says.
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
"""Of an address and the name of a secret; the address alone with an empty name."""


class NotAsked(SourceError):
    """A server has the rows of a source, and nobody here has said that it may be asked."""

    def __init__(self, source: Source, node: str) -> None:
        self.source = source
        sent = f", with the values of {', '.join(source.variables)}" if source.variables else ""
        super().__init__(f"its rows are on {source.server}, which is contacted only when you ask for it{sent}.", node)


def may_be_asked(source: Source) -> bool:
    """Whether looking at a source may ask its server; yes for one that has none."""
    return _of(source) <= _agreed()


def agree(source: Source) -> None:
    """From now on this session asks the server of a source, and sends it the secrets that the source names."""
    _agreed().update(_of(source))


def first_not_asked(named: Iterable[tuple[str, Source]]) -> NotAsked | None:
    """The first of these sources, by their nodes, whose server may not be asked."""
    return next((NotAsked(source, node) for node, source in named if not may_be_asked(source)), None)


def note_typed(operator: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """A person has changed the parameters of a source in its form: the addresses and secrets that are new were typed.

    Those that stood there already were not, whoever wrote them.
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
    # Asking for one entry of the state interrupts a run.
    found: Agreed | None = st.session_state.to_dict().get(_KEY)
    if found is None:
        found = st.session_state[_KEY] = set()
    return found
