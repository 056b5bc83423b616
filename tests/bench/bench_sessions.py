"""Tests the app with several browser sessions: pages, runs, cancels, deletes, queries, and a killed engine.

    python -m tests.bench.bench_sessions [--minutes 10] [--sessions 5] [--seed 1]

Each session performs random actions one after the other, on a store with short, long and failed runs. Now and then the
JVM is killed. The test prints the number of actions, each page that was blank or showed an exception or a traceback,
and the largest memory of the app in the second and in the last third of the time. Exits with 1 if a page was wrong.
Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

from playwright.sync_api import Error, Page, sync_playwright

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.lasting import LASTING
from tests.ui import seeded_store

PAGES: Final = (
    *("", "build", "run", "changelog", "time-travel", "event-time"),
    *("retractions", "compare", "sql", "engines"),
)
PATIENCE_MS: Final = 60_000
LONG: Final = "SELECT levenshtein(repeat('a', 300000), repeat('b', 300000))"
_LEAST_TEXT: Final = 40
_PAGE_BYTES: Final = 4096


class Sessions:
    """The sessions, their actions, and the wrong pages."""

    def __init__(self, app: App, pages: list[Page], chance: random.Random) -> None:
        self.app = app
        self.pages = pages
        self.chance = chance
        self.done: Counter[str] = Counter()
        self.missed: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._actions: tuple[Callable[[Page], None], ...] = (
            self.look,
            self.look,
            self.run_again,
            self.cancel,
            self.delete,
            self.ask,
            self.ask_too_much,
            self.reload,
        )

    def act(self) -> None:
        """Perform a random action in a random session."""
        page, action = self.chance.choice(self.pages), self.chance.choice(self._actions)
        try:
            action(page)
            self.done[action.__name__] += 1
        except Error:
            # The button was missing, for example because another session was faster.
            self.missed[action.__name__] += 1
        self.judge(page, action.__name__)

    def look(self, page: Page) -> None:
        """Open a page."""
        self._open(page, self.chance.choice(PAGES))

    def reload(self, page: Page) -> None:
        """Reload the page, even while it is busy."""
        page.reload(wait_until="commit")

    def run_again(self, page: Page) -> None:
        """Repeat a run: short or long."""
        self._open(page, f"run?run={self.chance.choice([1, 2, 3, 4])}")
        page.get_by_role("button", name="Run again").click()
        page.get_by_role("button", name=re.compile("(play_arrow )?Run$")).last.click()

    def cancel(self, page: Page) -> None:
        """Cancel the shown run, if it is running."""
        self._open(page, "run")
        page.get_by_role("button", name=re.compile("Cancel")).first.click(timeout=3000)

    def delete(self, page: Page) -> None:
        """Delete the shown run, unless it is one of the first, which other actions use."""
        self._open(page, "run")
        if re.search(r"run=[1-5]\b", page.url):
            return
        page.get_by_role("button", name=re.compile("Delete$")).first.click(timeout=3000)
        page.get_by_role("button", name="Delete the run").click(timeout=3000)

    def ask(self, page: Page) -> None:
        """Run an SQL query."""
        self._open(page, "sql?run=2&sql=SELECT+count(*)+FROM+run_2.clicks")

    def ask_too_much(self, page: Page) -> None:
        """Run an SQL query that takes too long, and cancel it or leave it."""
        self._open(page, f"sql?run=2&sql={LONG.replace(' ', '+')}")
        if self.chance.random() < 0.5:
            page.get_by_role("button", name=re.compile("Cancel")).click(timeout=5000)

    def judge(self, page: Page, after: str) -> None:
        """Note a page that is blank, or shows an exception or a traceback."""
        try:
            main = page.get_by_test_id("stApp")
            main.wait_for()
            deadline = time.monotonic() + PATIENCE_MS / 1000
            while len(text := main.inner_text()) < _LEAST_TEXT and time.monotonic() < deadline:
                page.wait_for_timeout(200)
            raised = page.get_by_test_id("stException").all_inner_texts()
        except Error as error:
            self.wrong.append(f"after {after}: {page.url}: {str(error).splitlines()[0]}")
            return
        if len(text) < _LEAST_TEXT:
            self.wrong.append(f"after {after}: {page.url} is blank: {text!r}")
        elif raised or "Traceback" in text or "unexpected error" in text:
            self.wrong.append(f"after {after}: {page.url}: {raised or text[:600]}")

    def _open(self, page: Page, path: str) -> None:
        page.goto(f"{self.app.url}/{path}", wait_until="commit")
        page.get_by_test_id("stMain").wait_for()
        page.wait_for_timeout(self.chance.choice([100, 500, 2000]))


def main() -> int:
    """Run the sessions, and print the result."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_sessions")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--sessions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=2, help="so often the JVM is killed")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessions-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.environ[FOLDER_ENVIRONMENT] = str(folder / "servers")
        _seed(folder)
        try:
            with running_app(folder, engine="local[2]") as app, sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=chromium(Path(playwright.chromium.executable_path)), args=ARGUMENTS
                )
                pages = [browser.new_context().new_page() for _ in range(args.sessions)]
                for page in pages:
                    page.set_default_timeout(PATIENCE_MS)
                    page.goto(app.url, wait_until="commit")
                sessions = Sessions(app, pages, random.Random(args.seed))
                memory = _work(sessions, args.minutes * 60, args.kills)
                browser.close()
                # The log may have runs that failed because their engine ended, but no failed pages and callbacks.
                failed = re.findall(r"ERROR a (?:page|callback) failed", app.log.read_text(errors="replace"))
        finally:
            for server in servers():
                server.close(20)
    said = ", ".join(f"{count} {action}" for action, count in sessions.done.most_common())
    missed = ", ".join(f"{count} {action}" for action, count in sessions.missed.most_common()) or "none"
    sys.stdout.write(f"seed {args.seed}: {said}; not possible at that moment: {missed}\n")
    sys.stdout.write(f"memory of the app: {memory[0]:.0f} MiB at a third, {memory[1]:.0f} MiB at the end\n")
    for wrong in [*sessions.wrong, *failed]:
        sys.stdout.write(f"wrong: {wrong}\n")
    sys.stdout.write(f"{len(sessions.wrong) + len(failed)} pages were wrong\n")
    return 1 if sessions.wrong or failed else 0


