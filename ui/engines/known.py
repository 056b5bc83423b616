"""The known engines and their uses.

    home      for pages: previews, checks of expressions, state as of an event. It can read this machine's files
    default   for a new run, unless another one is chosen: the user's choice, else CHANGELOG_STUDIO_ENGINE
    own       any of the user's engines, by name

A name never contains a token. The master that `master_of` returns, which opens a session, may contain one.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.errors import EngineUnavailable
from engine.spark.engines import (
    Engine,
    engine_at,
    engine_called,
    engines,
    engines_file,
    remove_engine,
    save_engine,
)
from engine.spark.session import DEFAULT_MASTER

ENVIRONMENT: Final = "CHANGELOG_STUDIO_ENGINE"
_DEFAULT_FILE: Final = "default-engine"


@dataclass(frozen=True, kw_only=True)
class Known:
    """An engine of the list. is_own: the user added it, and may change it. is_home: pages use it."""

    engine: Engine
    is_own: bool
    is_home: bool
    is_default: bool


def configured_engine() -> str:
    """The engine that this process was started with: a name, or a complete address, perhaps with a token."""
    return os.environ.get(ENVIRONMENT) or DEFAULT_MASTER


def home() -> str:
    """The engine of all pages, for `get_spark`: the environment's if it shares this machine's files, else local."""
    configured = configured_engine()
    try:
        return DEFAULT_MASTER if engine_called(configured).workspace else configured
    except EngineUnavailable:
        # The start of its session reports the error.
        return configured


def known() -> list[Known]:
    """All engines: the one of the pages, that of the environment, then the user's. Raises EngineUnavailable."""
    own, default = engines(), default_name()
    listed = {}
    for name in (home(), configured_engine()):
        with contextlib.suppress(EngineUnavailable):
            engine = engine_called(name)
            listed[engine.name] = engine
    home_name = next(iter(listed), "")
    return [
        Known(engine=engine, is_own=name in own, is_home=name == home_name, is_default=name == default)
        for name, engine in (listed | own).items()
    ]


def names() -> list[str]:
    """The names of all engines; only the default's if the user's file cannot be read."""
    try:
        return [entry.engine.name for entry in known()]
    except EngineUnavailable:
        return [default_name()]


def default_name() -> str:
    """The engine of a new run."""
    try:
        chosen = _default_file().read_text(encoding="utf-8").strip()
        if chosen and chosen in engines():
            return chosen
    except (OSError, ValueError, EngineUnavailable):
        # None was chosen. An error in the user's file is reported when an engine is opened or listed.
        pass
    configured = configured_engine()
    try:
        return engine_called(configured).name
    except EngineUnavailable:
        return configured.partition(";")[0]


def choose_default(name: str) -> None:
    """Let new runs take this engine. Raises EngineUnavailable."""
    path = _default_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name if name in engines() else "", encoding="utf-8")
    except OSError as error:
        message = f"the file {path} cannot be written: {error}."
        raise EngineUnavailable(message) from error


def keep(engine: Engine, instead_of: str | None = None) -> None:
    """Save an engine. instead_of: the name of the engine that it replaces. Raises EngineUnavailable."""
    was_default = instead_of is not None and default_name() == instead_of
    save_engine(engine)
    if instead_of is not None and instead_of != engine.name:
        remove_engine(instead_of)
        if was_default:
            choose_default(engine.name)


def master_of(name: str) -> str:
    """The master that opens a session on the engine of this name; the environment's may contain its token."""
    with contextlib.suppress(EngineUnavailable):
        if engine_called(configured_engine()).name == name:
            return configured_engine()
    return name


def engine_of(master: str) -> Engine:
    """The engine of a run. Raises EngineUnavailable with the known names."""
    if (own := engines().get(master)) is not None:
        return own
    try:
        return engine_at(master)
    except EngineUnavailable as error:
        message = (
            f"there is no engine {master.partition(';')[0]!r}. Add it on the page Engines, or choose another one: "
            f"{', '.join(names())}."
        )
        raise EngineUnavailable(message) from error


def without_tokens(text: str) -> str:
    """The text with the tokens of all known engines replaced by an ellipsis."""
    tokens: set[str] = set()
    with contextlib.suppress(EngineUnavailable):
        tokens |= {engine.token for engine in engines().values()}
    with contextlib.suppress(EngineUnavailable):
        tokens.add(engine_called(configured_engine()).token)
    for engine in (Engine("", "", token=token) for token in tokens if token):
        for written in (engine.token, engine.url.partition("token=")[2].partition(";")[0]):
            text = text.replace(written, "…")
    return text


def _default_file() -> Path:
    return engines_file().with_name(_DEFAULT_FILE)
