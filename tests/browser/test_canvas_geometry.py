"""What the canvas draws of 8, 40 and 200 nodes keeps apart at every zoom, and an explanation hides no neighbour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from engine.examples import examples
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import STUDIO, node, open_draft, settled, studio
from tests.browser.conftest import OpenPage
from tests.browser.shop import shop
from tests.storage.local_runs import run_locally
from ui.builder.editing import unplaced
from ui.builder.history import History

pytestmark = pytest.mark.slow

SHOPS = {8: 1, 40: 5, 200: 28}
# From far, from the middle, near.
ZOOMS = (0.3, 0.6, 1.0)
# Nodes, labels of edges, marks and titles of groups that overlap another one by more than a pixel.
OVERLAPS = f"""() => {{
    const found = {STUDIO}.querySelectorAll('.op, .badges, .frame-title')
    const boxes = [...found].map(each => {{
        const {{ left, top, right, bottom }} = each.getBoundingClientRect()
        const of = each.closest('[data-pick]')?.dataset.pick ?? each.dataset.edge ?? each.innerText
        return {{ name: `${{each.className.split(' ')[0]}} of ${{of}}`, left, top, right, bottom }}
    }}).filter(each => each.right > each.left)
    boxes.sort((one, other) => one.left - other.left)
    const overlaps = []
    boxes.forEach((one, at) => {{
        for (const other of boxes.slice(at + 1)) {{
            if (other.left >= one.right - 1) break
            const doOverlap = one.top < other.bottom - 1 && one.bottom > other.top + 1
            if (doOverlap) overlaps.push(`${{one.name}}, ${{other.name}}`)
        }}
    }})
    return overlaps
}}"""
# Texts of a node that overlap another one of it, or reach out of it; not its state, which stands on its corner.
WITHIN = f"""() => {{
    const found = []
    for (const op of {STUDIO}.querySelectorAll('.op')) {{
        const all = op.querySelectorAll('.name .text, .keeps, .title, .hint, .why, .run > *')
        const [whole, words] = [op, op.querySelector('.words')].map(each => each.getBoundingClientRect())
        const boxes = [...all].map(each => {{
            const {{ left, top, right, bottom }} = each.getBoundingClientRect()
            return {{ name: `${{each.className}} of ${{op.innerText.split('\\n')[0]}}`, left, top, right, bottom }}
            // What has no room stands beside the words, hidden.
        }}).filter(each => each.right > each.left && (!words.width || each.left < words.right - 1))
        boxes.forEach((one, at) => {{
            const isOut = one.left < whole.left - 1 || one.right > whole.right + 1 ||
                one.top < whole.top - 1 || one.bottom > whole.bottom + 1
            if (isOut) found.push(`${{one.name}} reaches out`)
            for (const other of boxes.slice(at + 1)) {{
                const doOverlap = one.left < other.right - 1 && one.right > other.left + 1 &&
                    one.top < other.bottom - 1 && one.bottom > other.top + 1
                if (doOverlap) found.push(`${{one.name}}, ${{other.name}}`)
            }}
        }})
    }}
    return found
}}"""
# Names that are not whole: a line of them lies below their box, or beside it.
CUT = f"""() => [...{STUDIO}.querySelectorAll('.op .name .text')].filter(each => {{
    const range = new Range()
    range.selectNodeContents(each)
    const {{ right, bottom }} = each.getBoundingClientRect()
    return [...range.getClientRects()].some(line => (line.top + line.bottom) / 2 > bottom || line.right > right + 1)
}}).map(each => each.innerText)"""
ZOOM = f"() => new DOMMatrix(getComputedStyle({STUDIO}.querySelector('.react-flow__viewport')).transform).a"
# The least height of a text that is drawn, in px of the screen.
LEAST_TEXT = f"""() => Math.min(...[...{STUDIO}.querySelectorAll('.op .name .text, .badges:not(.dots) .kind')]
    .filter(each => each.offsetParent)
    .map(each => parseFloat(getComputedStyle(each).fontSize) * ({ZOOM})()))"""


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    grouped = shop(5, folded=2)
    opened = grouped.model_copy(
        update={"groups": tuple(each.model_copy(update={"folded": False}) for each in grouped.groups)}
    )
    with Store.open(folder / "studio.duckdb") as store:
        for key, pipeline in (
            *((f"shop{nodes}", shop(lanes)) for nodes, lanes in SHOPS.items()),
            ("late", unplaced(examples()["03-window-lost-records"])),
        ):
            store.drafts.save(key, History(pipeline).to_json())
            saved = store.pipelines.save(pipeline.to_json(), name=pipeline.name)
            run_locally(store, folder, pipeline, saved)
            store.drafts.save(f"{key}-ran", History(pipeline).to_json(), identity=saved.identity)
        store.drafts.save("grouped", History(opened).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


def zoom_to(page: Page, wanted: float) -> None:
    """Turn the mouse's wheel over the middle of the canvas until its zoom is about this."""
    page.mouse.move(640, 430)
    for _ in range(80):
        zoom = page.evaluate(ZOOM)
        if abs(zoom / wanted - 1) < 0.09:
            break
        page.mouse.wheel(0, -60 if zoom < wanted else 60)
        page.wait_for_function(f"before => ({ZOOM})() !== before", arg=zoom)
    settled(page)