def _seed(folder: Path) -> None:
    with Store.open(folder / "studio.duckdb") as store:
        for made in (seeded_store.word_count, seeded_store.windows, seeded_store.two_sources):
            made(store, folder)
        lasting = store.runs.create("lasting", LASTING.to_json(), engine="local[2]")
        store.runs.fail(lasting.run_id, "the run was cancelled.", cancelled=True)
        seeded_store.failed(store)


def _work(sessions: Sessions, seconds: float, kills: int) -> tuple[float, float]:
    """Act until the time is over. Returns the app's largest memory in MiB in the second and in the last third."""
    began = time.monotonic()
    left = [seconds * (at + 1) / (kills + 1) for at in range(kills)]
    samples: list[tuple[float, float]] = []
    while (now := time.monotonic() - began) < seconds:
        if left and now > left[0]:
            left.pop(0)
            for server in servers():
                server.kill()
            sys.stdout.write(f"the JVM was killed after {now:.0f} s\n")
            sys.stdout.flush()
        sessions.act()
        samples.append((now, _resident_mib(sessions.app.pid)))
    thirds = [[mib for at, mib in samples if seconds * k / 3 <= at < seconds * (k + 1) / 3] for k in range(3)]
    return max(thirds[1], default=0), max(thirds[2], default=0)


def _resident_mib(pid: int) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE_BYTES / (1 << 20)
    except (OSError, IndexError):
        return 0


if __name__ == "__main__":
    sys.exit(main())
