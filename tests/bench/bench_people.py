"""Four people in four browsers, one of whom runs the worst expression and drops the worst file: what the others notice.

    python -m tests.bench.bench_people [--seconds 120]

The studio is shared, with a token for each person. Three people look at pages, ask queries and run a word count, one
after the other: first while the fourth drops a good file and runs a word count, too, then while that one does the
worst again and again. Prints how long each of their actions took, in the middle and at most, in both phases: the
difference is what they notice of the worst, not of a fourth person. Prints what the fourth was told as well. Exits
with 1 if a page was blank or showed an exception, if a run of theirs did not finish, or if the app or its engine was
another process at the end. Not part of the test run.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.sync_api import Error, Page, sync_playwright

from engine.spark.servers import FOLDER_ENVIRONMENT, servers
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.chromium import ARGUMENTS, chromium
from tests.browser.conftest import wait_until_settled
from tests.browser.run_page import run_again
from tests.engine.planning import pipeline_of, rows
from tests.engine.reading.test_apart import STRINGS, with_parts
from tests.ui import seeded_store

HOST: Final = "studio.example.com"
ADA: Final = "Ada"
OTHERS: Final = ("Grace", "Joan", "Mary")
GOOD_FILE: Final = "good.xlsx"
WORST_FILE: Final = "worst.xlsx"
WORST: Final = pipeline_of(
    "in -> worst -> out",
    **{"in": rows("n int", rows=[[1]])},
    worst=(
        "project",
        {
            "columns": [
                {
                    "name": "v",
                    "expression": "size(transform(sequence(1, 100000), x -> "
                    "transform(sequence(1, 100000), y -> x * y * n)))",
                }
            ]
        },
    ),
    out=("sink", {}),
)
ACTIONS: Final = ("open a page", "ask a query", "run a word count")
PLACES: Final = ("changelog?run=2", "event-time?run=2", "retractions?run=1", "run?run=2", "build", "")
QUERY: Final = "sql?run=2&sql=SELECT+count(*)+FROM+run_2.clicks"
PATIENCE_MS: Final = 180_000
_LEAST_TEXT: Final = 40


@dataclass
class Noted:
    """What everybody saw. took: seconds by phase and action. told: to the one who does the worst."""

    took: dict[tuple[str, str], list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    told: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    phase: str = "first"
    is_over: bool = False

    @contextmanager
    def timed(self, action: str) -> Iterator[None]:
        """Note how long an action takes, in the phase in which it begins."""
        phase, began = self.phase, time.monotonic()
        yield
        self.took[phase, action].append(time.monotonic() - began)


@contextmanager
def browser_of(app: App, name: str) -> Iterator[Page]:
    """A page of a browser of its own, in which a person has logged in."""
    port = app.url.rpartition(":")[2]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium(Path(playwright.chromium.executable_path)),
            args=[*ARGUMENTS, f"--host-resolver-rules=MAP {HOST} 127.0.0.1"],
        )
        page = browser.new_context(base_url=f"http://{HOST}:{port}").new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto("/")
        page.get_by_label("Your token").fill(token_of(name))
        page.get_by_role("button", name="Log in").click()
        wait_until_settled(page)
        yield page
        browser.close()


def token_of(name: str) -> str:
    """The token of a person."""
    return f"{name.lower()}-0123456789abcdef"


def work(page: Page, name: str, noted: Noted) -> None:
    """Look, ask and run until it is over."""
    places = list(PLACES)
    while not noted.is_over:
        places.append(place := places.pop(0))
        with noted.timed(ACTIONS[0]):
            look(page, f"/{place}")
        judge(page, name, noted)
        with noted.timed(ACTIONS[1]):
            look(page, f"/{QUERY}")
        judge(page, name, noted)
        look(page, "/run?run=1")
        with noted.timed(ACTIONS[2]):
            status = ran(page, 1)
        judge(page, name, noted)
        if status != "finished":
            noted.wrong.append(f"{name}: a word count is {status}")


def fourth(page: Page, noted: Noted, folder: Path) -> None:
    """Drop a file and repeat a run until it is over: the good ones, then the worst."""
    while not noted.is_over:
        file, run = (WORST_FILE, 3) if noted.phase == "worst" else (GOOD_FILE, 1)
        look(page, "/")
        page.locator("input[type=file]").first.set_input_files(folder / file)
        page.wait_for_timeout(1000)
        wait_until_settled(page)
        noted.told[f"{noted.phase} file: {told_on(page, rf'.*{file}.*')}"] += 1
        look(page, f"/run?run={run}")
        noted.told[f"{noted.phase} run: {ran(page, run)}: {told_on(page, r'worst: .*')}"] += 1


def look(page: Page, place: str) -> None:
    """Open a page, and wait until it is drawn."""
    page.goto(place, wait_until="commit")
    page.get_by_test_id("stMain").wait_for()
    wait_until_settled(page)


def ran(page: Page, run: int) -> str:
    """The status of a repeated run, once it is over."""
    run_again(page)
    page.wait_for_url(re.compile(rf"[?&]run=(?!{run}\b)\d+"))
    number = re.findall(r"run=(\d+)", page.url)[-1]
    shown = re.compile(rf"\b(finished|failed|cancelled|interrupted)\s[^|]*?\brun {number} ·")
    end = time.monotonic() + PATIENCE_MS / 1000
    while time.monotonic() < end:
        wait_until_settled(page)
        if found := shown.search(page.get_by_test_id("stMain").inner_text().partition("All runs")[0]):
            return found[1]
        page.wait_for_timeout(100)
    return "not over"


def told_on(page: Page, about: str) -> str:
    """The first line of a page that matches a pattern."""
    found = re.search(about, page.get_by_test_id("stMain").inner_text())
    return found[0][:240] if found else "nothing"


def judge(page: Page, name: str, noted: Noted) -> None:
    """Note a page that is blank, or that shows an exception or a traceback."""
    text = page.get_by_test_id("stApp").inner_text()
    if len(text) < _LEAST_TEXT or page.get_by_test_id("stException").count() or "Traceback" in text:
        noted.wrong.append(f"{name}: {page.url}: {text[:300]!r}")


def main() -> int:
    """Let them work, and print what they noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.bench_people")
    parser.add_argument("--seconds", type=float, default=120, help="how long each of the two phases lasts")
    args = parser.parse_args()
    noted = Noted()
    with tempfile.TemporaryDirectory(prefix="people-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.environ[FOLDER_ENVIRONMENT] = str(folder / "servers")
        _seed(folder)
        served = {"CHANGELOG_STUDIO_PEOPLE": str(folder / "people")}
        try:
            with running_app(folder, "local[2]", served, ("--server.allowedHosts", HOST)) as app:
                _work(app, noted, folder, args.seconds)
                if not app.process.is_alive():
                    noted.wrong.append("the app ended")
        finally:
            for server in servers():
                server.close(20)
    _print(noted)
    return 1 if noted.wrong else 0


def _seed(folder: Path) -> None:
    people = folder / "people"
    people.write_text("".join(f"{name} {token_of(name)}\n" for name in (ADA, *OTHERS)))
    people.chmod(0o600)
    with_parts(folder / GOOD_FILE, {})
    with_parts(folder / WORST_FILE, {"xl/sharedStrings.xml": STRINGS.format(4_000_000_000, "<si><t>a</t></si>")})
    with Store.open(folder / "studio.duckdb") as store:
        for made in (seeded_store.word_count, seeded_store.windows):
            made(store, folder)
        run = store.runs.create("worst", WORST.to_json(), engine="local[2]", made_by=ADA)
        store.runs.fail(run.run_id, "the run was cancelled.", cancelled=True)


def _work(app: App, noted: Noted, folder: Path, seconds: float) -> None:
    actions: dict[str, Callable[[Page], None]] = {ADA: lambda page: fourth(page, noted, folder)}
    actions |= {name: lambda page, name=name: work(page, name, noted) for name in OTHERS}  # type: ignore[misc]
    threads = [threading.Thread(target=_person, args=(app, name, act, noted)) for name, act in actions.items()]
    for thread in threads:
        thread.start()
    # The first run starts the engine, which may take long.
    while len(noted.took) < len(ACTIONS) and any(thread.is_alive() for thread in threads[1:]):
        time.sleep(1)
    noted.phase = "good"
    time.sleep(seconds)
    before = {server.jvm for server in servers()}
    noted.phase = "worst"
    time.sleep(seconds)
    noted.is_over = True
    for thread in threads:
        thread.join()
    if before != {server.jvm for server in servers()}:
        noted.wrong.append("the engine is another process")


def _person(app: App, name: str, act: Callable[[Page], None], noted: Noted) -> None:
    try:
        with browser_of(app, name) as page:
            act(page)
    except (Error, AssertionError) as error:
        noted.wrong.append(f"{name}: {str(error)[:300]}")


def _print(noted: Noted) -> None:
    for (phase, action), took in sorted(noted.took.items(), key=lambda each: (each[0][1], each[0][0])):
        middle, most = statistics.median(took), max(took)
        sys.stdout.write(f"{action:18} {phase:10} {len(took):4} times: {middle:6.2f} s, at most {most:6.2f} s\n")
    for told, count in noted.told.items():
        sys.stdout.write(f"{ADA} was told {count} times: {told}\n")
    for wrong in noted.wrong:
        sys.stdout.write(f"wrong: {wrong}\n")
    sys.stdout.write(f"{len(noted.wrong)} were wrong\n")


if __name__ == "__main__":
    sys.exit(main())
