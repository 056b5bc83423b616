"""Views under a name: kept, replaced by one of the same page and name, forgotten."""

from __future__ import annotations

from storage import Store


def test_a_view_is_kept_replaced_and_forgotten(store: Store) -> None:
    views = store.saved_views
    assert views.list() == ()
    views.save("Words", page="changelog", query={"run": "1", "key": '["Zürich"]'}, note="all of them")
    views.save("late ones", page="sql", query={"sql": "FROM _late"}, made_by="ann")
    views.save("words", page="sql", query={"sql": "FROM words"})
    second = views.save("Words", page="changelog", query={"run": "2"}, note="the second run")
    late, changelog, question = views.list()
    assert (late.name, late.page, late.query, late.made_by) == ("late ones", "sql", {"sql": "FROM _late"}, "ann")
    assert {changelog.page, question.page} == {"changelog", "sql"}
    assert [(view.view_id, view.query, view.note) for view in (changelog, question) if view.page == "changelog"] == [
        (second, {"run": "2"}, "the second run")
    ]
    views.delete(second)
    views.delete(second)
    assert [view.name for view in views.list()] == ["late ones", "words"]
