"""What each process takes at most: while a large run goes on, and while somebody looks at every page of it.

    python -m tests.bench.bench_memory [--events N] [--keys N] [--workload dedup_last_rowtime] [--store FILE]

The app serves a browser, which starts the run and then opens the pages of all its edges, one after the other. With
--store, it opens those of the last run of a store (`bench_engine --stores` makes one). Prints, for the run and for each
page, the seconds that it took, the CPU seconds of the app, and the largest resident memory of the app, of the JVM, of
all workers together and of all other processes that the app started. Exits with 1 if the run does not finish, if a page
shows an exception, or if the app took more than 1 GB. Linux only. Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from playwright.sync_api import Page, sync_playwright

from engine.expressions.analyzer import TypeRules
from engine.model.pipeline import Pipeline
from engine.script import script_of
from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from storage import Store
from storage.model import Run
from tests.bench.events import events
from tests.bench.process_tree import JAVA, tree
from tests.bench.workloads import QUERIES, script
from tests.browser.app_server import App, running_app
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.conftest import wait_until_settled
from tests.browser.run_page import run_again

APP, JVM, WORKERS, OTHERS = "app", "JVM", "workers", "others"
MOST_OF_APP: Final = 1 << 30
_ENGINE: Final = "local[2]"
_PATIENCE_MS: Final = 3_600_000
_OF_AN_EDGE: Final = (
    "changelog?run={run}&edge={edge}",
    "changelog?run={run}&edge={edge}&event={event}",
    "changelog?run={run}&edge={edge}&where={number} > 0 AND {number} < 3",
    "changelog?run={run}&edge={edge}&contains=98765",
    "changelog?run={run}&edge={edge}&sort=-{number}",
    "time-travel?run={run}&edge={edge}&event={event}",
    "time-travel?run={run}&edge={edge}&event={other}",
    "time-travel?run={run}&edge={edge}&event={other}&order=-{number}",
    "retractions?run={run}&edge={edge}",
    "retractions?run={run}&edge={edge}&part=The whole run",
    "why-retraction?run={run}&edge={edge}&event={event}",
)
_OF_THE_RUN: Final = (
    *("run?run={run}", "event-time?run={run}", "event-time?run={run}&part=Late records"),
    *("state?run={run}&event={event}", "what-if?run={run}", "compare?run={run}&versus={run}"),
    "sql?run={run}&sql=SELECT+count(*)+FROM+run_{run}.{edge}",
)


class Peaks(threading.Thread):
    """The largest resident bytes by kind of process, since `take` was last called."""

    def __init__(self, app: int) -> None:
        super().__init__(daemon=True)
        self._app = app
        self._bytes: dict[str, int] = {}
        self._began, self._burnt = time.monotonic(), 0.0

    def run(self) -> None:
        """Look ten times a second."""
        while True:
            for kind, now in self.now().items():
                self._bytes[kind] = max(now, self._bytes.get(kind, 0))
            time.sleep(0.1)

    def now(self) -> dict[str, int]:
        """The current resident bytes by kind."""
        found = dict.fromkeys((APP, JVM, WORKERS, OTHERS), 0)
        of_engine = {process.pid: process for server in servers() for process in tree(server.jvm)}
        of_app = {process.pid: process for process in tree(self._app)}
        for pid, process in (of_app | of_engine).items():
            kind = APP if pid == self._app else JVM if process.name == JAVA else WORKERS if pid in of_engine else OTHERS
            found[kind] += process.resident_bytes
        return found

    def take(self, title: str) -> int:
        """Print the peaks under a title. Returns that of the app."""
        peaks, self._bytes = self._bytes or self.now(), {}
        took, self._began = time.monotonic() - self._began, time.monotonic()
        burnt = next(process.cpu_s for process in tree(self._app) if process.pid == self._app)
        spent, self._burnt = burnt - self._burnt, burnt
        parts = ", ".join(f"{kind} {peaks[kind] >> 20:,} MB" for kind in (APP, JVM, WORKERS, OTHERS))
        sys.stdout.write(f"{title:72} {took:7.1f} s  CPU {spent:6.1f} s  {parts}\n")
        sys.stdout.flush()
        return peaks[APP]


def main() -> int:
    """Run, look, and print. Returns 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_memory")
    parser.add_argument("--events", type=int, default=12_000_000)
    parser.add_argument("--keys", type=int, default=1_200_000)
    parser.add_argument("--workload", default="dedup_last_rowtime", choices=[*QUERIES])
    parser.add_argument("--store", type=Path, help="look at the last run of this store")
    parser.add_argument("--data", type=Path, default=Path(tempfile.gettempdir()) / "changelog-studio-bench")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memory-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.environ[FOLDER_ENVIRONMENT] = str(folder / "servers")
        if given.store is not None:
            (folder / "studio.duckdb").symlink_to(given.store.absolute())
        else:
            file = events(given.data, given.events, given.keys)
            pipeline = script_of(script(given.workload, str(file)), TypeRules(), given.data).pipeline
            with Store.open(folder / "studio.duckdb") as store:
                first = store.runs.create("large", pipeline.to_json(), engine=_ENGINE)
                store.runs.fail(first.run_id, "the run was cancelled.", cancelled=True)
        with Store.open(folder / "studio.duckdb") as store:
            run = store.runs.list()[0]
        try:
            with running_app(folder, _ENGINE) as app, _browser(app) as page:
                wrong = _look(page, app, run, run.last_seq or given.events)
                size = app.store.stat().st_size
        finally:
            for server in servers():
                server.close(20)
    sys.stdout.write(f"the store has {size >> 20:,} MB\n" + "".join(f"wrong: {each}\n" for each in wrong))
    return int(bool(wrong))


