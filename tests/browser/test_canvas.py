"""The canvas in the browser, by mouse and by keyboard: compose, connect, be refused, take back, arrange, run."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from engine.examples import examples
from engine.pipeline import Edge, Node, Pipeline
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.conftest import OpenPage, wait_until_settled
from ui.editing import unplaced
from ui.history import History

RUN_TIMEOUT_MS = 180_000
WORDS = {"columns": [{"name": "word", "type": "string"}], "rows": [["Hello"], ["World"], ["Hello"]]}
COUNT = {"group_by": ["word"], "aggregates": [{"function": "COUNT", "name": "cnt"}]}
ORDERS = (
    "a,1,1000000050000", "a,2,1000000054000", "a,3,1000000079900",
    "a,4,1000000115000", "b,5,1000000100000", "b,6,1000000108000",
)  # fmt: skip
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
# Sixty turns of the mouse wheel, one a frame: the median time from frame to frame, in ms.
FRAME_MS = f"""async () => {{
    const pane = {STUDIO}.querySelector('.react-flow__pane')
    const area = pane.getBoundingClientRect()
    const turn = {{ clientX: area.x + 300, clientY: area.y + 200, bubbles: true, cancelable: true, composed: true }}
    const times = []
    for (let at = 0, last = performance.now(); at < 60; at++) {{
        pane.dispatchEvent(new WheelEvent('wheel', {{ ...turn, deltaY: at % 2 ? 40 : -40 }}))
        await new Promise(requestAnimationFrame)
        times.push(performance.now() - last)
        last = performance.now()
    }}
    return times.sort((a, b) => a - b)[30]
}}"""

# From the press of the button to the frame in which the form has the node's name, in ms.
FORM_MS = """name => {
    window.formTook = null
    window.addEventListener('pointerdown', () => {
        const began = performance.now()
        const look = () => {
            const shown = document.querySelector('[aria-label="Name of the node"]')?.value === name
            shown ? (window.formTook = performance.now() - began) : requestAnimationFrame(look)
        }
        look()
    }, { capture: true, once: true })
}"""


def drafts() -> dict[str, Pipeline]:
    """What the tests open, by the draft's key."""
    words = Node(id="words", operator="rows", parameters=WORDS)
    count = Node(id="counts", operator="aggregate", parameters=COUNT)
    sink = Node(id="sink", operator="sink")
    chain = Pipeline(
        name="chain", nodes=(words, count, sink),
        edges=(Edge(source="words", target="counts"), Edge(source="counts", target="sink")),
    )  # fmt: skip
    second = words.model_copy(update={"id": "more"})
    clicks = Node(id="clicks", operator="rows", parameters=CLICKS)
    totals = Node(
        id="totals", operator="aggregate",
        parameters={"group_by": ["id"], "aggregates": [{"function": "MAX", "argument": "ts", "name": "ts"}]},
    )  # fmt: skip
    latest = Node(id="latest", operator="deduplicate", parameters={"keys": ["id"], "keep": "last"})
    append = Node(id="file", operator="sink", parameters={"mode": "append"})
    source = {"operator": "rows", "parameters": WORDS}
    step = {"operator": "filter", "parameters": {"condition": "true"}}
    rows = tuple(Node.model_validate({"id": f"n{at}", **(source if at % 10 == 0 else step)}) for at in range(200))
    large = tuple(Edge(source=f"n{at}", target=f"n{at + 1}") for at in range(199) if at % 10 != 9)
    return {
        "empty": Pipeline(name="empty"),
        **{f"chain{at}": chain for at in range(12)},
        "two": chain.model_copy(update={"nodes": (*chain.nodes, second)}),
        "time": Pipeline(
            name="time", nodes=(clicks, totals, latest, append), edges=(Edge(source="clicks", target="totals"),)
        ),
        "large": Pipeline(name="large", nodes=rows, edges=large),
        "late": unplaced(examples()["03-window-lost-records"]),
        **{f"empty{at}": Pipeline(name="empty") for at in range(6)},
    }


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        for key, pipeline in drafts().items():
            store.drafts.save(key, History(pipeline).to_json())
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("CHANGELOG_STUDIO_ENGINE", "local[2]")
        with running_app(folder) as running:
            yield running


