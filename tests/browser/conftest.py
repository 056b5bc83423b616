"""Browser fixtures: `browser`, `app` (a server and store per test file), `page`, `dark_page`, `open_page`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize, expect, sync_playwright

from tests.browser.app_server import App, running_app
from tests.browser.chromium import ARGUMENTS, chromium

OpenPage = Callable[..., Page]
VIEWPORT: ViewportSize = {"width": 1280, "height": 800}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("browser")


# Not for the session: playwright's event loop would be running in the main thread of every later test.
@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One profile for all pages: what one has loaded and compiled, the next one has."""
    with sync_playwright() as playwright:
        path = chromium(Path(playwright.chromium.executable_path))
        # A machine with two cores runs Spark beside the browser; what is there at once is not waited for.
        expect.set_options(timeout=30_000)
        profile = playwright.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("profile"), executable_path=path, headless=True, args=ARGUMENTS, viewport=VIEWPORT
        )
        yield profile
        profile.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app")) as app:
        yield app


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what failed, for the fixture that says what its pages showed."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.fixture
def open_page(browser: BrowserContext, app: App, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Open a page in a session of its own; fail on an error of JavaScript or Python, or a request to another host."""
    pages: list[Page] = []
    errors: list[str] = []

    def open_(path: str = "", *, color_scheme: Literal["light", "dark"] = "light") -> Page:
        page = browser.new_page()
        page.emulate_media(color_scheme=color_scheme)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: None if _is_local(request.url, app.url) else errors.append(request.url))
        pages.append(page)
        page.goto(f"{app.url}/{path.lstrip('/')}")
        wait_until_settled(page)
        return page

    yield open_
    for page in pages:
        if not page.is_closed():
            errors += page.locator('[data-testid="stException"]').all_inner_texts()
            if request.node.stash.get(_HAS_FAILED, False):
                sys.stdout.write(f"{page.url}\n{page.locator('body').inner_text()}\n")
            _forget(page)
            page.close()
    if request.node.stash.get(_HAS_FAILED, False):
        sys.stdout.write(app.log.read_text(errors="replace")[-3000:])
    assert not errors, "the page showed errors:\n" + "\n".join(errors)


def _forget(page: Page) -> None:
    """Empty what the browser keeps of the page's origin for the next visit, but for the cache."""
    kept = {"origin": "/".join(page.url.split("/")[:3]), "storageTypes": "cookies,local_storage,indexeddb"}
    page.context.new_cdp_session(page).send("Storage.clearDataForOrigin", kept)


def _is_local(url: str, app: str) -> bool:
    """Whether the request stays on this machine."""
    return url.startswith((app, app.replace("http", "ws", 1), "data:", "blob:"))


@pytest.fixture
def page(open_page: OpenPage) -> Page:
    return open_page()


@pytest.fixture
def dark_page(open_page: OpenPage) -> Page:
    return open_page(color_scheme="dark")


def rows(page: Page, label: str) -> Locator:
    """The rows of one of our grids."""
    return page.get_by_role("region", name=label, exact=True).locator("tbody tr")


QUIET_MS = 90
_IS_QUIET = """ms => {
    if (!window.drawn) {
        window.drawn = { at: performance.now() }
        const noted = new MutationObserver(() => { window.drawn.at = performance.now() })
        noted.observe(document.body, { childList: true, subtree: true, characterData: true })
    }
    const app = document.querySelector('[data-testid="stApp"]')
    const isIdle = app?.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    window.quietSince = isIdle ? window.quietSince ?? performance.now() : null
    return isIdle && performance.now() - Math.max(window.quietSince, window.drawn.at) >= ms
}"""


def wait_until_settled(page: Page) -> None:
    """Wait until the script has run to its end and the browser has drawn what it sent.

    One look is not enough: between the end of a run and the start of the next that was asked for meanwhile, none runs.
    """
    page.evaluate("window.quietSince = null")
    page.wait_for_function(_IS_QUIET, arg=QUIET_MS, polling=30)
