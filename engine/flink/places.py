"""The Flink that is asked: the installed one, or the SQL Gateway that the user has named.

The gateway is in a file of the user beside the engines, with its token, readable for this user only.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, Final, Protocol

from engine.errors import EngineUnavailable
from engine.flink.environment import python_in
from engine.flink.gateway import Gateway
from engine.flink.process import SESSION, Session
from engine.flink.question import Question
from engine.spark.engines import engines_file, write_secretly

_FILE: Final = "flink-gateway.json"


class Place(Protocol):
    """A Flink that answers questions, one at a time."""

    @property
    def starts(self) -> bool:
        """Whether it has to be started first."""
        ...

    def ask(self, question: Question) -> dict[str, Any]:
        """The answer, as `engine.flink.inside` gives it. Raises EngineUnavailable, RunCancelled, NotAskable."""
        ...

    def cancel(self) -> None:
        """End the question that goes on; also from another thread."""
        ...


@dataclass(frozen=True)
class Installed:
    """The installed Flink. python: its interpreter."""

    python: str
    session: Session = SESSION

    @property
    def starts(self) -> bool:
        """Whether it has to be started first."""
        return not self.session.is_running

    def ask(self, question: Question) -> dict[str, Any]:
        """The answer. Raises EngineUnavailable."""
        return self.session.ask(self.python, question.job)

    def cancel(self) -> None:
        """End its process."""
        self.session.cancel()


@dataclass(frozen=True)
class ThroughGateway:
    """The user's SQL Gateway."""

    gateway: Gateway
    starts: bool = False
    _cancelled: Event = field(default_factory=Event)

    def ask(self, question: Question) -> dict[str, Any]:
        """The answer. Raises EngineUnavailable, RunCancelled, NotAskable."""
        return self.gateway.ask(question, self._cancelled)

    def cancel(self) -> None:
        """Close its session, and with it its job."""
        self._cancelled.set()


@dataclass(frozen=True)
class Named:
    """The gateway that the user has named. is_asked: rather than an installed Flink."""

    address: str
    token: str = field(default="", repr=False)
    is_asked: bool = True


def named() -> Named | None:
    """The gateway, if there is one. Raises EngineUnavailable if its file is broken."""
    path = _file()
    try:
        return Named(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        message = f"the file of the SQL Gateway, {path}, cannot be read: {type(error).__name__}. Remove it."
        raise EngineUnavailable(message) from error


def name(gateway: Named) -> None:
    """Keep the gateway; it is checked first. Raises EngineUnavailable."""
    Gateway(gateway.address, gateway.token)
    write_secretly(_file(), json.dumps(asdict(gateway)))


def prefer(*, gateway: bool) -> None:
    """Ask the gateway, or the installed Flink. Raises EngineUnavailable."""
    if (named_gateway := named()) is not None:
        write_secretly(_file(), json.dumps(asdict(replace(named_gateway, is_asked=gateway))))


def forget() -> None:
    """Delete the gateway and its token."""
    with suppress(FileNotFoundError):
        _file().unlink()


def place(home: Path, session: Session = SESSION) -> Place | None:
    """The Flink that is asked; None if there is none. home: of an installed one. Raises EngineUnavailable."""
    named_gateway, python = named(), python_in(home)
    if named_gateway is not None and (named_gateway.is_asked or python is None):
        return ThroughGateway(Gateway(named_gateway.address, named_gateway.token))
    return None if python is None else Installed(python, session)


def _file() -> Path:
    return engines_file().with_name(_FILE)
