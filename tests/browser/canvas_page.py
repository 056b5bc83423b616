"""Shared by the tests of the canvas: an app with drafts, and the user's view of the canvas and actions on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, TimeoutError, expect

from engine.examples import examples
from engine.model.pipeline import Edge, Node, Pipeline
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, wait_until_settled
from tests.browser.lasting import LASTING
from ui.builder.editing import unplaced
from ui.builder.history import History

RUN_TIMEOUT_MS = 180_000
WORDS = {"columns": [{"name": "word", "type": "string"}], "rows": [["Hello"], ["World"], ["Hello"]]}
COUNT = {"group_by": ["word"], "aggregates": [{"function": "COUNT", "name": "cnt"}]}
CLICKS = {
    "columns": [{"name": "id", "type": "bigint"}, {"name": "ts", "type": "bigint"}],
    "rows": [[1, 1000], [2, 2000], [1, 3000]],
    "event_time": "ts",
}


STUDIO = "[...document.querySelectorAll('*')].map(each => each.shadowRoot).find(root => root?.querySelector('.studio'))"
STANDS_STILL = f"""() => {{
    const drawn = {STUDIO}.querySelectorAll('.react-flow__edge').length
    if (drawn !== Number({STUDIO}.querySelector('.studio').dataset.edges)) return false
    const places = [...{STUDIO}.querySelectorAll('.react-flow__node')].map(each => each.getBoundingClientRect())
    const now = places.map(place => `${{place.x}} ${{place.y}}`).join()
    const before = window.stoodAt
    window.stoodAt = now
    return before === now
}}"""


def drafts() -> dict[str, Pipeline]:
    """The pipelines that the tests open, by the draft's key."""
    words = Node(id="words", operator="rows", parameters=WORDS)
    count = Node(id="counts", operator="aggregate", parameters=COUNT)
    sink = Node(id="sink", operator="sink")
    chain = Pipeline(
        name="chain",
        nodes=(words, count, sink),
        edges=(Edge(source="words", target="counts"), Edge(source="counts", target="sink")),
    )
    two_values = {**WORDS, "rows": [["Hello"], ["World", "too many"], ["Hello"]]}
    wrong = words.model_copy(update={"parameters": two_values})
    second = words.model_copy(update={"id": "more"})
    clicks = Node(id="clicks", operator="rows", parameters=CLICKS)
    totals = Node(
        id="totals",
        operator="aggregate",
        parameters={"group_by": ["id"], "aggregates": [{"function": "MAX", "argument": "ts", "name": "ts"}]},
    )
    latest = Node(id="latest", operator="deduplicate", parameters={"keys": ["id"], "keep": "last"})
    named = Node(
        id="people", operator="rows", parameters={"columns": [{"name": "id", "type": "string"}], "rows": [["a"]]}
    )
    append = Node(id="file", operator="sink", parameters={"mode": "append"})
    source = {"operator": "rows", "parameters": WORDS}
    step = {"operator": "filter", "parameters": {"condition": "true"}}
    rows = tuple(Node.model_validate({"id": f"n{at}", **(source if at % 10 == 0 else step)}) for at in range(200))
    large = tuple(Edge(source=f"n{at}", target=f"n{at + 1}") for at in range(199) if at % 10 != 9)
    return {
        "empty": Pipeline(name="empty"),
        **{f"chain{at}": chain for at in range(13)},
        "two": chain.model_copy(update={"nodes": (*chain.nodes, second)}),
        "time": Pipeline(
            name="time", nodes=(clicks, totals, latest, append), edges=(Edge(source="clicks", target="totals"),)
        ),
        "same names": Pipeline(
            name="same names", nodes=(clicks, named, latest), edges=(Edge(source="clicks", target="latest"),)
        ),
        "large": Pipeline(name="large", nodes=rows, edges=large),
        "lasting": LASTING,
        "rejected": chain.model_copy(update={"nodes": (wrong, count, sink)}),
        "late": unplaced(examples()["03-window-lost-records"]),
        **{f"empty{at}": Pipeline(name="empty") for at in range(8)},
    }


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        for key, pipeline in drafts().items():
            store.drafts.save(key, History(pipeline).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


# --- the user's view and actions


def studio(page: Page) -> Locator:
    return page.get_by_role("group", name=re.compile(r": \d+ nodes?$"))


def node(page: Page, name: str) -> Locator:
    return page.locator(f'[data-pick="{name}"]')


def port(page: Page, name: str) -> Locator:
    return page.locator(f'[data-port="{name}"]')


def box(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label, exact=True)


def held(page: Page, label: str) -> Locator:
    """The text area below an editor, which holds its text."""
    return page.locator(f"textarea[aria-label='{label}']")


def typed(page: Page, label: str) -> Locator:
    """The editor itself. It hides the text area as soon as it is there, so a text that goes there may not arrive."""
    return page.locator(f".cm-content[aria-label='{label}']")


def note(page: Page) -> Locator:
    return page.get_by_role("alertdialog")


def settled(page: Page) -> None:
    """Wait until Python has answered all messages, and nothing moves on the canvas."""
    expect(page.locator(".studio[data-settled=true]")).to_be_visible()
    wait_until_settled(page)
    page.wait_for_function(STANDS_STILL, polling=120)


def choose(page: Page, label: str, option: str) -> None:
    """Choose from a list: one that opens while its form is drawn is closed again."""
    at_rest(page)
    page.get_by_role("combobox", name=label, exact=True).click()
    page.get_by_role("option", name=option, exact=True).click()
    settled(page)


def at_rest(page: Page) -> None:
    """Wait until no background result is pending: a result draws a form again, and closes an open list."""
    # The texts below may appear only at the end of a script run.
    settled(page)
    for coming in ("Spark is starting", "Reading the first rows"):
        expect(page.get_by_text(coming)).to_have_count(0, timeout=RUN_TIMEOUT_MS)
    settled(page)


def open_draft(open_page: OpenPage, key: str, **options: str) -> Page:
    page = open_page(f"build?draft={key}", **options)
    expect(studio(page)).to_be_visible()
    settled(page)
    return page


def open_example(page: Page, name: str) -> None:
    """Open an example of the gallery in the builder."""
    # By its key: saved pipelines and drafts below can have the same text, and may be drawn before a card has its text.
    page.locator(".st-key-" + re.sub(r"[^\w-]", "-", f"open|{name}")).get_by_role("button").click()
    page.wait_for_url("**/build?**")
    expect(studio(page)).to_be_visible()
    wait_until_settled(page)


def middle(found: Locator) -> tuple[float, float]:
    """The middle of what is drawn. On a busy machine a node has no box for a moment, in which nobody could click it."""
    while (area := found.bounding_box()) is None:
        expect(found).to_be_visible()
    return area["x"] + area["width"] / 2, area["y"] + area["height"] / 2


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    settled(page)


def connect(page: Page, source: str, target: str) -> None:
    settled(page)
    drag(page, middle(port(page, source)), middle(port(page, target)))


def tab(page: Page, name: str) -> None:
    """Open a tab of the drawer."""
    page.locator(".st-key-drawer-tab").get_by_text(name, exact=True).click()
    wait_until_settled(page)


def palette_entry(page: Page, operator: str) -> Locator:
    """An operator in the palette, which is opened if it is not open."""
    if not page.get_by_role("combobox", name="Search operators").is_visible():
        page.get_by_role("button", name="+ Add").click()
    entry = page.locator(f"[data-operator={operator}]")
    entry.scroll_into_view_if_needed()
    return entry


def drop(page: Page, operator: str, x: float, y: float) -> None:
    """Drag an operator from the palette to a place of the canvas."""
    settled(page)
    before = len(ids(page))
    entry = palette_entry(page, operator)
    # The palette makes way once the drag has begun.
    pane = page.locator(".react-flow__pane").bounding_box()
    assert pane is not None
    drag(page, middle(entry), (pane["x"] + x, pane["y"] + y))
    expect(page.locator(".react-flow__node")).to_have_count(before + 1)
    settled(page)


def add(page: Page, search: str) -> None:
    """Add an operator by keyboard: press A, type, press Enter."""
    studio(page).focus()
    page.keyboard.press("a")
    page.keyboard.type(search)
    page.keyboard.press("Enter")
    settled(page)


def pick(page: Page, name: str) -> None:
    node(page, name).click()
    settled(page)


def keys(page: Page, *names: str) -> None:
    studio(page).focus()
    for name in names:
        page.keyboard.press(name)
    settled(page)


def ids(page: Page) -> list[str]:
    return page.locator(".react-flow__node[data-pick]").evaluate_all("all => all.map(each => each.dataset.pick).sort()")


def edges(page: Page) -> list[str]:
    return page.locator(".react-flow__edge").evaluate_all("all => all.map(each => each.dataset.pick).sort()")


def type_into(page: Page, label: str, text: str) -> None:
    try:
        box(page, label).fill(text, timeout=10_000)
    except TimeoutError:
        # An editor has hidden the text area that was found: it has the label now.
        box(page, label).fill(text)
    box(page, label).press("Tab")
    wait_until_settled(page)


def add_column(page: Page) -> None:
    """Add a column to the node in the form."""
    # Columns come before computed columns, which have the same button.
    page.get_by_role("button", name="Add", exact=True).first.click()
    wait_until_settled(page)


def write_rows(page: Page, text: str) -> None:
    radio = page.get_by_role("radio", name="Text")
    if radio.is_enabled():
        radio.click()
    wait_until_settled(page)
    lines = page.get_by_role("textbox", name=re.compile("^Rows, one per line"))
    lines.fill(text)
    lines.press("Control+Enter")
    wait_until_settled(page)


def run(page: Page) -> None:
    start_run(page)
    expect(page.get_by_text(re.compile(r"Run \d+ finished"))).to_be_visible(timeout=RUN_TIMEOUT_MS)
    settled(page)


def run_button(page: Page) -> Locator:
    return page.get_by_test_id("stMain").get_by_role("button", name=re.compile("^(play_arrow )?Run(?! live)"))


def start_run(page: Page) -> None:
    run_button(page).click()


def place(page: Page, name: str) -> str:
    """The position of a node on the canvas, independent of the zoom."""
    return str(node(page, name).evaluate("each => each.style.transform"))
