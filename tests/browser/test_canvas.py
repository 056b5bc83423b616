"""Composing on the canvas, by mouse and by keyboard: add, connect, insert, copy, undo."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from engine.examples import examples
from tests.browser.canvas_page import (
    add,
    add_column,
    at_rest,
    box,
    connect,
    drag,
    drop,
    edges,
    ids,
    keys,
    middle,
    node,
    open_draft,
    palette_entry,
    pick,
    run,
    settled,
    type_into,
    write_rows,
)
from tests.browser.canvas_page import (
    app as app,
)
from tests.browser.conftest import OpenPage, wait_until_settled

ORDERS = (
    "a,1,1000000050000",
    "a,2,1000000054000",
    "a,3,1000000079900",
    "a,4,1000000115000",
    "b,5,1000000100000",
    "b,6,1000000108000",
)


def test_the_word_frequency_is_built_by_hand_and_run_on_the_canvas(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty0")
    drop(page, "rows", 130, 120)
    write_rows(page, "Hello\nWorld\nHello")
    drop(page, "aggregate", 380, 120)
    connect(page, "rows.out", "aggregate.in")
    assert edges(page) == ["rows>aggregate:in"]
    type_into(page, "Name", "cnt")
    drop(page, "aggregate", 560, 300)
    connect(page, "aggregate.out", "aggregate_2.in")
    expect(page.get_by_text("What is wrong")).to_have_count(0)
    group = page.get_by_role("combobox", name=re.compile("Group by"))
    page.get_by_role("button", name="Remove word · STRING").click()
    expect(page.get_by_role("button", name="Remove word · STRING")).to_have_count(0)
    at_rest(page)
    group.fill("cnt")
    page.get_by_role("option", name=re.compile("^cnt")).click()
    group.press("Escape")
    expect(node(page, "aggregate_2")).to_contain_text("cnt · COUNT")
    type_into(page, "Name", "freq")
    drop(page, "sink", 660, 460)
    connect(page, "aggregate_2.out", "sink.in")
    assert edges(page) == ["aggregate>aggregate_2:in", "aggregate_2>sink:in", "rows>aggregate:in"]
    expect(node(page, "aggregate_2>sink:in")).to_have_attribute("aria-label", re.compile(re.escape("+I -U +U -D")))
    run(page)
    lay_out(page)
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
        add_column(page)
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
    settled(page)
    drag(page, middle(node(page, "orders_2")), (middle(node(page, "orders"))[0], middle(node(page, "orders"))[1] + 190))
    pick(page, "orders_2")
    write_rows(page, "a,hangzhou,1000000059000\nb,beijing,1000000105000")
    drop(page, "window_join", 420, 210)
    connect(page, "orders.out", "window_join.left")
    connect(page, "orders_2.out", "window_join.right")
    drop(page, "sink", 660, 210)
    connect(page, "window_join.out", "sink.in")
    run(page)
    lay_out(page)
    expect(page.locator('[data-edge="window_join>sink:in"] .kind')).to_have_text(["+I4"])


def lay_out(page: Page) -> None:
    """Put the form away and the nodes apart: numbers of records need room between them."""
    keys(page, "Escape")
    page.get_by_role("button", name="Auto layout").click()
    settled(page)


def time_settings(page: Page) -> None:
    at_rest(page)
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
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text("Undo")
    page.keyboard.press("Escape")
    keys(page, "Delete")
    assert ids(page) == ["aggregate", "rows"]


def test_a_click_adds_behind_what_is_selected_and_search_finds_by_words(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain0")
    pick(page, "words")
    page.get_by_role("button", name="+ Add").click()
    search = page.get_by_role("combobox", name="Search operators")
    # Kafka's summary has both words as well.
    search.fill("top n")
    expect(page.locator("[data-operator]").first).to_have_attribute("data-operator", "topn")
    search.fill("condition")
    expect(page.locator("[data-operator]")).to_have_count(1)
    palette_entry(page, "filter").click()
    settled(page)
    assert "words>filter:in" in edges(page)
    # A double-click adds one, too, behind what was just added.
    palette_entry(page, "filter").dblclick()
    settled(page)
    assert "filter>filter_2:in" in edges(page)
    assert "filter_3" not in ids(page)


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


def test_nodes_are_grouped_folded_named_opened_and_taken_apart(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain11")
    pick(page, "words")
    page.keyboard.down("Shift")
    node(page, "counts").click()
    page.keyboard.up("Shift")
    keys(page, "Control+g")
    name = page.get_by_role("textbox", name="Name of the group")
    expect(name).to_have_value("group")
    name.fill("word counts")
    name.press("Enter")
    expect(page.get_by_role("button", name="group word counts, 2 nodes")).to_be_visible()
    page.get_by_role("button", name="Fold the group word counts").click()
    settled(page)
    assert ids(page) == ["group:word counts", "sink"]
    assert edges(page) == ["counts>sink:in"]
    page.reload()
    settled(page)
    assert ids(page) == ["group:word counts", "sink"]
    node(page, "group:word counts").dblclick()
    settled(page)
    assert ids(page) == ["counts", "sink", "words"]
    page.get_by_role("button", name="group word counts, 2 nodes").click()
    keys(page, "Control+Shift+g")
    expect(page.get_by_role("button", name="group word counts, 2 nodes")).to_have_count(0)
    keys(page, "Control+z")
    expect(page.get_by_role("button", name="group word counts, 2 nodes")).to_be_visible()
    page.get_by_role("button", name="group word counts, 2 nodes").click()
    keys(page, "Delete")
    assert ids(page) == ["sink"]


def test_a_group_goes_into_another_and_both_open_again(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain12")

    def grouped(one: str, other: str, name: str) -> None:
        pick(page, one)
        page.keyboard.down("Shift")
        node(page, other).click()
        page.keyboard.up("Shift")
        keys(page, "Control+g")
        title = page.get_by_role("textbox", name="Name of the group")
        title.fill(name)
        title.press("Enter")
        page.get_by_role("button", name=f"Fold the group {name}").click()
        settled(page)

    grouped("words", "counts", "inner")
    assert ids(page) == ["group:inner", "sink"]
    grouped("group:inner", "sink", "outer")
    assert ids(page) == ["group:outer"]
    page.reload()
    settled(page)
    assert ids(page) == ["group:outer"]
    node(page, "group:outer").dblclick()
    settled(page)
    assert ids(page) == ["group:inner", "sink"]
    assert edges(page) == ["counts>sink:in"]
    node(page, "group:inner").dblclick()
    settled(page)
    assert ids(page) == ["counts", "sink", "words"]
    expect(page.get_by_role("button", name=re.compile("^group (inner, 2|outer, 3) nodes"))).to_have_count(2)


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
    # Keys pressed without a pause: no key may get lost.
    keys(page, *["Control+z"] * 3)
    assert (ids(page), edges(page)) == before
    pick(page, "counts")
    expect(box(page, "Name")).to_have_value("cnt")
    keys(page, *["Control+Shift+z"] * 3)
    assert ids(page) == ["sink", "sink_2", "words"]
    keys(page, *["Control+z"] * 2)
    pick(page, "counts")
    expect(box(page, "Name")).to_have_value("total")


# Streamlit runs what a call of the component returned if newer data arrived before the call had ended.
OVERTAKEN = """async () => {
    const loaded = performance.getEntriesByType('resource').map(each => each.name)
    const script = loaded.find(name => /canvas\\.canvas.*js/.test(name))
    const { default: draw } = await import(script)
    const element = document.body.appendChild(document.createElement('div'))
    const parentElement = element.attachShadow({ mode: 'open' })
    const data = {
        draft: 'overtaken', name: 'overtaken', colors: {}, catalog: [], nodes: {}, edges: {}, refused: null,
        document: { nodes: [], edges: [] }, ack: { session: '', n: 0 }, history: { past: 0, future: 0 },
        selection: null,
    }
    const call = () => draw({ parentElement, data, setStateValue: () => {}, setTriggerValue: () => {} })
    const drawn = async () => {
        while (!parentElement.querySelector('.studio')) await new Promise(requestAnimationFrame)
        return parentElement.querySelector('.studio')
    }
    call()
    const before = await drawn()
    before.focus()
    call()()
    const end = call()
    const isSame = await drawn() === before && parentElement.activeElement === before
    element.remove()
    end()
    return [isSame, parentElement.childElementCount]
}"""


def test_a_call_that_newer_data_overtook_leaves_the_canvas_as_it_is(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty")
    assert page.evaluate(OVERTAKEN) == [True, 0]


def test_an_import_is_an_edit_that_can_be_taken_back(open_page: OpenPage, tmp_path: Path) -> None:
    page = open_draft(open_page, "chain9")
    file = tmp_path / "export.json"
    file.write_text(examples()["05-window-join"].to_json())
    page.get_by_role("button", name=re.compile("Pipeline$")).click()
    page.locator(".st-key-bench-panel").locator("input[type=file]").set_input_files(file)
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
    palette_entry(page, "filter").drag_to(page.locator('[data-edge="counts>sink:in"]'))
    settled(page)
    assert edges(page) == ["counts>filter:in", "filter>sink:in", "words>counts:in"]
    assert ids(page) == ["counts", "filter", "sink", "words"]


def test_a_lone_node_dropped_on_an_edge_goes_between_its_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain4")
    drop(page, "filter", 400, 330)
    assert len(edges(page)) == 2
    drag(page, middle(node(page, "filter")), middle(page.locator('[data-edge="words>counts:in"]')))
    assert edges(page) == ["counts>sink:in", "filter>counts:in", "words>filter:in"]