# --- what a person sees and does


def studio(page: Page) -> Locator:
    return page.get_by_role("group", name=re.compile(r": \d+ nodes?$"))


def node(page: Page, name: str) -> Locator:
    return page.locator(f'[data-pick="{name}"]')


def port(page: Page, name: str) -> Locator:
    return page.locator(f'[data-port="{name}"]')


def box(page: Page, label: str) -> Locator:
    return page.get_by_role("textbox", name=label, exact=True)


def note(page: Page) -> Locator:
    return page.get_by_role("alertdialog")


def settled(page: Page) -> None:
    """Wait until Python has answered everything, and the canvas stands still."""
    expect(page.locator(".studio[data-settled=true]")).to_be_visible()
    wait_until_settled(page)
    page.wait_for_function(STANDS_STILL, polling=120)


def open_draft(open_page: OpenPage, key: str) -> Page:
    page = open_page(f"build?draft={key}")
    expect(studio(page)).to_be_visible()
    settled(page)
    return page


def middle(found: Locator) -> tuple[float, float]:
    area = found.bounding_box()
    assert area is not None
    return area["x"] + area["width"] / 2, area["y"] + area["height"] / 2


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=4)
    page.mouse.move(*end, steps=4)
    page.mouse.up()
    settled(page)


def connect(page: Page, source: str, target: str) -> None:
    look_up(page)
    drag(page, middle(port(page, source)), middle(port(page, target)))


def look_up(page: Page) -> None:
    """Scroll to the canvas, once the form below it has its height."""
    settled(page)
    page.get_by_test_id("stMain").evaluate("each => each.scrollTo(0, 0)")
    settled(page)


def drop(page: Page, operator: str, x: float, y: float) -> None:
    """Drag an operator from the palette to a place of the canvas."""
    look_up(page)
    before = len(ids(page))
    pane = page.locator(".react-flow__pane")
    page.locator(f"[data-operator={operator}]").drag_to(pane, target_position={"x": x, "y": y})
    expect(page.locator(".react-flow__node")).to_have_count(before + 1)
    settled(page)


def add(page: Page, search: str) -> None:
    """Press A, type, press Enter."""
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
    return page.locator(".react-flow__node").evaluate_all("all => all.map(each => each.dataset.pick).sort()")


def edges(page: Page) -> list[str]:
    return page.locator(".react-flow__edge").evaluate_all("all => all.map(each => each.dataset.pick).sort()")


def type_into(page: Page, label: str, text: str) -> None:
    box(page, label).fill(text)
    box(page, label).press("Tab")
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
    page.get_by_test_id("stMain").get_by_role("button", name=re.compile("^(play_arrow )?Run")).click()
    # While it goes on, each node says how far it is.
    expect(page.locator(".op.run-waiting, .op.run-running").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"Run \d+ finished"))).to_be_visible(timeout=RUN_TIMEOUT_MS)
    settled(page)


# --- compose


