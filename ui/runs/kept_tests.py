"""The tests beside the store, and their verdicts in the background: one after the other, independent of any session.

A verdict is of a test and a version of its pipeline; it counts until one of the two changes.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Event
from typing import Final

from engine.errors import StudioError
from engine.kept.judging import Verdict, judged
from engine.kept.keeping import Chosen, Recorded, keep
from engine.kept.kept_test import KeptTest, tests_in
from engine.kept.manifest import Wanted
from engine.kept.replaying import InProcess
from engine.model.pipeline import Pipeline
from engine.spark.session import DEFAULT_MASTER, get_spark
from storage import Store, default_path
from storage.library.run_folders import tests_folder
from storage.model import Run
from ui.builder.editing import what_runs
from ui.builder.history import History
from ui.shell import workspace

_LOG: Final = logging.getLogger(__name__)
_FOLDER: Final = re.compile(r"[^\w-]+")
_MOST_VERDICTS: Final = 1000
_UNEXPECTED: Final = "an unexpected error occurred; the details are in the app's log."


@dataclass(frozen=True)
class Version:
    """A test with the version of its pipeline that is tested; None: the one that it was kept with."""

    test: KeptTest
    pipeline: Pipeline | None

    @property
    def key(self) -> str:
        """Differs for another version, and after the test has changed."""
        changed = [file.stat().st_mtime_ns for file in sorted(self.test.folder.rglob("*.json*"))]
        what = "" if self.pipeline is None else what_runs(self.pipeline).to_json()
        return sha256(f"{self.test.folder}{changed}{what}".encode(errors="surrogateescape")).hexdigest()


@dataclass
class KeptTests:
    """The tests of a store. left: those that wait, the first of which is running."""

    store: Store
    left: list[Version] = field(default_factory=list)
    total: int = 0
    cancelled: Event = field(default_factory=Event)
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def folder(self) -> Path:
        """Where they are."""
        return tests_folder(self.store.path)

    def all(self) -> list[KeptTest]:
        """All readable tests, by folder."""
        tests: list[KeptTest] = []
        try:
            folders = [*tests_in([self.folder])]
        except StudioError:
            return tests
        for folder in folders:
            try:
                tests.append(KeptTest.in_folder(folder))
            except StudioError:
                _LOG.warning("%s is no readable test", folder)
        return tests

    def of(self, identity: str) -> list[KeptTest]:
        """The tests of a pipeline."""
        return [test for test in self.all() if identity and test.identity == identity]

    def version(self, test: KeptTest) -> Version:
        """A test with the newest version of its pipeline: a draft, else the saved one, else its own."""
        identity = test.identity
        for draft in self.store.drafts.list() if identity else ():
            if draft.identity == identity:
                return Version(test, History.from_json(draft.document).now)
        for saved in self.store.pipelines.list() if identity else ():
            if saved.identity == identity:
                return Version(test, Pipeline.from_json(self.store.pipelines.load(saved.pipeline_id).document))
        return Version(test, None)

    def verdict(self, version: Version) -> Verdict | None:
        """The verdict on a version, if it has run."""
        return self._verdicts.get(version.key)

    def start(self, versions: Sequence[Version]) -> None:
        """Run tests that have no verdict yet, after those that wait."""
        with self._lock:
            waiting = {version.key for version in self.left}
            new = [version for version in versions if version.key not in self._verdicts and version.key not in waiting]
            if not new:
                return
            self.total = len(new) if not self.left else self.total + len(new)
            is_idle = not self.left
            self.left += new
            if not is_idle:
                return
            self.cancelled = Event()
        threading.Thread(target=self._work_off, name="changelog-studio-kept-tests", daemon=True).start()

    def again(self, versions: Sequence[Version]) -> None:
        """Run tests, also those with a verdict."""
        for version in versions:
            self._verdicts.pop(version.key, None)
        self.start(versions)

    def cancel(self) -> None:
        """Leave out those that have not begun."""
        self.cancelled.set()

    def keep(self, run: Run, wanted: Wanted, chosen: Chosen | None) -> KeptTest:
        """Keep a run as a test. Raises StudioError, StoreError."""
        pipeline = Pipeline.from_json(run.document).model_copy(update={"identity": run.identity})
        recorded = Recorded(pipeline, self.store.recordings.write(run.run_id))
        return keep(recorded, wanted, self.free_folder(wanted.name), _here(), chosen)

    def free_folder(self, name: str) -> Path:
        """A folder for a test with this name that is not there yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        base = _FOLDER.sub("-", name.lower()).strip("-")[:60] or "test"
        names = (base if at == 1 else f"{base}-{at}" for at in range(1, 10_000))
        return next(path for candidate in names if not (path := self.folder / candidate).exists())

    def _work_off(self) -> None:
        while True:
            with self._lock:
                if self.cancelled.is_set():
                    self.left.clear()
                if not self.left:
                    return
                version = self.left[0]
            key = version.key
            try:
                self._verdicts[key] = judged(version.test, _here(), version.pipeline)
            except Exception:  # noqa: BLE001 - whatever it is, the test is red, and does not run for ever
                _LOG.exception("the test %s could not run", version.test.folder)
                self._verdicts[key] = Verdict(version.test, problem=_UNEXPECTED)
            with self._lock:
                self.left.pop(0)
                while len(self._verdicts) > _MOST_VERDICTS:
                    self._verdicts.pop(next(iter(self._verdicts)))


def _here() -> InProcess:
    return InProcess(lambda: get_spark(DEFAULT_MASTER))


def kept_tests() -> KeptTests:
    """The tests of this process's store."""
    return _kept_tests(default_path())


@cache
def _kept_tests(path: Path) -> KeptTests:
    return KeptTests(workspace.store())
