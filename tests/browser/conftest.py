"""Browser fixtures: `browser`, `app` (a server and store per test file), `page`, `dark_page`, `open_page`."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import (
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Playwright,
    Request,
    Response,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.browser.app_server import App, running_app
from tests.browser.chromium import SHORT_LIVED, chromium

OpenPage = Callable[..., Page]
VIEWPORT: ViewportSize = {"width": 1280, "height": 800}
# At every call, playwright asks for the file of each function on the stack. Python looks for a file that does not exist
# in all loaded modules, which took two of the three milliseconds of a call.
inspect.modulesbyfile.update(dict.fromkeys(("<string>", "<frozen runpy>"), "builtins"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = set(Path(__file__).parent.glob("test_*.py"))
    for item in items:
        if item.path in ours:
            item.add_marker("browser")
            # A real browser on a busy machine misses a press now and then. What fails twice fails, as does a page that
            # shows an error, and the summary names what was run again.
            item.add_marker(pytest.mark.flaky(reruns=1, rerun_except="the page showed errors"))


# Not session scope: playwright's event loop would keep running in the main thread during all later tests.
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as started:
        # A machine with two cores runs Spark beside the browser; a long timeout costs no time if a check holds at once.
        expect.set_options(timeout=30_000)
        yield started


@pytest.fixture(scope="package")
def browser(playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One profile for all pages: a page uses the scripts that earlier pages loaded and compiled."""
    path = chromium(Path(playwright.chromium.executable_path))
    profile = playwright.chromium.launch_persistent_context(
        tmp_path_factory.mktemp("profile"),
        executable_path=path,
        headless=True,
        args=SHORT_LIVED,
        viewport=VIEWPORT,
        # The CPU composites the frames of animations, which takes a fifth of its time.
        reduced_motion="reduce",
    )
    yield profile
    profile.close()


NewPerson = Callable[[], BrowserContext]


@pytest.fixture(scope="module")
def new_person(playwright: Playwright) -> Iterator[NewPerson]:
    """Browsers that share no cookies; they accept every certificate, and `studio.example.com` is this machine."""
    path = chromium(Path(playwright.chromium.executable_path))
    arguments = [*SHORT_LIVED, "--host-resolver-rules=MAP studio.example.com 127.0.0.1"]
    launched = playwright.chromium.launch(executable_path=path, headless=True, args=arguments)
    yield lambda: launched.new_context(ignore_https_errors=True, viewport=VIEWPORT)
    launched.close()


class Tabs:
    """Tabs that outlive their tests.

    The process of an earlier page has compiled the app's scripts: a new page in it opens with a third of the CPU time.
    """

    def __init__(self, browser: BrowserContext) -> None:
        self._browser = browser
        self._free = list(browser.pages)

    def take(self) -> Page:
        """A tab in the foreground: Chromium draws background tabs only once a second."""
        tab = self._free.pop() if self._free else self._browser.new_page()
        tab.bring_to_front()
        return tab

    def give_back(self, tab: Page) -> None:
        """Take back the tab of a passed test, and clear the data of its origin except the cache."""
        kept = {"origin": "/".join(tab.url.split("/")[:3]), "storageTypes": "cookies,local_storage,indexeddb"}
        session = self._browser.new_cdp_session(tab)
        session.send("Storage.clearDataForOrigin", kept)
        session.detach()
        tab.goto("about:blank")
        tab.set_viewport_size(VIEWPORT)
        self._free.append(tab)


@pytest.fixture(scope="package")
def tabs(browser: BrowserContext) -> Tabs:
    return Tabs(browser)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    with running_app(tmp_path_factory.mktemp("app"), "local[2]") as app:
        yield app


