"""Trials of state TTLs in the background: one run at a time, independent of any session; what is found is kept."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engine.contract.cancel import Cancel
from engine.contract.recorder import Progress
from engine.errors import RunCancelled, StudioError
from engine.model.pipeline import Pipeline
from engine.spark.failures import reason_of
from storage import Store, default_path
from storage.errors import StoreError
from storage.model import Run
from ui.runs.batch_checks import engine_for
from ui.runs.leftovers import work_folder
from ui.shell import words, workspace

if TYPE_CHECKING:
    from engine.ttl_trials import Result, TtlTrial, TtlTrials

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class FoundResult:
    """A record that a sink received, with its values as texts."""

    node: str
    kind: str
    columns: tuple[str, ...]
    values: tuple[str, ...]


@dataclass(frozen=True)
class FoundTrial:
    """`engine.ttl_trials.TtlTrial` with texts."""

    ttl_ms: int
    entries: int
    size: int
    expired: int
    events: int
    changed: int
    first: int | None
    came: tuple[FoundResult, ...]
    otherwise: tuple[FoundResult, ...]
    suffices: bool

    @property
    def share(self) -> float:
        """The share of the events with results whose results differ."""
        return self.changed / self.events if self.events else 0.0


@dataclass(frozen=True)
class Found:
    """What is known of a run: its trials by TTL, and the smallest one that suffices. error: why no more is known.

    is_whole: it was looked for to the end; otherwise it is the smallest of those that were tried.
    """

    trials: tuple[FoundTrial, ...] = ()
    smallest_ms: int | None = None
    error: str = ""
    is_whole: bool = False

    @classmethod
    def from_json(cls, document: str) -> Found:
        """The results that the store keeps."""
        raw = json.loads(document)
        return cls(tuple(map(_trial_of, raw["trials"])), raw["smallest_ms"], raw["error"], raw.get("is_whole", True))


def _trial_of(raw: dict[str, Any]) -> FoundTrial:
    results = {
        side: tuple(
            FoundResult(row["node"], row["kind"], tuple(row["columns"]), tuple(row["values"])) for row in raw[side]
        )
        for side in ("came", "otherwise")
    }
    return FoundTrial(**{**raw, **results})


@dataclass
class Going:
    """Trials that wait or go on. ttl_ms: of the current one, 0 for that without expiry; None before the first.

    done, wanted: the numbers of TTLs. is_search: it looks for the smallest TTL that suffices.
    """

    run_id: int
    wanted: tuple[int, ...]
    cancel: Cancel = field(default_factory=Cancel)
    ttl_ms: int | None = None
    done: int = 0
    is_search: bool = False
    trials: TtlTrials | None = None

    @property
    def progress(self) -> Progress:
        """Of the current trial."""
        return Progress() if self.trials is None else self.trials.progress


@dataclass
class Trials:
    """Tries TTLs on runs. going_on: by run."""

    store: Store
    folder: Path
    going_on: dict[int, Going] = field(default_factory=dict)
    _waiting: list[Going] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, run: Run, ttls_ms: Sequence[int]) -> None:
        """Queue trials of these TTLs, unless some of this run are queued or going on."""
        with self._lock:
            if run.run_id in self.going_on:
                return
            going = self.going_on[run.run_id] = Going(run.run_id, tuple(sorted(ttls_ms, reverse=True)))
            self._waiting.append(going)
            if len(self.going_on) > 1:
                return
        threading.Thread(target=self._work_off, name="changelog-studio-ttl-trials", daemon=True).start()

    def cancel(self, run_id: int) -> None:
        """End the trials of a run; what was found stays."""
        going = self.going_on.get(run_id)
        if going is not None:
            going.cancel.set()

    def found(self, run_id: int) -> Found:
        """What is known so far."""
        document = self.store.ttl_trials.load(run_id)
        return Found() if document is None else Found.from_json(document)

    def _work_off(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    return
                going = self._waiting.pop(0)
            error = ""
            try:
                self._try_all(going)
            except RunCancelled:
                pass
            except (StudioError, StoreError) as failed:
                error = str(failed)
            except Exception as failed:  # noqa: BLE001 - whatever Spark raises is said on the page
                _LOG.exception("the TTLs of run %s could not be tried", going.run_id)
                error = reason_of(failed)
            if error:
                self._note(going.run_id, replace(self.found(going.run_id), error=error))
            with self._lock:
                del self.going_on[going.run_id]

    def _try_all(self, going: Going) -> None:
        from engine.recordings import on_recordings
        from engine.spark.session import get_spark
        from engine.ttl_trials import TtlTrials, next_to_try, smallest

        run = self.store.runs.get(going.run_id)
        recordings = self.store.recordings.write(going.run_id)
        pipeline = on_recordings(Pipeline.from_json(run.document), recordings, self.folder)
        place = work_folder(self.store.path)
        place.mkdir(parents=True, exist_ok=True)
        tried: list[TtlTrial] = []

        def note(trial: TtlTrial) -> None:
            tried.append(trial)
            best = smallest(tried)
            findings = self.found(going.run_id)
            self._note(going.run_id, _with(findings, tried, None if best is None else best.ttl_ms))

        with tempfile.TemporaryDirectory(prefix="ttl_trials-", dir=place) as work:
            spark = get_spark(engine_for(run))
            time_at = self.store.replays.marks(going.run_id).time_at
            trials = going.trials = TtlTrials(
                pipeline, spark, self.folder, Path(work), time_at, run.last_seq, going.cancel
            )
            going.ttl_ms = 0
            note(trials.free())
            for ttl_ms in going.wanted:
                going.ttl_ms = ttl_ms
                note(trials.tried(ttl_ms))
                going.done += 1
            going.is_search = True
            while (following := next_to_try(tried, trials.span_ms)) is not None:
                going.ttl_ms = following
                note(trials.tried(following))
            self._note(going.run_id, replace(self.found(going.run_id), is_whole=True))

    def _note(self, run_id: int, found: Found) -> None:
        try:
            self.store.ttl_trials.save(run_id, json.dumps(asdict(found), ensure_ascii=False))
        except StoreError:
            _LOG.exception("the trials of run %s are not kept", run_id)


def _with(found: Found, tried: Sequence[TtlTrial], smallest_ms: int | None) -> Found:
    """What was found, with these trials in place of earlier ones of the same TTLs."""
    new = {trial.ttl_ms: _in_texts(trial) for trial in tried}
    old = {trial.ttl_ms: trial for trial in found.trials}
    return Found(tuple(trial for _, trial in sorted({**old, **new}.items())), smallest_ms)


def _in_texts(trial: TtlTrial) -> FoundTrial:
    numbers = trial.ttl_ms, trial.entries, trial.size, trial.expired, trial.events, trial.changed, trial.first
    came, otherwise = (tuple(map(_result_in_texts, side)) for side in (trial.came, trial.otherwise))
    return FoundTrial(*numbers, came, otherwise, trial.suffices)


def _result_in_texts(result: Result) -> FoundResult:
    return FoundResult(result.node, result.kind, result.columns, tuple(map(words.value, result.values)))


def trials() -> Trials:
    """The trials of this process."""
    return _trials(default_path())


@cache
def _trials(path: Path) -> Trials:
    return Trials(workspace.store(), workspace.folder())
