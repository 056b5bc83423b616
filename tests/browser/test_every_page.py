"""Every page, by its address and by a click, and what opens on it: axe finds nothing, in both themes, on a phone too.

Every term of the glossary that stands on a page is told there.

That the browser's console stays empty and nothing is asked for in vain is checked by `open_page`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final

import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect

from engine.examples import examples
from storage import Store
from tests.browser.accessible import violations
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import settled, tab
from tests.browser.conftest import VIEWPORT, OpenPage, wait_until_settled
from tests.browser.told_terms import other_spellings, untold
from tests.ui import seeded_store
from ui.builder.history import History
from ui.shell.navigation import VIEWS

CONSOLE_STAYS_EMPTY: Final = True
LATE: Final = "02-window-late-record"
PHONE: Final = 390
OF_COLOR_AND_WIDTH: Final = ("color-contrast", "scrollable-region-focusable")
BACKGROUND: Final = "getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor"
# What is wider than the window and in nothing that scrolls; the canvas clips what it shows of a graph.
TOO_WIDE: Final = """() => {
    const found = [], width = document.documentElement.clientWidth
    const scrolls = each => /auto|scroll/.test(getComputedStyle(each).overflowX) && each.scrollWidth > each.clientWidth
    const look = root => {
        for (const each of root.children) {
            const { left, right, width: own, height } = each.getBoundingClientRect()
            if (each.matches('input, .react-flow__viewport, .js-plotly-plot, #js-plotly-tester')) continue
            if (right > 0 && scrolls(each)) continue
            // A label for screen readers alone.
            if (getComputedStyle(each).clipPath === 'inset(50%)') continue
            const isShown = own > 1 && height > 1 && right > 0 && getComputedStyle(each).visibility === 'visible'
            if (isShown && (right > width + 1 || left < -1)) found.push(each.outerHTML.slice(0, 160))
            else look(each)
            if (each.shadowRoot) look(each.shadowRoot)
        }
    }
    look(document.body)
    return found
}"""

PAGES: Final = (
    *("", "build?draft=late", "run?run=1", "changelog?run=1&edge=inner&event=3"),
    *("time-travel?run=1&edge=inner&event=3", "retractions?run=1", "why-retraction?run=1&edge=outer&event=3"),
    *("event-time?run=4", "state?run=7&event=5", "what-if?run=4", "compare?run=2&versus=5"),
    *("sql?run=2&sql=FROM clicks", "tests", "engines"),
)
# Their other parts, pages that have nothing to show, and pages as they are presented.
OTHERS: Final = (
    *("build?draft=empty", "changelog?run=6", "event-time?run=1", "compare?run=8", "state?run=9", "run?run=77"),
    *("retractions?run=1&part=The whole run", "state?run=7&part=What expiry did", "state?run=7&part=What if"),
    "compare?run=2&versus=5&part=Late records",
)
PRESENTED: Final = (
    *("build?draft=late&present=on", "state?run=7&present=on", "changelog?run=1&edge=inner&event=3&present=on"),
    "time-travel?run=1&edge=inner&event=3&present=on",
)


def press(name: str) -> Callable[[Page], None]:
    return lambda page: page.get_by_role("button", name=re.compile(name)).first.click()


def drawer(name: str) -> Callable[[Page], None]:
    return lambda page: tab(page, name)


def late_record(page: Page) -> None:
    page.get_by_role("region", name="Late records", exact=True).locator("tbody tr").first.click()


def more_of_a_form(page: Page) -> None:
    page.get_by_text("More", exact=True).first.click()


def key(name: str) -> Callable[[Page], None]:
    return lambda page: page.keyboard.press(name)


def switch(page: Page) -> None:
    page.get_by_text("Previous and next stop only at retractions").click()


def more_of_strategies(page: Page) -> None:
    page.get_by_text("The strategies of these operators, and why").click()


def camera(page: Page) -> None:
    page.locator(".grid").first.hover(position={"x": 8, "y": 8})
    page.get_by_role("button", name="Picture of this table").click()


def menu_of_a_node(page: Page) -> None:
    page.locator(".react-flow__node").first.click(button="right")


# By page: what opens on it, one after the other.
OPENED: Final[dict[str, tuple[Callable[[Page], None], ...]]] = {
    "": (press("Paste SQL or rows"), press("Import"), press("Views"), press("Share"), press("Glossary")),
    "run?run=1": tuple(map(press, ("Run again", "Rename", "Delete", "Keep as test"))),
    "changelog?run=1&edge=inner&event=3": (press("More formats"), camera, press("Story"), press("Add what is shown")),
    "event-time?run=2": (late_record,),
    "time-travel?run=1&edge=inner&event=3": (press("[Pp]icture"), press("Share"), key("Control+k")),
    "time-travel?run=1&edge=inner&event=2&present=on": (key("?"), press("Glossary")),
    "retractions?run=1": (switch, more_of_strategies),
    "tests": (press("Import"),),
    "engines": (press("SQL Gateway"), press("Add an engine")),
    "build?draft=late": (
        *map(drawer, ("SQL", "Plan", "Problems", "Late")),
        *(press("[Pp]icture"), press(r"\+ Add"), press("^Commands"), press("Keyboard shortcuts"), press("Pipeline$")),
    ),
    "build?draft=late&selection=windows": (more_of_a_form, menu_of_a_node),
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The app with runs in its store.

    1 word count, 2 windows, 3 two sources, 4 a record from the future, 5 windows without late records, 6 a cancelled
    example, 7 words with a TTL, 8 a failed run, 9 a run without state.
    """
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        seeded_store.word_count(store, folder)
        seeded_store.windows(store, folder)
        seeded_store.two_sources(store, folder)
        seeded_store.future(store, folder)
        seeded_store.windows(store, folder, delay=12_000)
        seeded_store.cancelled(store, LATE)
        seeded_store.expiring(store, folder)
        seeded_store.failed(store)
        seeded_store.marked_up(store, folder)
        late = examples()[LATE]
        store.drafts.save("late", History(late).to_json())
        store.drafts.save("empty", History(late.model_copy(update={"nodes": (), "edges": ()})).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


def go(page: Page, app: App, address: str) -> None:
    page.mouse.move(640, 1)
    page.goto(f"{app.url}/{address}")
    wait_until_settled(page)
    if address.startswith("build"):
        settled(page)
    elif address.startswith("time-travel"):
        # Its graph is laid out and fitted after the page is there.
        expect(page.locator(".studio.time [data-edge]").first).to_be_visible()


def in_the_dark(page: Page, width: int = VIEWPORT["width"]) -> list[str]:
    """The violations in the dark theme, which differs only in its colours; on a phone, also what is too wide for it."""
    light = page.evaluate(BACKGROUND)
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": width, "height": VIEWPORT["height"]})
    page.wait_for_function(f"light => {BACKGROUND} !== light", arg=light)
    wait_until_settled(page)
    found = violations(page, *OF_COLOR_AND_WIDTH)
    if width == PHONE:
        found += page.evaluate(TOO_WIDE)
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(VIEWPORT)
    return found


@pytest.mark.slow
def test_axe_finds_nothing_on_any_page_and_every_term_is_told(app: App, open_page: OpenPage) -> None:
    assert {view.url for view in VIEWS[1:]} <= {address.partition("?")[0] for address in PAGES}
    page = open_page()
    found: dict[str, list[str]] = {}
    for address in (*PAGES, *OTHERS, *PRESENTED):
        go(page, app, address)
        found[f"{address}, terms that are not told"] = untold(page)
        found[f"{address}, other spellings"] = other_spellings(page)
        found[address] = violations(page)
        if address not in OTHERS:
            found[f"{address} dark, on a phone"] = in_the_dark(page, PHONE)
    assert {address: each for address, each in found.items() if each} == {}


@pytest.mark.slow
def test_axe_finds_nothing_in_what_opens_on_a_page(app: App, open_page: OpenPage) -> None:
    page = open_page()
    found: dict[str, list[str]] = {}
    for address, acts in OPENED.items():
        go(page, app, address)
        for at, act in enumerate(acts):
            act(page)
            wait_until_settled(page)
            found[f"{address} {at}"] = violations(page)
            found[f"{address} {at} dark"] = in_the_dark(page)
            page.keyboard.press("Escape")
            wait_until_settled(page)
    assert {address: each for address, each in found.items() if each} == {}


def test_every_page_is_reached_by_clicks_from_any_other(open_page: OpenPage) -> None:
    page = open_page("changelog?run=1&edge=inner&event=3")
    # By keys, it is seen where one is.
    page.keyboard.press("Tab")
    first = page.locator(".st-key-places").get_by_role("link").first
    first.focus()
    expect(first).to_have_css("outline-style", "solid")
    inspect = [view for view in VIEWS if view.place == "Inspect"]
    for view in [*inspect[1:], inspect[0]]:
        page.locator(f".st-key-inspect-{view.url}").get_by_role("link").click()
        expect(page).to_have_url(re.compile(rf"/{view.url}\?"))
        wait_until_settled(page)
    for place in ("Pipelines", "Build", "Query store", "Runs"):
        page.locator(".st-key-places").get_by_role("link", name=place, exact=True).click()
        wait_until_settled(page)
    page.get_by_role("button", name="Tests").click()
    expect(page.get_by_role("heading", name="Tests")).to_be_visible()


def open_commands(page: Page, search: Locator) -> None:
    """Press Ctrl+K as a person does: once more, if the page was being drawn and did not hear it."""
    for _ in range(5):
        wait_until_settled(page)
        page.keyboard.press("Control+k")
        with suppress(AssertionError):
            expect(search).to_be_visible(timeout=5_000)
            break


def test_ctrl_k_lists_the_commands_of_every_page(open_page: OpenPage) -> None:
    page = open_page("event-time?run=4")
    search = page.get_by_role("combobox", name="Search commands and pages")
    open_commands(page, search)
    search.fill("compare")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/compare\?run=4"))
    open_commands(page, search)
    search.fill("watermark")
    page.get_by_role("option", name="What is Watermark?", exact=True).click()
    expect(page.get_by_role("dialog", name="Glossary").locator("article.sought h4")).to_have_text("Watermark")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    # A button of the page itself.
    open_commands(page, search)
    search.fill("swap")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("versus=4"))
    # The canvas has a list of its own, also while the focus is elsewhere; it leads to the same pages.
    page.goto(page.url.partition("/compare")[0] + "/build?draft=late")
    settled(page)
    page.get_by_role("textbox", name="Name").first.focus()
    page.keyboard.press("Control+k")
    expect(search).to_have_count(0)
    page.get_by_role("combobox", name="Search commands and nodes").fill("page state")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/state"))