_HAS_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note failed tests, for the fixture that reports the content of their pages."""
    report = yield
    if report.failed:
        item.stash[_HAS_FAILED] = True
    return report


@pytest.fixture
def open_page(tabs: Tabs, app: App, request: pytest.FixtureRequest) -> Iterator[OpenPage]:
    """Open a page in its own session.

    It fails on an error of JavaScript or Python, on a request to another host, and on one that the app does not know;
    in a test file with CONSOLE_STAYS_EMPTY also on a warning in the browser's console.
    """
    pages: list[Page] = []
    errors: list[str] = []

    def note_error(error: Error) -> None:
        errors.append(error.stack or str(error))

    def note_request(request: Request) -> None:
        if not _is_local(request.url, app.url):
            errors.append(request.url)

    def note_message(message: ConsoleMessage) -> None:
        if message.type in ("warning", "error") and not _OF_THE_MACHINE.search(message.text):
            errors.append(f"console: {message.text}")

    def note_response(response: Response) -> None:
        if response.status == 404:
            errors.append(f"404: {response.url}")

    def open_(path: str = "", *, color_scheme: Literal["light", "dark"] = "light") -> Page:
        page = tabs.take()
        page.emulate_media(color_scheme=color_scheme)
        page.on("pageerror", note_error)
        page.on("request", note_request)
        page.on("response", note_response)
        if getattr(request.module, "CONSOLE_STAYS_EMPTY", False):
            page.on("console", note_message)
        pages.append(page)
        page.goto(f"{app.url}/{path.lstrip('/')}")
        wait_until_settled(page)
        return page

    yield open_
    has_failed = request.node.stash.get(_HAS_FAILED, False)
    for page in pages:
        if page.is_closed():
            continue
        errors += page.locator('[data-testid="stException"]').all_inner_texts()
        page.remove_listener("pageerror", note_error)
        page.remove_listener("request", note_request)
        page.remove_listener("response", note_response)
        if getattr(request.module, "CONSOLE_STAYS_EMPTY", False):
            page.remove_listener("console", note_message)
        if has_failed:
            sys.stdout.write(f"{page.url}\n{page.locator('body').inner_text()}\n")
            page.close()
        else:
            tabs.give_back(page)
    if has_failed:
        sys.stdout.write(app.log.read_text(errors="replace")[-3000:])
    assert not errors, "the page showed errors:\n" + "\n".join(errors)


# What Chromium says of drawing without a graphics card.
_OF_THE_MACHINE = re.compile("GL Driver Message")


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


def press(page: Page, name: str) -> None:
    """Click the button with this label, which a shortcut may follow, and wait for the result."""
    # While a form is drawn again, it can have a button twice.
    wait_until_settled(page)
    labelled = page.get_by_role("button", name=name, exact=True)
    buttons = page.get_by_test_id("stButton").get_by_role("button")
    labelled.or_(buttons.filter(has_text=re.compile(f"{re.escape(name)}.*Ctrl"))).click()
    wait_until_settled(page)


QUIET_MS = 90
_IS_QUIET = """ms => {
    if (!window.drawn) {
        window.drawn = { at: performance.now() }
        const noted = new MutationObserver(() => { window.drawn.at = performance.now() })
        noted.observe(document.body, { childList: true, subtree: true, characterData: true })
    }
    const app = document.querySelector('[data-testid="stApp"]')
    const isIdle = app?.dataset.testConnectionState === 'CONNECTED' && app.dataset.testScriptState === 'notRunning'
    const isDrawn = isIdle && !document.querySelector('[data-testid="stSkeleton"]')
    window.quietSince = isDrawn ? window.quietSince ?? performance.now() : null
    return isDrawn && performance.now() - Math.max(window.quietSince, window.drawn.at) >= ms
}"""


def wait_until_settled(page: Page) -> None:
    """Wait until the script run has ended and the browser has drawn its output.

    The page has to be quiet for QUIET_MS: between a script run and a rerun that was requested meanwhile, none runs.
    Where the browser still loads the code of an element, a grey box stands.
    """
    page.evaluate("window.quietSince = null")
    page.wait_for_function(_IS_QUIET, arg=QUIET_MS, polling=30)
