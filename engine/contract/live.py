"""A live run: what somebody wants of it, and what is kept of it so that it can go on or be replayed.

running  <->  paused  -> one step ->  paused
   |             |
   +-------------+---> stopped   goes on from its last epoch when it is resumed
                 \\---> ended     the sources end, and what waits for them fires
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from typing import Any
from uuid import uuid4

from engine.contract.stream import Json


class Wish(Enum):
    """What a live run is to do next."""

    GO = "go"
    STOP = "stop"
    END = "end"


class Control:
    """The switches of a live run. Any thread may use them."""

    def __init__(self, *, paused: bool = False) -> None:
        self._changed = threading.Condition()
        self._paused = paused
        self._steps = 0
        self._wish = Wish.GO

    @property
    def is_paused(self) -> bool:
        """Whether no epoch begins until somebody says so."""
        with self._changed:
            return self._paused and not self._steps and self._wish is Wish.GO

    @property
    def wish(self) -> Wish:
        """What is wanted."""
        with self._changed:
            return self._wish

    def pause(self) -> None:
        """Begin no further epoch."""
        self._set(paused=True)

    def go_on(self) -> None:
        """After a pause."""
        self._set(paused=False)

    def step(self) -> None:
        """Run one epoch that has something to do, then pause."""
        with self._changed:
            self._paused = True
            self._steps += 1
            self._changed.notify_all()

    def stop(self, *, end: bool = False) -> None:
        """End the run after the epoch that is on. end: its sources end, and what waits for them fires."""
        self._set(wish=Wish.END if end else Wish.STOP)

    def wait(self, seconds: float) -> Wish:
        """Wait so long, or until somebody wants something else."""
        with self._changed:
            self._changed.wait_for(lambda: self._wish is not Wish.GO, seconds)
            return self._wish

    def stepped(self) -> None:
        """An epoch was run."""
        with self._changed:
            self._steps = max(0, self._steps - 1)

    def _set(self, *, paused: bool | None = None, wish: Wish | None = None) -> None:
        with self._changed:
            self._paused = self._paused if paused is None else paused
            self._wish = self._wish if wish is None else wish
            self._changed.notify_all()


@dataclass(frozen=True)
class Begun:
    """What a live run was started with, and where it is.

    folder: what relative paths are relative to. interval_ms, records: of its epochs, None where the engine chooses.
    checkpoint: after its last epoch, "" where there is none. name: that of the run, as a store gives it.
    """

    folder: str
    interval_ms: int | None = None
    records: int | None = None
    checkpoint: str = ""
    name: str = ""


@dataclass(frozen=True)
class Decision:
    """What the clock decided of an epoch: what it took of each source, which sources ended with it, and which are idle
    from its end on.
    """

    took: Mapping[str, Json]
    ended: Sequence[str] = ()
    idle: Sequence[str] = ()

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Decision:
        """From text."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Checkpoint:
    """What a run needs to go on after an epoch. Paths are relative to the folder of the run.

    before: what is known of the events so far. positions: of the sources; ended: those that have no more. states,
    bundles: by node, the files of its state and of its open bundles. marks: where sources can be idle, how far the
    combined watermarks have come, by what they are made of.
    """

    epoch: int
    before: Mapping[str, Any]
    positions: Mapping[str, Json]
    ended: Sequence[str]
    states: Mapping[str, Sequence[Mapping[str, Any]]]
    bundles: Mapping[str, Sequence[str]]
    marks: Mapping[str, Json] = field(default_factory=dict)

    def to_json(self) -> str:
        """As text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Checkpoint:
        """From text."""
        return cls(**json.loads(text))


@dataclass
class Live:
    """How a run is to be live.

    interval_ms: from the start of one epoch to that of the next; None: as the last ones allow. records: of an epoch at
    most; None: so many as take a few seconds. checkpoint: where it goes on; None: at the start. decisions: those of a
    run that is replayed, in place of the clock. say: hears what somebody should know of a source, once as it comes up.
    name: of the run, which no other one has: by it a source knows what it holds for this run, from its first poll on.
    """

    control: Control = field(default_factory=Control)
    interval_ms: int | None = None
    records: int | None = None
    checkpoint: Checkpoint | None = None
    decisions: Sequence[Decision] | None = None
    say: Callable[[str, str], None] = lambda node, sentence: None
    name: str = field(default_factory=lambda: uuid4().hex[:12])