COVERED: Final = """button => {
    const { left, right, top, bottom } = button.getBoundingClientRect()
    const bar = button.getRootNode().host
    return [...document.querySelectorAll('button, a, input, label')].filter(each => {
        const own = each.getBoundingClientRect()
        return each !== bar && own.width && own.left < right && own.right > left && own.top < bottom && own.bottom > top
    }).map(each => each.outerHTML.slice(0, 120))
}"""


@pytest.mark.parametrize(
    "address",
    ["event-time?run=4", "changelog?run=1&edge=inner&event=3", "compare?run=2&versus=5", "state?run=7&event=5"],
)
def test_the_camera_of_a_table_covers_nothing_that_is_pressed(open_page: OpenPage, address: str) -> None:
    page = open_page(address)
    camera = page.get_by_role("button", name="Picture of this table")
    for table in page.locator(".grid").all():
        table.scroll_into_view_if_needed()
        table.hover(position={"x": 8, "y": 8})
        expect(camera).to_be_visible()
        assert camera.evaluate(COVERED) == []


# What has the focus, and whether it looks different from what has not: an outline, a shadow, or a coloured border.
FOCUSED: Final = """() => {
    let one = document.activeElement
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement
    if (!one || one === document.body) return ['', '', true]
    const probe = document.body.appendChild(document.createElement('i'))
    probe.style.color = getComputedStyle(document.documentElement).getPropertyValue('--accent')
    const accent = getComputedStyle(probe).color
    probe.remove()
    let isSeen = false
    for (let each = one, level = 0; each && level < 5; each = each.parentElement ?? each.getRootNode().host, level++) {
        const { outlineStyle, outlineWidth, boxShadow, borderTopColor, borderTopWidth } = getComputedStyle(each)
        isSeen ||= outlineStyle !== 'none' && parseFloat(outlineWidth) > 0
        isSeen ||= boxShadow !== 'none' || (borderTopColor === accent && parseFloat(borderTopWidth) > 0)
    }
    const title = one.matches('summary') ? one.innerText.split('\\n').at(-1) : ''
    return [one.getAttribute('aria-label') ?? title, one.outerHTML.slice(0, 140), isSeen]
}"""


