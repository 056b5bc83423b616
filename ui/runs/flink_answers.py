"""What Flink says about runs, asked in the background: one question at a time, independent of any session.

Also the installation of Flink beside the store, which the page Engines shows.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from engine.contract.cancel import Cancel
from engine.errors import RunCancelled, StudioError
from engine.flink.environment import home_beside, install, python_in, remove, require_python
from engine.flink.places import Installed, Place, place
from engine.flink.process import SESSION
from engine.model.pipeline import Pipeline
from engine.spark.session import DEFAULT_MASTER, get_spark
from storage import Store, default_path
from storage.errors import StoreError
from storage.model import Run
from ui.shell import workspace

if TYPE_CHECKING:
    from engine.flink.asking import Asked

_LOG: Final = logging.getLogger(__name__)
_MOST: Final = 100
FAILED: Final = "an unexpected error occurred; the details are in the app's log."


@dataclass
class Answers:
    """What was said. going_on: by run, what is done. found: by run, sink by sink; or why Flink could not be asked."""

    store: Store
    folder: Path
    going_on: dict[int, str] = field(default_factory=dict)
    found: dict[int, tuple[Asked, ...] | str] = field(default_factory=dict)
    _cancelled: set[int] = field(default_factory=set)
    _asked: Place | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, run: Run) -> None:
        """Ask about a run, after those that are asked about."""
        if run.run_id not in self.going_on:
            self.going_on[run.run_id] = "waiting"
            threading.Thread(target=self._ask, args=(run,), name="changelog-studio-ask-flink", daemon=True).start()

    def cancel(self, run_id: int) -> None:
        """End a question; Flink ends with it."""
        self._cancelled.add(run_id)
        if self.going_on.get(run_id) not in (None, "waiting") and (asked := self._asked) is not None:
            asked.cancel()

    def _ask(self, run: Run) -> None:
        said: tuple[Asked, ...] | str | None = None
        with self._lock:
            try:
                said = () if run.run_id in self._cancelled else self._said(run)
            except (StudioError, StoreError) as error:
                said = str(error)
            except Exception:  # noqa: BLE001 - whatever Java or Arrow raises is said on the page
                _LOG.exception("Flink could not be asked about run %s", run.run_id)
                said = FAILED
            if run.run_id in self._cancelled:
                self._cancelled.discard(run.run_id)
            else:
                self.found[run.run_id] = said
                while len(self.found) > _MOST:
                    self.found.pop(next(iter(self.found)))
            del self.going_on[run.run_id]

    def _said(self, run: Run) -> tuple[Asked, ...]:
        from engine.flink.asking import Asking

        self.going_on[run.run_id] = "reading the records of the run"
        recordings = self.store.recordings.write(run.run_id)
        flink = self._asked = place(installation().home) or Installed(require_python(installation().home))
        asking = Asking(Pipeline.from_json(run.document), recordings, self.folder, lambda: get_spark(DEFAULT_MASTER))
        said = []
        for sink in asking.sinks:
            starts = "starting Flink, " if flink.starts else ""
            self.going_on[run.run_id] = f"{starts}asking about {sink}"
            said.append(asking.asked(sink, flink.ask))
        return tuple(said)


@dataclass
class Installation:
    """Flink beside the store. step: what its installation does; None if none goes on. error: why one failed."""

    home: Path
    step: str | None = None
    error: str = ""
    _cancel: Cancel = field(default_factory=Cancel)

    @property
    def python(self) -> str | None:
        """The interpreter; None if there is none."""
        return python_in(self.home)

    def start(self) -> None:
        """Install in the background."""
        if self.step is None:
            self.step, self.error, self._cancel = "making the environment", "", Cancel()
            threading.Thread(target=self._install, name="changelog-studio-install-flink", daemon=True).start()

    def cancel(self) -> None:
        """Give up; nothing is left."""
        self._cancel.set()

    def remove(self) -> None:
        """Delete it."""
        SESSION.cancel()
        remove(self.home)

    def _install(self) -> None:
        def told(step: str) -> None:
            self.step = step

        try:
            install(self.home, told, self._cancel)
        except RunCancelled:
            pass
        except StudioError as error:
            self.error = str(error)
        except Exception:  # noqa: BLE001 - whatever pip raises is said on the page
            _LOG.exception("Flink could not be installed")
            self.error = FAILED
        self.step = None


def can_ask() -> bool:
    """Whether there is a Flink to ask. A broken setting is said when it is asked."""
    try:
        return place(installation().home) is not None
    except StudioError:
        return True


def answers() -> Answers:
    """What Flink said in this process."""
    return _answers(default_path())


def installation() -> Installation:
    """The installation beside this process's store."""
    return _installation(default_path())


@cache
def _answers(path: Path) -> Answers:
    return Answers(workspace.store(), workspace.folder())


@cache
def _installation(path: Path) -> Installation:
    return Installation(home_beside(path))
