"""Undo and redo of a document, by whole snapshots, which cannot get out of step."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.errors import PipelineError
from engine.model.pipeline import Pipeline

_STEPS: Final = 100
_KEPT_CHARS: Final = 400_000
_CANVASES: Final = 8


@dataclass
class History:
    """The current document, the earlier ones (the latest last) and the undone ones (the next last).

    merge: the name of consecutive edits that count as one, such as the letters typed into one field.
    heard: by canvas, the number of the last gesture that the document has taken. It is saved with the document, so
    that a gesture that a browser sends again is not applied again.
    """

    now: Pipeline
    past: list[Pipeline] = field(default_factory=list)
    future: list[Pipeline] = field(default_factory=list)
    merge: str = ""
    heard: dict[str, int] = field(default_factory=dict)

    def change(self, document: Pipeline, merge: str = "") -> bool:
        """Take a new document; False if it is the same. Consecutive edits with the same `merge` are one step."""
        if document == self.now:
            return False
        if not (merge and merge == self.merge and self.past):
            self.past = [*self.past, self.now][-_STEPS:]
        self.now = document
        self.future = []
        self.merge = merge
        return True

    def undo(self) -> bool:
        """Go back one step; False at the first."""
        return self._move(self.past, self.future)

    def redo(self) -> bool:
        """Go forward again; False at the last."""
        return self._move(self.future, self.past)

    def _move(self, there: list[Pipeline], back: list[Pipeline]) -> bool:
        if not there:
            return False
        back.append(self.now)
        self.now = there.pop()
        self.merge = ""
        return True

    def to_json(self) -> str:
        """The history as JSON, without the oldest steps if it would be too large."""
        return json.dumps(
            {
                "now": self.now.model_dump(mode="json"),
                "past": _newest(self.past),
                "future": _newest(self.future),
                "heard": dict([*self.heard.items()][-_CANVASES:]),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> History:
        """Read the result of `to_json`. Raises PipelineError if it is damaged."""
        try:
            raw = json.loads(text)
            past, future = ([Pipeline.model_validate(draft) for draft in raw[name]] for name in ("past", "future"))
            heard = {str(canvas): int(n) for canvas, n in raw.get("heard", {}).items()}
            return cls(Pipeline.model_validate(raw["now"]), past, future, heard=heard)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = "the draft cannot be read; open the pipeline again from the list."
            raise PipelineError(message) from error


def _newest(documents: Sequence[Pipeline]) -> list[object]:
    newest: list[object] = []
    room = _KEPT_CHARS
    for document in reversed(documents):
        room -= len(document.model_dump_json())
        if room < 0:
            break
        newest.insert(0, document.model_dump(mode="json"))
    return newest