def tab_to(page: Page, wanted: str, begin: str = "<") -> None:
    """Press Tab until what is called so has the focus, which is seen at every stop. begin: of its HTML."""
    unseen, name = [], ""
    for _ in range(80):
        page.keyboard.press("Tab")
        # Borders of fields take their colour by and by.
        with suppress(TimeoutError):
            page.wait_for_function(f"({FOCUSED})()[2]", timeout=3_000)
        name, what, is_seen = page.evaluate(FOCUSED)
        if not is_seen:
            unseen.append(what)
        if name == wanted and what.startswith(begin):
            break
    assert (name, unseen) == (wanted, [])


def command(page: Page, words: str) -> None:
    """Choose the first command that has these words."""
    search = page.get_by_role("combobox", name=re.compile("^Search commands and"))
    open_commands(page, search)
    page.keyboard.type(words)
    page.keyboard.press("Enter")
    wait_until_settled(page)


def test_four_nodes_are_built_and_run_and_a_late_record_is_found_and_presented_by_keys_alone(
    open_page: OpenPage,
) -> None:
    page = open_page("build?draft=empty")
    settled(page)
    command(page, "add generator")
    settled(page)
    page.keyboard.press("Enter")
    tab_to(page, "More")
    page.keyboard.press("Enter")
    tab_to(page, "Disorder", "<input")
    page.keyboard.press("Control+a")
    page.keyboard.type("0.5")
    page.keyboard.press("Tab")
    wait_until_settled(page)
    command(page, "add window aggregate")
    settled(page)
    page.keyboard.press("Enter")
    tab_to(page, "Window size", "<input")
    page.keyboard.press("Control+a")
    page.keyboard.type("1 s")
    page.keyboard.press("Tab")
    wait_until_settled(page)
    for added in ("add filter", "add sink"):
        command(page, added)
        settled(page)
    edges = page.locator(".react-flow__edge")
    expect(edges).to_have_count(3)
    page.keyboard.press("Alt+Enter")
    expect(page.get_by_role("button", name=re.compile(r"\d dropped, show records"))).to_be_visible(timeout=180_000)
    expect(page.get_by_text("finished").first).to_be_visible(timeout=180_000)
    wait_until_settled(page)
    command(page, "event time")
    expect(page).to_have_url(re.compile("/event-time"))
    tab_to(page, "Late records")
    page.keyboard.press("ArrowDown")
    expect(page.locator(".st-key-late-file")).to_contain_text(re.compile("Event [0-9,]+ of generator"))
    command(page, "present")
    expect(page).to_have_url(re.compile("present=on"))
    wait_until_settled(page)
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("present=on"))
