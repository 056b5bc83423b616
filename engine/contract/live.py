"""A live run: its controls, and the stored values for resuming and replaying it.

running  <->  paused  -> one step ->  paused
   |             |
   +-------------+---> stopped   continues after its last epoch when it is resumed
   \\---> ended     the sources end, and waiting results fire
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
    """The request for the next action of a live run."""

    GO = "go"
    STOP = "stop"
    END = "end"


class Control:
    """The controls of a live run. Any thread may use them."""

    def __init__(self, *, paused: bool = False) -> None:
        self._changed = threading.Condition()
        self._paused = paused
        self._steps = 0
        self._wish = Wish.GO

    @property
    def is_paused(self) -> bool:
        """Whether no epoch begins until `go_on` or `step`."""
        with self._changed:
            return self._paused and not self._steps and self._wish is Wish.GO

    @property
    def wish(self) -> Wish:
        """The current request."""
        with self._changed:
            return self._wish

    def pause(self) -> None:
        """Begin no further epoch."""
        self._set(paused=True)

    def go_on(self) -> None:
        """Continue after a pause."""
        self._set(paused=False)

    def step(self) -> None:
        """Run one epoch that has something to do, then pause."""
        with self._changed:
            self._paused = True
            self._steps += 1
            self._changed.notify_all()

    def stop(self, *, end: bool = False) -> None:
        """End the run after the current epoch. end: its sources end, and waiting results fire."""
        self._set(wish=Wish.END if end else Wish.STOP)

    def wait(self, seconds: float) -> Wish:
        """Wait for this time, or until STOP or END is requested."""
        with self._changed:
            self._changed.wait_for(lambda: self._wish is not Wish.GO, seconds)
            return self._wish

    def stepped(self) -> None:
        """Count a finished epoch as a step."""
        with self._changed:
            self._steps = max(0, self._steps - 1)

    def _set(self, *, paused: bool | None = None, wish: Wish | None = None) -> None:
        with self._changed:
            if paused is not None:
                # A step that has found nothing to do yet would run an epoch in spite of a later pause.
                self._paused, self._steps = paused, 0
            self._wish = self._wish if wish is None else wish
            self._changed.notify_all()


@dataclass(frozen=True)
class Begun:
    """The start parameters of a live run, and its position.

    folder: the base of relative paths. interval_ms, records: of its epochs, None if the engine chooses.
    checkpoint: after its last epoch, "" if there is none. name: of the run, from the store.
    """

    folder: str
    interval_ms: int | None = None
    records: int | None = None
    checkpoint: str = ""
    name: str = ""


@dataclass(frozen=True)
class Decision:
    """The decisions for an epoch.

    took: the part taken from each source. ended: the sources that ended. idle: the sources that are idle after it.
    now_ms: the time of the decision, in epoch ms, which never falls; None of a run of an older version.
    """

    took: Mapping[str, Json]
    ended: Sequence[str] = ()
    idle: Sequence[str] = ()
    now_ms: int | None = None

    def to_json(self) -> str:
        """The value as JSON text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Decision:
        """The value from JSON text."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Checkpoint:
    """The data that a run needs to continue after an epoch. Paths are relative to the folder of the run.

    before: facts about the events so far. positions: of the sources. ended: the sources without further records.
    states, bundles: by node, the files of its state and of its open bundles. marks: if sources can be idle, the
    current combined watermarks, by their origin. outbox: by sink, what its target has and has to have
    (`engine.runtime.outbox`), and where it is (`place`).
    """

    epoch: int
    before: Mapping[str, Any]
    positions: Mapping[str, Json]
    ended: Sequence[str]
    states: Mapping[str, Sequence[Mapping[str, Any]]]
    bundles: Mapping[str, Sequence[str]]
    marks: Mapping[str, Json] = field(default_factory=dict)
    outbox: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_json(self) -> str:
        """The value as JSON text."""
        return json.dumps(asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Checkpoint:
        """The value from JSON text."""
        return cls(**json.loads(text))


@dataclass
class Live:
    """The settings of a live run.

    interval_ms: between the starts of two epochs; None: adapted to recent epochs. records: the most records of an
    epoch; None: as many as take a few seconds. checkpoint: where it continues; None: at the start. decisions: of a
    replayed run, instead of the clock. say: called with a node and a message about a source, once per message. name:
    the unique name of the run, by which a source identifies its resources for this run, from its first poll on.
    writes: whether its sinks write to their targets. Only a run that a store keeps does: it has to know what is there.
    delivered: called with the `outbox` of its checkpoint, once the targets have the last epoch.
    """

    control: Control = field(default_factory=Control)
    interval_ms: int | None = None
    records: int | None = None
    checkpoint: Checkpoint | None = None
    decisions: Sequence[Decision] | None = None
    say: Callable[[str, str], None] = lambda node, sentence: None
    name: str = field(default_factory=lambda: uuid4().hex[:12])
    writes: bool = False
    delivered: Callable[[Mapping[str, Mapping[str, Any]]], None] = lambda outbox: None