def test_the_word_frequency_is_built_by_hand_and_run_on_the_canvas(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty0")
    drop(page, "rows", 130, 120)
    write_rows(page, "Hello\nWorld\nHello")
    drop(page, "aggregate", 430, 120)
    connect(page, "rows.out", "aggregate.in")
    assert edges(page) == ["rows>aggregate:in"]
    type_into(page, "Name", "cnt")
    drop(page, "aggregate", 640, 300)
    connect(page, "aggregate.out", "aggregate_2.in")
    expect(page.get_by_text("What is wrong")).to_have_count(0)
    group = page.get_by_role("combobox", name=re.compile("Group by"))
    page.get_by_role("button", name="Remove word · string").click()
    expect(page.get_by_role("button", name="Remove word · string")).to_have_count(0)
    settled(page)
    group.fill("cnt")
    page.get_by_role("option", name=re.compile("^cnt")).click()
    group.press("Escape")
    expect(node(page, "aggregate_2")).to_contain_text("cnt · COUNT")
    type_into(page, "Name", "freq")
    drop(page, "sink", 800, 120)
    connect(page, "aggregate_2.out", "sink.in")
    assert edges(page) == ["aggregate>aggregate_2:in", "aggregate_2>sink:in", "rows>aggregate:in"]
    expect(node(page, "aggregate_2>sink:in")).to_have_attribute("aria-label", re.compile(re.escape("[I,UB,UA,D]")))
    run(page)
    counted = page.locator('[data-edge="aggregate>aggregate_2:in"] .kind')
    expect(counted).to_have_text(["+I2", "-U1", "+U1"])
    expect(node(page, "aggregate_2")).to_contain_text("4 in")
    expect(node(page, "aggregate_2")).to_contain_text("×1.5")


def test_the_window_join_is_built_by_hand_and_run(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty1")
    drop(page, "rows", 130, 90)
    type_into(page, "Name of the node", "orders")
    expect(node(page, "orders")).to_be_visible()
    settled(page)
    for columns in (1, 2):
        expect(box(page, "Name")).to_have_count(columns)
        press(page, "Add")
    expect(box(page, "Name")).to_have_count(3)
    for at, (name, type_) in enumerate({"key": "string", "value": "string", "ts": "bigint"}.items()):
        for label, text in (("Name", name), ("Type", type_)):
            box(page, label).nth(at).fill(text)
            box(page, label).nth(at).press("Tab")
            wait_until_settled(page)
    write_rows(page, "\n".join(ORDERS))
    time_settings(page)
    pick(page, "orders")
    keys(page, "Control+c", "Control+v")
    assert ids(page) == ["orders", "orders_2"]
    look_up(page)
    drag(page, middle(node(page, "orders_2")), (middle(node(page, "orders"))[0], middle(node(page, "orders"))[1] + 190))
    pick(page, "orders_2")
    write_rows(page, "a,hangzhou,1000000059000\nb,beijing,1000000105000")
    drop(page, "window_join", 480, 210)
    connect(page, "orders.out", "window_join.left")
    connect(page, "orders_2.out", "window_join.right")
    drop(page, "sink", 780, 210)
    connect(page, "window_join.out", "sink.in")
    run(page)
    expect(page.locator('[data-edge="window_join>sink:in"] .kind')).to_have_text(["+I4"])


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).first.click()
    wait_until_settled(page)


def time_settings(page: Page) -> None:
    field = page.get_by_role("combobox", name=re.compile("Event time$"))
    field.click()
    field.fill("ts")
    page.get_by_role("option", name=re.compile("^ts")).first.click()
    wait_until_settled(page)
    type_into(page, "Watermark delay", "5100 ms")


def test_everything_can_be_done_by_keyboard(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty2")
    add(page, "rows")
    add(page, "aggregate")
    assert edges(page) == ["rows>aggregate:in"]
    keys(page, "Escape")
    add(page, "sink")
    assert ids(page) == ["aggregate", "rows", "sink"]
    keys(page, "Control+k")
    page.keyboard.type("go to aggregate")
    page.keyboard.press("Enter")
    settled(page)
    expect(box(page, "Name of the node")).to_have_value("aggregate")
    keys(page, "e")
    page.keyboard.type("sink")
    page.keyboard.press("Enter")
    settled(page)
    assert edges(page) == ["aggregate>sink:in", "rows>aggregate:in"]
    keys(page, "Alt+ArrowRight")
    expect(box(page, "Name of the node")).to_have_value("sink")
    keys(page, "?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Take back the last edit")
    page.keyboard.press("Escape")
    keys(page, "Delete")
    assert ids(page) == ["aggregate", "rows"]


def test_double_click_adds_behind_what_is_selected_and_search_finds_by_words(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain0")
    pick(page, "words")
    search = page.get_by_role("searchbox", name="Search the palette")
    search.fill("condition")
    expect(page.locator("[data-operator]")).to_have_count(1)
    page.locator("[data-operator=filter]").dblclick()
    settled(page)
    assert "words>filter:in" in edges(page)


def test_several_nodes_are_copied_duplicated_cut_and_deleted(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain1")
    pick(page, "words")
    page.keyboard.down("Shift")
    node(page, "counts").click()
    page.keyboard.up("Shift")
    keys(page, "Control+c", "Control+v")
    assert ids(page) == ["counts", "counts_2", "sink", "words", "words_2"]
    assert "words_2>counts_2:in" in edges(page)
    expect(node(page, "counts_2")).to_contain_text("word · COUNT")
    keys(page, "Control+d")
    assert "words_3>counts_3:in" in edges(page)
    keys(page, "Control+x")
    assert ids(page) == ["counts", "counts_2", "sink", "words", "words_2"]
    keys(page, "Control+a", "Delete")
    assert ids(page) == []
    keys(page, "Control+z")
    assert len(ids(page)) == 5


def test_undo_and_redo_reach_everything_and_never_corrupt(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain2")
    before = ids(page), edges(page)
    pick(page, "counts")
    type_into(page, "Name", "total")
    settled(page)
    keys(page, "Delete")
    assert edges(page) == ["words>sink:in"]
    pick(page, "sink")
    keys(page, "Control+d")
    # As fast as keys can be pressed: nothing gets lost on the way.
    keys(page, *["Control+z"] * 3)
    assert (ids(page), edges(page)) == before
    pick(page, "counts")
    expect(box(page, "Name")).to_have_value("cnt")
    keys(page, *["Control+Shift+z"] * 3)
    assert ids(page) == ["sink", "sink_2", "words"]
    keys(page, *["Control+z"] * 2)
    pick(page, "counts")
    expect(box(page, "Name")).to_have_value("total")


def test_an_import_is_an_edit_that_can_be_taken_back(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_draft(open_page, "chain9")
    file = tmp_path / "export.json"
    file.write_text(examples()["05-window-join"].to_json())
    page.get_by_role("button", name=re.compile("Pipeline$")).click()
    page.get_by_test_id("stPopoverBody").locator("input[type=file]").set_input_files(file)
    expect(node(page, "joined")).to_be_visible()
    page.keyboard.press("Escape")
    settled(page)
    assert "words" not in ids(page)
    keys(page, "Control+z")
    assert ids(page) == ["counts", "sink", "words"]
    keys(page, "Control+Shift+z")
    assert "joined" in ids(page)


def test_an_operator_dropped_on_an_edge_goes_between_its_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain3")
    page.locator("[data-operator=filter]").drag_to(page.locator('[data-edge="counts>sink:in"]'))
    settled(page)
    assert edges(page) == ["counts>filter:in", "filter>sink:in", "words>counts:in"]
    assert ids(page) == ["counts", "filter", "sink", "words"]


def test_a_lone_node_dropped_on_an_edge_goes_between_its_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain4")
    drop(page, "filter", 400, 330)
    assert len(edges(page)) == 2
    drag(page, middle(node(page, "filter")), middle(page.locator('[data-edge="words>counts:in"]')))
    assert edges(page) == ["counts>sink:in", "filter>counts:in", "words>filter:in"]


# --- understand while composing


def test_a_cycle_is_refused_with_a_sentence_that_names_both_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain5")
    drop(page, "union", 400, 330)
    connect(page, "counts.out", "union.in")
    before = edges(page)
    connect(page, "union.out", "counts.in")
    expect(note(page)).to_contain_text("union cannot flow into counts, because counts flows into union already.")
    assert edges(page) == before


def test_a_second_edge_into_one_input_is_refused_and_a_union_is_one_click(open_page: OpenPage) -> None:
    page = open_draft(open_page, "two")
    connect(page, "more.out", "counts.in")
    expect(note(page)).to_contain_text("more cannot flow into counts")
    expect(note(page).get_by_role("button", name="Replace words by more")).to_be_visible()
    note(page).get_by_role("button", name="Put a union of both before it").click()
    settled(page)
    assert edges(page) == ["counts>sink:in", "more>union:in", "union>counts:in", "words>union:in"]
    expect(note(page)).to_have_count(0)


def test_a_changelog_that_a_node_cannot_take_is_refused_with_a_fix_that_works(open_page: OpenPage) -> None:
    page = open_draft(open_page, "time")
    connect(page, "totals.out", "latest.in")
    expect(note(page)).to_contain_text("totals cannot flow into latest.")
    expect(note(page)).to_contain_text("needs an insert-only input, but totals emits")
    assert edges(page) == ["clicks>totals:in"]
    note(page).get_by_role("button", name="Put latest before totals").click()
    settled(page)
    assert edges(page) == ["clicks>latest:in", "latest>totals:in"]
    connect(page, "totals.out", "file.in")
    note(page).get_by_role("button", name=re.compile("changelog")).click()
    settled(page)
    assert "totals>file:in" in edges(page)
    expect(node(page, "totals>file:in")).to_have_attribute("aria-label", re.compile(re.escape("[I,UB,UA")))


def test_what_is_wrong_sits_on_the_node_and_one_click_mends_it(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty3")
    add(page, "rows")
    keys(page, "Escape")
    add(page, "aggregate")
    expect(node(page, "aggregate")).to_contain_text("not connected")
    page.get_by_role("button", name="What is wrong with aggregate").click()
    note(page).get_by_role("button", name="Connect rows to aggregate").click()
    settled(page)
    assert edges(page) == ["rows>aggregate:in"]
    expect(page.get_by_role("button", name="What is wrong with aggregate")).to_have_count(0)


def test_hovering_explains_an_edge_and_a_node(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain6")
    page.locator('[data-edge="counts>sink:in"]').hover()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("counts → sink")
    expect(tip).to_contain_text("cnt")
    expect(tip).to_contain_text("Identified by: (word)")
    node(page, "counts").hover()
    expect(tip).to_contain_text("State:")


# --- arrange


def test_moving_a_node_is_no_edit_and_survives_reload_and_reopening(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain7")
    name = page.get_by_role("textbox", name="Name of the pipeline")
    name.fill("moved about")
    name.press("Tab")
    wait_until_settled(page)
    page.get_by_test_id("stButton").get_by_role("button").filter(has_text="Save").click()
    saved = page.get_by_test_id("stButton").get_by_role("button").filter(has_text="Saved")
    expect(saved).to_be_disabled()
    before = {name: place(page, name) for name in ids(page)}
    start = middle(node(page, "counts"))
    drag(page, start, (start[0] + 20, start[1] + 130))
    expect(saved).to_be_disabled()
    after = place(page, "counts")
    assert after != before["counts"]
    # Nobody else moved.
    assert {name: place(page, name) for name in ("words", "sink")} == {name: before[name] for name in ("words", "sink")}
    page.reload()
    expect(node(page, "counts")).to_be_visible()
    settled(page)
    assert place(page, "counts") == after
    page.get_by_role("link", name="Pipelines").click()
    saved_ones = page.get_by_test_id("stColumn").filter(has_text="Your pipelines")
    saved_ones.get_by_role("button", name="Open", exact=True).first.click()
    page.wait_for_url("**/build?**")
    expect(node(page, "counts")).to_be_visible()
    settled(page)
    assert place(page, "counts") == after
    keys(page, "Shift+L")
    assert place(page, "counts") == before["counts"]


def place(page: Page, name: str) -> str:
    """Where a node stands on the canvas, whatever the zoom."""
    return str(node(page, name).evaluate("each => each.style.transform"))


def test_a_new_node_finds_its_place_and_those_placed_by_hand_stay(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain8")
    start = middle(node(page, "counts"))
    drag(page, start, (start[0], start[1] + 120))
    stays = place(page, "counts")
    pick(page, "words")
    add(page, "filter")
    assert place(page, "counts") == stays
    keys(page, "Control+z", "Control+z")
    assert place(page, "counts") != stays


def test_the_arrow_keys_move_and_the_minimap_and_zoom_answer(open_page: OpenPage) -> None:
    page = open_draft(open_page, "two")
    pick(page, "more")
    before = place(page, "more")
    node(page, "more").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.wait_for_timeout(500)
    settled(page)
    assert place(page, "more") != before
    expect(page.get_by_role("img", name="Map of the pipeline")).to_be_visible()
    zoom = page.locator(".react-flow__viewport").get_attribute("style")
    keys(page, "+")
    expect(page.locator(".react-flow__viewport")).not_to_have_attribute("style", str(zoom))


# --- run and see


def test_a_run_is_read_on_the_canvas(open_page: OpenPage) -> None:
    page = open_draft(open_page, "late")
    run(page)
    late = page.get_by_role("button", name=re.compile(r"\d late, open the ledger"))
    expect(late).to_be_visible()
    name = str(late.get_attribute("aria-label")).partition(":")[0]
    # A node: its counters, its state, its busiest keys.
    pick(page, name)
    expect(page.get_by_role("tab", name=re.compile(r"In run \d+"))).to_have_attribute("aria-selected", "true")
    expect(page.get_by_text("Records out per record in")).to_be_visible()
    expect(page.get_by_test_id("stTabs").get_by_text("State:")).to_be_visible()
    expect(page.get_by_text("Busiest keys", exact=True)).to_be_visible()
    # An edge: its changelog.
    edge = next(key for key in edges(page) if key.startswith(f"{name}>"))
    page.locator(f'[data-edge="{edge}"]').click()
    settled(page)
    expect(page.get_by_label(f"Changelog of {name}").first).to_be_visible()
    expect(page.get_by_role("button", name="Open its changelog")).to_be_visible()
    late.click()
    page.wait_for_url("**/event-time?**")


# --- speed


def test_the_canvas_paints_within_two_seconds_and_a_form_within_a_third(open_page: OpenPage) -> None:
    page = open_page()
    page.get_by_test_id("stColumn").filter(has_text="Word frequency").get_by_role("button", name="Open").first.click()
    began = time.monotonic()
    expect(node(page, "count_counts")).to_be_visible()
    assert time.monotonic() - began < 2
    settled(page)
    took = []
    for name in ("words", "count_counts", "frequencies", "count_words", "words"):
        page.evaluate(FORM_MS, name)
        node(page, name).click()
        expect(box(page, "Name of the node")).to_have_value(name)
        took.append(page.evaluate("window.formTook"))
        settled(page)
    # Others may be busy on this machine: the second fastest tells what the app needs.
    assert sorted(took)[1] < 300, took


def test_two_hundred_nodes_stay_smooth(open_page: OpenPage) -> None:
    page = open_draft(open_page, "large")
    expect(page.locator(".react-flow__node")).to_have_count(200)
    assert page.evaluate(FRAME_MS) < 34


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_canvas_takes_the_colours_of_the_page(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page("build?draft=chain10", color_scheme=color_scheme)
    expect(node(page, "counts")).to_be_visible()
    color = node(page, "counts").locator(".name").evaluate("each => getComputedStyle(each).color")
    brightness = sum(int(part) for part in re.findall(r"\d+", color)[:3])
    assert (brightness < 3 * 128) == (color_scheme == "light")