def apart(page: Page) -> None:
    """Check that nothing overlaps and every text is readable, as it is shown first and at three zooms."""
    for wanted in (None, *ZOOMS):
        if wanted is not None:
            zoom_to(page, wanted)
        assert page.evaluate(OVERLAPS) == [], f"at a zoom of {wanted}"
        assert page.evaluate(WITHIN) == [], f"at a zoom of {wanted}"
        assert page.evaluate(LEAST_TEXT) >= 10.9, f"at a zoom of {wanted}"


@pytest.mark.parametrize("nodes", SHOPS)
def test_nodes_and_labels_keep_apart_at_every_zoom(open_page: OpenPage, nodes: int) -> None:
    page = open_draft(open_page, f"shop{nodes}")
    expect(page.get_by_role("img", name="Pipeline minimap")).to_be_hidden()
    assert page.locator(".op").count() == nodes
    if nodes <= 40:
        assert page.evaluate(CUT) == []
    apart(page)
    # The labels are not gone: near, every edge has one.
    labels = page.locator(".badges")
    expect(labels).to_have_count(page.locator(".react-flow__edge").count())


def test_titles_of_groups_keep_apart_from_nodes(open_page: OpenPage) -> None:
    page = open_draft(open_page, "grouped")
    expect(page.locator(".frame-title")).to_have_count(2)
    apart(page)


@pytest.mark.parametrize(
    ("draft", "scheme"),
    [*product(("shop8", "shop40", "late"), ("light", "dark")), ("shop200", "dark")],
)
def test_what_a_run_did_keeps_apart(open_page: OpenPage, draft: str, scheme: Literal["light", "dark"]) -> None:
    page = open_draft(open_page, f"{draft}-ran", color_scheme=scheme)
    expect(page.locator(".op.run-done").first).to_be_visible()
    apart(page)
    expect(page.locator(".badges.counted").first).to_be_visible()
    assert page.locator(".op .run .dropped").count() == (draft == "late")


@pytest.mark.parametrize("wanted", ZOOMS)
def test_an_explanation_hides_neither_its_node_nor_its_neighbours(open_page: OpenPage, wanted: float) -> None:
    page = open_draft(open_page, "shop40")
    zoom_to(page, wanted)
    name = "with_names_tallinn"
    node(page, name).hover()
    # Not the term that the mouse has rested on before.
    tip = page.get_by_role("tooltip").and_(page.locator(".tip"))
    expect(tip).to_contain_text(re.compile("Join.*Upsert|Join.*State", re.DOTALL))
    area = tip.bounding_box()
    whole = studio(page).bounding_box()
    assert area is not None
    assert whole is not None
    for each in (name, "spent_per_customer_in_tallinn", "latest_tallinn", "best_customers_tallinn"):
        other = node(page, each).bounding_box()
        assert other is not None
        is_beside = other["x"] + other["width"] <= area["x"] or other["x"] >= area["x"] + area["width"]
        is_above = other["y"] + other["height"] <= area["y"] or other["y"] >= area["y"] + area["height"]
        assert is_beside or is_above, f"the explanation hides {each}"
    assert whole["y"] <= area["y"]
    assert area["y"] + area["height"] <= whole["y"] + whole["height"]