@contextmanager
def _browser(app: App) -> Iterator[Page]:
    with sync_playwright() as playwright:
        path = chromium(Path(playwright.chromium.executable_path))
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        page = browser.new_page(base_url=app.url)
        page.set_default_timeout(_PATIENCE_MS)
        yield page
        with suppress(Exception):
            browser.close()


def _look(page: Page, app: App, run: Run, last: int) -> list[str]:
    """Open the pages of a run; one without events is repeated before. Returns what was wrong."""
    wrong: list[str] = []
    peaks = Peaks(app.pid)
    peaks.start()

    def note(title: str) -> None:
        text = page.get_by_test_id("stApp").inner_text()
        if page.get_by_test_id("stException").count() or "Traceback" in text:
            wrong.append(f"{title}: {text[:300]!r}")
        if peaks.take(title) > MOST_OF_APP:
            wrong.append(f"{title}: the app took more than 1 GB")

    number = run.run_id
    if not run.last_seq:
        _open(page, f"/run?run={number}")
        note("the page of the run that is repeated")
        run_again(page)
        number += 1
        shown = re.compile(rf"\b(finished|failed|cancelled|interrupted)\s[^|]*?\brun {number} ·")
        while not (found := shown.search(page.get_by_test_id("stMain").inner_text().partition("All runs")[0])):
            page.wait_for_timeout(500)
        note(f"the run, {found[1]}")
        if found[1] != "finished":
            return [*wrong, page.get_by_test_id("stMain").inner_text()[:1000]]
    edges = [node.id for node in Pipeline.from_json(run.document).nodes]
    places = [(place, edge) for edge in edges for place in _OF_AN_EDGE] + [(place, edges[0]) for place in _OF_THE_RUN]
    for place, edge in places:
        title = place.format(run=number, edge=edge, event=last // 2, other=last // 3, number="v")
        _open(page, f"/{title}")
        note(title)
    page.wait_for_timeout(5_000)
    note("five seconds later")
    return wrong


def _open(page: Page, place: str) -> None:
    page.goto(place, wait_until="commit")
    page.get_by_test_id("stMain").wait_for()
    wait_until_settled(page)


if __name__ == "__main__":
    sys.exit(main())
