"""The SQL page on a seeded store."""

from __future__ import annotations

import json

from storage import Store
from tests.ui.conftest import OpenView
from tests.ui.drawn import rows_of
from ui.shell.state import KEY, LONGEST_SQL


def test_an_example_is_asked_with_a_click(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("sql", run=seeded["windows"])
    button = next(button for button in app.button if button.label == "Late records by operator")
    button.click().run()
    assert rows_of(app, "sql-result") == [
        ["per_window", "true", "the window had closed before the record arrived", "NULL", "2", "5001"]
    ]


def test_a_query_of_ones_own_is_answered_with_a_chart_where_columns_fit(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("sql", run=seeded["windows"])
    app.text_area(key="sql-text").set_value("SELECT seq, ts FROM clicks ORDER BY seq")
    app.button(key="sql-ask").click().run()
    assert rows_of(app, "sql-result")[0] == ["1", "1000000050000"]
    assert app.get("plotly_chart")
    assert any("6 rows" in markdown.value for markdown in app.markdown)


def test_the_texts_of_a_result_are_no_html_in_the_chart(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("sql", run=seeded["word_count"])
    app.text_area(key="sql-text").set_value("SELECT '<b>' AS \"<i>\", 1 AS n UNION ALL SELECT 'c', 2 ORDER BY n").run()
    app.button(key="sql-ask").click().run()
    [chart] = app.get("plotly_chart")
    spec = json.loads(chart.proto.spec)
    assert spec["data"][0]["x"] == ["&lt;b&gt;", "c"]
    assert spec["layout"]["xaxis"]["title"]["text"] == "&lt;i&gt;"


def test_what_may_not_be_asked_is_a_sentence(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("sql", run=seeded["windows"])
    app.text_area(key="sql-text").set_value("DROP TABLE runs")
    app.button(key="sql-ask").click().run()
    assert app.error[0].value.startswith("This is not a query: it drops something.")


def test_more_rows_than_are_shown_are_announced(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("sql", run=seeded["windows"])
    app.text_area(key="sql-text").set_value("FROM range(5000)")
    app.button(key="sql-ask").click().run()
    assert any("The first 1,000 rows**, and there are more" in markdown.value for markdown in app.markdown)


def test_the_tables_are_described_beside_it(seeded: dict[str, int], open_view: OpenView) -> None:
    app = open_view("sql", run=seeded["windows"])
    labels = [expander.label for expander in app.expander]
    assert "`clicks` · 6 rows" in labels
    assert any(label.startswith("`_late`") for label in labels)


def test_the_question_is_in_the_url_and_answered_again_where_the_link_is_opened(
    seeded: dict[str, int], open_view: OpenView
) -> None:
    app = open_view("sql", run=seeded["word_count"], sql="SELECT 41 + 1 AS answer")
    assert app.text_area(key="sql-text").value == "SELECT 41 + 1 AS answer"
    assert rows_of(app, "sql-result") == [["42"]]
    app.text_area(key="sql-text").set_value("SELECT 7 AS seven").run()
    app.button(key="sql-ask").click().run()
    assert app.session_state[KEY].values["sql"] == "SELECT 7 AS seven"


def test_a_saved_question_is_asked_with_a_click_however_long_it_is(
    store: Store, seeded: dict[str, int], open_view: OpenView
) -> None:
    question = f"SELECT 42 AS answer -- {'x' * LONGEST_SQL}"
    saved = store.saved_views.save("The answer", page="sql", query={"sql": question}, note="to everything")
    app = open_view("sql", run=seeded["windows"])
    app.button(key=f"saved-question-{saved}").click().run()
    assert rows_of(app, "sql-result") == [["42"]]
    assert app.text_area(key="sql-text").value == question
