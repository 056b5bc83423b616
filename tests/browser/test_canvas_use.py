"""The messages of the canvas while composing, the positions of nodes, and the display of a run on the canvas."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.canvas_page import (
    RUN_TIMEOUT_MS,
    STUDIO,
    add,
    at_rest,
    box,
    choose,
    connect,
    drag,
    drop,
    edges,
    ids,
    keys,
    middle,
    node,
    note,
    open_draft,
    pick,
    place,
    run,
    settled,
    start_run,
    studio,
    tab,
    type_into,
)
from tests.browser.canvas_page import (
    app as app,
)
from tests.browser.conftest import OpenPage, wait_until_settled

# --- understand while composing


def test_a_cycle_is_refused_with_a_sentence_that_names_both_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain5")
    drop(page, "union", 400, 330)
    connect(page, "counts.out", "union.in")
    before = edges(page)
    connect(page, "union.out", "counts.in")
    expect(note(page)).to_contain_text("Connecting union to counts would create a cycle.")
    assert edges(page) == before


def test_a_second_edge_into_one_input_is_refused_and_a_union_is_one_click(open_page: OpenPage) -> None:
    page = open_draft(open_page, "two")
    connect(page, "more.out", "counts.in")
    expect(note(page)).to_contain_text("more cannot be connected to counts")
    expect(note(page).get_by_role("button", name="Replace words by more")).to_be_visible()
    note(page).get_by_role("button", name="Put a union of both before it").click()
    settled(page)
    assert edges(page) == ["counts>sink:in", "more>union:in", "union>counts:in", "words>union:in"]
    expect(note(page)).to_have_count(0)


def test_a_changelog_that_a_node_cannot_take_is_refused_with_a_fix_that_works(open_page: OpenPage) -> None:
    page = open_draft(open_page, "time")
    connect(page, "totals.out", "latest.in")
    expect(note(page)).to_contain_text("totals cannot be connected to latest.")
    expect(note(page)).to_contain_text("needs an insert-only input, but totals emits")
    assert edges(page) == ["clicks>totals:in"]
    note(page).get_by_role("button", name="Put latest before totals").click()
    settled(page)
    assert edges(page) == ["clicks>latest:in", "latest>totals:in"]
    connect(page, "totals.out", "file.in")
    note(page).get_by_role("button", name=re.compile("changelog")).click()
    settled(page)
    assert "totals>file:in" in edges(page)
    expect(node(page, "totals>file:in")).to_have_attribute("aria-label", re.compile(re.escape("+I -U +U")))


def test_what_is_wrong_sits_on_the_node_and_one_click_mends_it(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty3")
    add(page, "rows")
    keys(page, "Escape")
    add(page, "aggregate")
    expect(node(page, "aggregate")).to_contain_text("not connected")
    page.get_by_role("button", name="Show problems in aggregate").click()
    note(page).get_by_role("button", name="Connect rows to aggregate").click()
    settled(page)
    assert edges(page) == ["rows>aggregate:in"]
    expect(page.get_by_role("button", name="Show problems in aggregate")).to_have_count(0)


def test_a_node_that_is_added_behind_one_with_a_single_consumer_goes_between(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain12")
    pick(page, "words")
    studio(page).focus()
    page.keyboard.press("a")
    expect(page.locator(".palette .where")).to_contain_text("inserts it on words → counts, with Shift beside that")
    page.keyboard.press("Escape")
    add(page, "filter")
    assert edges(page) == ["counts>sink:in", "filter>counts:in", "words>filter:in"]
    # A fork is chosen; a sink can be nothing else.
    pick(page, "words")
    studio(page).focus()
    page.keyboard.press("a")
    page.keyboard.type("deduplicate")
    page.keyboard.press("Shift+Enter")
    settled(page)
    assert "words>deduplicate:in" in edges(page)
    assert "words>filter:in" in edges(page)
    pick(page, "counts")
    add(page, "sink")
    assert {"counts>sink:in", "counts>sink_2:in"} <= set(edges(page))


def test_run_says_what_is_missing_and_leads_there(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty6")
    add(page, "aggregate")
    keys(page, "Escape")
    expect(page.locator(".st-key-bench-panel")).to_have_count(0)
    page.keyboard.press("Alt+Enter")
    expect(page.get_by_text("Cannot run yet: aggregate: its input is not connected.").first).to_be_visible()
    expect(page.get_by_role("radio", name="Problems")).to_be_checked()
    expect(page.get_by_role("textbox", name="Name of the node")).to_have_value("aggregate")


def test_a_page_that_has_just_opened_hears_the_keys_that_it_speaks_of(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty7")
    assert page.evaluate("document.activeElement === document.body")
    page.keyboard.press("?")
    expect(page.get_by_text("Add a node (search the palette)")).to_be_visible()
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("a")
    page.keyboard.type("where")
    expect(page.get_by_role("combobox", name="Search operators")).to_have_value("where")


def test_alt_enter_runs_when_a_button_has_the_focus_and_does_not_press_it(open_page: OpenPage) -> None:
    page = open_draft(open_page, "empty7")
    problems = page.get_by_role("radio", name="Problems")
    problems.click()
    expect(problems).to_be_checked()
    page.keyboard.press("Alt+Enter")
    expect(page.get_by_text("Cannot run yet").first).to_be_visible()
    expect(problems).to_be_checked()
    views = page.get_by_role("button", name="Views")
    views.focus()
    page.keyboard.press("Alt+Enter")
    wait_until_settled(page)
    expect(views).to_have_attribute("aria-expanded", "false")
    page.keyboard.press("Enter")
    expect(views).to_have_attribute("aria-expanded", "true")


def test_a_column_that_is_renamed_in_its_source_is_renamed_everywhere_by_one_click(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain9")
    pick(page, "words")
    type_into(page, "Name", "term")
    page.get_by_role("button", name="Show problems in counts").click()
    note(page).get_by_role("button", name="Rename word to term everywhere").click()
    settled(page)
    expect(page.get_by_role("button", name="Show problems in counts")).to_have_count(0)
    expect(node(page, "counts")).to_contain_text("term")


def test_a_key_keeps_its_name_when_another_input_has_it_with_another_type(open_page: OpenPage) -> None:
    page = open_draft(open_page, "same names")
    node(page, "latest").click()
    chosen = page.get_by_test_id("stMultiSelect").filter(has_text="Key columns")
    expect(chosen).to_contain_text("id · BIGINT")
    choose(page, "Input", "people")
    # For a moment, the field of the other input is there, too.
    expect(chosen.filter(has_text="id · BIGINT")).to_have_count(0)
    expect(chosen).to_contain_text("id · STRING")
    settled(page)
    node(page, "people").click()
    settled(page)
    node(page, "latest").click()
    expect(chosen).to_contain_text("id · STRING")


def test_a_file_that_is_dropped_in_a_form_gets_a_name_types_and_an_event_time(
    open_page: OpenPage, tmp_path: Path
) -> None:
    page = open_draft(open_page, "empty5")
    add(page, "csv")
    rows = [f"{at},{at / 10},2025-03-14 10:00:{at:02}" for at in range(30)]
    (tmp_path / "orders.csv").write_text("\n".join(["order_id,amount,placed", *rows]))
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "orders.csv")
    expect(node(page, "orders")).to_be_visible()
    expect(box(page, "Name of the node")).to_have_value("orders")
    expect(page.get_by_role("checkbox", name="placed is the event time")).to_be_checked()
    expect(page.get_by_role("combobox", name="Type of amount")).to_have_value("DOUBLE")
    at_rest(page)
    # Another file, whose columns have other types: nothing of the first one is taken for a choice.
    (tmp_path / "more.csv").write_text("\n".join(["order_id,amount,placed", *(row.replace("0.", "x") for row in rows)]))
    page.get_by_text("Use another file").click()
    page.get_by_test_id("stMain").locator("input[type=file]").first.set_input_files(tmp_path / "more.csv")
    expect(page.get_by_role("combobox", name="Type of amount")).to_have_value("STRING")
    expect(page.get_by_text("Such rows are rejected")).to_have_count(0)
    expect(box(page, "Name of the node")).to_have_value("orders")


def test_hovering_explains_an_edge_and_a_node(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain6")
    page.locator('[data-edge="counts>sink:in"]').hover()
    tip = page.get_by_role("tooltip")
    expect(tip).to_contain_text("counts → sink")
    expect(tip).to_contain_text("cnt")
    expect(tip).to_contain_text("Upsert key: (word)")
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
    expect(saved).to_be_visible()
    before = {name: place(page, name) for name in ids(page)}
    start = middle(node(page, "counts"))
    drag(page, start, (start[0] + 20, start[1] + 130))
    expect(saved).to_be_visible()
    after = place(page, "counts")
    assert after != before["counts"]
    # No other node moved.
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


def test_the_node_under_the_pointer_stays_where_it_is_when_others_are_laid_out(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain9")
    edge = page.locator('.react-flow__edge[data-pick^="words>counts"]')
    edge.focus()
    page.keyboard.press("Enter")
    settled(page)
    add(page, "filter")
    expect(node(page, "filter")).to_be_in_viewport()
    keys(page, "Escape")
    before, placed = middle(node(page, "sink")), place(page, "sink")
    page.mouse.move(*before)
    keys(page, "Control+z")
    expect(node(page, "filter")).to_have_count(0)
    settled(page)
    assert place(page, "sink") != placed
    after = middle(node(page, "sink"))
    assert (round(after[0] - before[0]), round(after[1] - before[1])) == (0, 0)


def test_alt_and_an_arrow_select_a_neighbour_and_move_nothing(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain10")
    pick(page, "sink")
    before = place(page, "sink")
    node(page, "sink").focus()
    page.keyboard.press("Alt+ArrowLeft")
    settled(page)
    expect(page).to_have_url(re.compile("selection=counts"))
    assert place(page, "sink") == before
    expect(page.get_by_role("button", name="Undo")).to_be_disabled()


def test_enter_selects_a_node_and_then_leads_to_its_form(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain7")
    node(page, "counts").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name of the node")).to_have_value("counts")
    settled(page)
    node(page, "counts").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("textbox", name="Name of the node")).to_be_focused()


def test_the_form_of_an_edge_hides_neither_of_its_ends(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain6")
    page.locator('.react-flow__edge[data-pick^="counts>sink"]').focus()
    page.keyboard.press("Enter")
    form = page.locator(".st-key-bench-panel")
    expect(form).to_be_visible()
    page.wait_for_function(
        f"""() => {STUDIO}.querySelector('[data-pick=sink]').getBoundingClientRect().right
            <= document.querySelector('.st-key-bench-panel').getBoundingClientRect().left"""
    )


def test_the_arrow_keys_move_and_zoom_answers(open_page: OpenPage) -> None:
    page = open_draft(open_page, "two")
    pick(page, "more")
    before = place(page, "more")
    node(page, "more").focus()
    for _ in range(4):
        page.keyboard.press("ArrowDown")
    page.wait_for_timeout(500)
    settled(page)
    assert place(page, "more") != before
    zoom = page.locator(".react-flow__viewport").get_attribute("style")
    keys(page, "+")
    expect(page.locator(".react-flow__viewport")).not_to_have_attribute("style", str(zoom))


# --- run and see


def test_a_run_is_read_on_the_canvas(open_page: OpenPage) -> None:
    page = open_draft(open_page, "late")
    run(page)
    late = page.get_by_role("button", name=re.compile(r"\d dropped, show records"))
    expect(late).to_be_visible()
    name = str(late.get_attribute("aria-label")).partition(":")[0]
    # A node: its counters, its state, its slowest keys.
    pick(page, name)
    tab(page, "Plan")
    expect(page.get_by_text("Records out per record in")).to_be_visible()
    expect(page.locator(".st-key-bench-drawer").get_by_text("State:")).to_be_visible()
    slowest = page.get_by_role("region", name=f"Slowest keys of {name}").locator("tbody tr")
    expect(slowest.first).to_contain_text("ms")
    # An edge: its changelog.
    tab(page, "Records")
    edge = next(key for key in edges(page) if key.startswith(f"{name}>"))
    page.locator(f'[data-edge="{edge}"]').click()
    settled(page)
    expect(page.get_by_label(f"Changelog of {name}").first).to_be_visible()
    expect(page.get_by_role("button", name="Open its changelog")).to_be_visible()
    # The late records are shown without leaving the page.
    late.click()
    expect(page.get_by_role("region", name="Late records").locator("tbody tr").first).to_contain_text("closed")


def test_a_pipeline_is_run_and_an_edge_read_on_one_page_without_scrolling(open_page: OpenPage) -> None:
    page = open_draft(open_page, "chain11")
    page.set_viewport_size({"width": 1024, "height": 768})
    run(page)
    page.locator('[data-edge="counts>sink:in"]').click()
    settled(page)
    records = page.get_by_role("region", name="Changelog of counts").locator("tbody tr")
    expect(records).to_have_count(4)
    expect(records.first).to_be_in_viewport(ratio=1)
    expect(page).to_have_url(re.compile(r"/build\?.*edge=counts"))
    tab(page, "Table as of")
    expect(page.get_by_role("region", name=re.compile("^Table after event")).locator("tbody tr")).to_have_count(2)
    # Escape closes the form, and a selection opens it again.
    keys(page, "Escape")
    expect(page.locator(".st-key-bench-panel")).to_have_count(0)
    pick(page, "counts")
    expect(page.get_by_role("textbox", name="Name of the node")).to_be_in_viewport(ratio=1)
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight - innerHeight") <= 0


def test_each_node_says_how_far_a_run_is_until_it_is_cancelled(open_page: OpenPage) -> None:
    page = open_draft(open_page, "lasting")
    start_run(page)
    expect(page.locator(".op.run-running").first).to_be_visible(timeout=RUN_TIMEOUT_MS)
    expect(page.locator(".op.run-waiting").first).to_be_visible()
    page.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_text(re.compile(r"Run \d+ cancelled"))).to_be_visible(timeout=RUN_TIMEOUT_MS)


def test_rows_that_cannot_be_read_are_marked_and_the_mark_opens_the_ledger(open_page: OpenPage) -> None:
    page = open_draft(open_page, "rejected")
    run(page)
    page.get_by_role("button", name="words: 1 rejected, show records").click()
    expect(page.get_by_text("too many").first).to_be_visible()


def test_two_hundred_nodes_are_drawn_and_moved_about(open_page: OpenPage) -> None:
    page = open_draft(open_page, "large")
    expect(page.locator(".react-flow__node")).to_have_count(200)
    shown = page.locator(".react-flow__viewport")
    before = str(shown.get_attribute("style"))
    page.mouse.move(640, 420)
    page.mouse.wheel(0, -240)
    expect(shown).not_to_have_attribute("style", before)
    expect(page.get_by_role("img", name="Pipeline minimap")).to_be_visible()


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_the_canvas_takes_the_colours_of_the_page(open_page: OpenPage, color_scheme: str) -> None:
    page = open_page("build?draft=chain10", color_scheme=color_scheme)
    expect(node(page, "counts")).to_be_visible()
    color = node(page, "counts").locator(".name").evaluate("each => getComputedStyle(each).color")
    brightness = sum(int(part) for part in re.findall(r"\d+", color)[:3])
    assert (brightness < 3 * 128) == (color_scheme == "light")
