"""The user acts while the app still processes earlier actions: no action is lost or applied twice."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from engine.model.pipeline import Edge, Node, Pipeline, Place
from storage import Store
from tests.browser.app_server import App, running_app
from tests.browser.canvas_page import middle, node, port, settled
from tests.browser.conftest import OpenPage
from ui.builder.history import History

WIDTH = 5
# The number of further nodes, which make each rerun as slow as with a large pipeline.
BALLAST = 60
WORDS = {"columns": [{"name": "word", "type": "string"}], "rows": [["Hello"]]}


def wide() -> Pipeline:
    """Sources on the left, filters on the right, no edges between them; a long chain far below."""
    nodes, edges = [], []
    for at in range(WIDTH):
        nodes.append(Node(id=f"s{at}", operator="rows", parameters=WORDS, place=Place(x=1, y=at * 120)))
        nodes.append(
            Node(id=f"f{at}", operator="filter", parameters={"condition": "true"}, place=Place(x=360, y=at * 120))
        )
    for at in range(BALLAST):
        source = {"operator": "rows", "parameters": WORDS} if at == 0 else None
        step = {"operator": "filter", "parameters": {"condition": "word <> 'x'"}}
        place = Place(x=900 + 260 * (at // 5), y=120 * (at % 5))
        nodes.append(Node.model_validate({"id": f"n{at}", "place": place, **(source or step)}))
        if at:
            edges.append(Edge(source=f"n{at - 1}", target=f"n{at}"))
    return Pipeline(name="wide", nodes=tuple(nodes), edges=tuple(edges))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    folder = tmp_path_factory.mktemp("app")
    with Store.open(folder / "studio.duckdb") as store:
        for kind in ("idle", "busy"):
            store.drafts.save(kind, History(wide()).to_json())
    with running_app(folder, "local[2]") as running:
        yield running


@pytest.fixture(params=["idle", "busy"])
def machine(request: pytest.FixtureRequest, app: App) -> Iterator[str]:
    """The machine as it is, or a busy one, on which the app gets a third of the CPU time."""
    if request.param == "idle":
        yield request.param
        return
    over = threading.Event()

    def hold_back() -> None:
        while not over.is_set():
            os.kill(app.pid, signal.SIGSTOP)
            over.wait(0.04)
            os.kill(app.pid, signal.SIGCONT)
            over.wait(0.02)

    holding = threading.Thread(target=hold_back)
    holding.start()
    yield request.param
    over.set()
    holding.join()


def edges(page: Page) -> set[str]:
    keys = page.locator(".react-flow__edge").evaluate_all("all => all.map(each => each.dataset.pick)")
    return {key for key in keys if not key.startswith("n")}


def connect(page: Page, source: str, target: str) -> None:
    page.mouse.move(*middle(port(page, f"{source}.out")))
    page.mouse.down()
    page.mouse.move(*middle(port(page, f"{target}.in")), steps=4)
    page.mouse.up()


def select(page: Page, name: str) -> None:
    page.mouse.click(*middle(node(page, name)))


def write_condition(page: Page, name: str, text: str) -> None:
    """Type as soon as the form is there, even if the app is busy."""
    expect(page.get_by_role("textbox", name="Name of the node", exact=True)).to_have_value(name)
    # The field of this node: the field of the previous node is still there for a moment.
    own = page.locator(f"[class*='st-key-form'][class*='-{name}-']")
    field = own.get_by_role("textbox", name="Condition", exact=True)
    # The editor may take the place of the text area at this moment; then that one cannot have the focus any more.
    while not own.locator(":focus").count():
        field.focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def nearer(page: Page) -> None:
    """Zoom in with the wheel at the left edge until five rows fill the canvas, below its buttons."""
    area = page.locator(".react-flow__pane").bounding_box()
    assert area is not None
    top = middle(node(page, "s2"))[1]
    page.mouse.move(area["x"] + 50, top)
    for _ in range(8):
        page.mouse.wheel(0, -95)
        page.wait_for_timeout(60)


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_done_twice(open_page: OpenPage, machine: str) -> None:
    page = open_page(f"build?draft={machine}")
    expect(page.locator(".react-flow__node")).to_have_count(2 * WIDTH + BALLAST)
    settled(page)
    nearer(page)
    order = list(range(WIDTH))
    random.Random(machine).shuffle(order)
    for at in order:
        connect(page, f"s{at}", f"f{at}")
        select(page, f"s{(at + 1) % WIDTH}")
        select(page, f"f{at}")
        write_condition(page, f"f{at}", f"word = '{at}'")
    connect(page, f"s{order[0]}", f"f{order[0]}")
    select(page, f"f{order[1]}")
    settled(page)
    expect(page.get_by_role("textbox", name="Name of the node", exact=True)).to_have_value(f"f{order[1]}")
    assert f"selection=f{order[1]}" in page.url
    wanted = {f"s{at}>f{at}:in" for at in range(WIDTH)}
    assert edges(page) == wanted
    for at in range(WIDTH):
        expect(node(page, f"f{at}")).to_contain_text(f"word = '{at}'")
    page.reload()
    expect(page.locator(".react-flow__node")).to_have_count(2 * WIDTH + BALLAST)
    settled(page)
    assert edges(page) == wanted
    for at in range(WIDTH):
        expect(node(page, f"f{at}")).to_contain_text(f"word = '{at}'")
