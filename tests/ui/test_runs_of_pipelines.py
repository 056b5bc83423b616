"""Which run the canvas shows, what has changed since it started, and what is asked before a live run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engine.contract.live import Begun
from engine.contract.source import Source
from engine.model.pipeline import Edge, Pipeline
from engine.registry import sources
from storage import Store
from storage.model import Epoch
from tests.engine.planning import pipeline_of
from tests.ui.conftest import OpenView
from ui.builder.editing import set_parameter
from ui.builder.history import History
from ui.components.live.live_figures import bars, rate
from ui.runs.overlay import Overlay, overlay

CHAIN = pipeline_of(
    "words -> counts -> out",
    words=("rows", {"columns": [{"name": "w", "type": "string"}], "rows": [["a"]]}),
    counts=("aggregate", {"group_by": ["w"], "aggregates": [{"function": "COUNT", "name": "n"}]}),
    out=("sink", {"mode": "changelog"}),
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC).replace(tzinfo=None)


def drafted(store: Store, pipeline: Pipeline = CHAIN) -> None:
    store.drafts.save("k", History(pipeline).to_json(), identity="mine")


def ran(store: Store, *, identity: str = "mine", ended: bool = True, live: bool = False) -> int:
    begun = Begun("", None, None) if live else None
    run = store.runs.create("a run", CHAIN.to_json(), identity=identity, live=begun)
    if ended:
        store.runs.finish(run.run_id)
    return run.run_id


def shown(store: Store, open_view: OpenView, **url: Any) -> int | None:
    """The run in the URL after the builder was drawn."""
    run = open_view("build", draft="k", **url).query_params.get("run")
    return int(run[0]) if run else None


def laid_over(store: Store, pipeline: Pipeline, run_id: int) -> Overlay:
    found = overlay(pipeline, "mine", run_id)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("numbers", "drawn"), [([], ""), ([0, 0], "▁▁"), ([5], "█"), ([0, 7, 14], "▁▄█"), ([9] * 30, "█" * 20)]
)
def test_the_events_of_the_last_epochs_are_drawn_as_bars(numbers: list[int], drawn: str) -> None:
    assert bars(numbers) == drawn


def test_the_canvas_opens_the_newest_run_of_its_pipeline_and_rather_one_that_goes_on(
    store: Store, open_view: OpenView
) -> None:
    drafted(store)
    assert shown(store, open_view) is None
    other = ran(store, identity="theirs")
    assert shown(store, open_view, run=other) == other
    first, goes_on, newest = ran(store), ran(store, ended=False), ran(store)
    assert shown(store, open_view, run=other) == goes_on
    # One that the user has chosen stays.
    assert shown(store, open_view, run=first) == first
    store.runs.finish(goes_on)
    assert shown(store, open_view) == newest


def test_an_edit_is_marked_on_its_node_and_all_others_keep_what_they_were(store: Store) -> None:
    run_id = ran(store)
    # What is planned has types, an import has tuples: neither is a change.
    placed = CHAIN.model_copy(
        update={"nodes": tuple(node.with_parameters({**node.parameters}) for node in CHAIN.nodes)}
    )
    assert laid_over(store, placed, run_id).changed == frozenset()
    edited = set_parameter(CHAIN, "counts", "group_by", ("w", "v"))
    assert laid_over(store, edited, run_id).changed == {"counts"}
    assert laid_over(store, set_parameter(edited, "counts", "group_by", ("w",)), run_id).changed == frozenset()
    bypass = CHAIN.model_copy(update={"edges": (CHAIN.edges[0], Edge(source="words", target="out"))})
    assert laid_over(store, bypass, run_id).changed == {"out"}
    options = CHAIN.model_copy(update={"options": {"table.exec.state.ttl": "1 h"}})
    assert laid_over(store, options, run_id).changed == frozenset()
    assert laid_over(store, options, run_id).has_new_settings
    assert overlay(CHAIN, "theirs", run_id) is None


@pytest.mark.parametrize(
    ("edited", "said"),
    [
        (CHAIN, ""),
        (set_parameter(CHAIN, "counts", "group_by", ("v",)), "differs in counts"),
        (CHAIN.model_copy(update={"options": {"table.exec.state.ttl": "1 h"}}), "differs in the settings"),
        (CHAIN.model_copy(update={"edges": ()}), "differs in counts and out"),
    ],
)
def test_a_run_of_another_version_says_where_it_differs(
    store: Store, open_view: OpenView, edited: Pipeline, said: str
) -> None:
    drafted(store, edited)
    app = open_view("build", draft="k", run=ran(store))
    [facts] = [caption.value for caption in app.caption if "changelog record" in caption.value]
    assert facts.startswith(f":orange[{said}]") if said else "differs" not in facts


def test_other_runs_of_the_pipeline_that_go_on_are_told(store: Store) -> None:
    goes_on, run_id = ran(store, ended=False), ran(store)
    ran(store, identity="theirs", ended=False)
    assert [title.run_id for title in laid_over(store, CHAIN, run_id).others] == [goes_on]


def test_a_second_live_run_and_one_that_would_end_at_once_are_asked_about(store: Store, open_view: OpenView) -> None:
    drafted(store)
    live = ran(store, ended=False, live=True)
    app = open_view("build", draft="k")
    app.button(key="run-live").click().run()
    assert f"run {live} (started just now)" in app.markdown[-1].value
    app.button(key="live-second").click().run()
    # Rows end, and there is no way to make them go on.
    assert "ends by itself" in app.markdown[-1].value
    assert not [button for button in app.button if str(button.key).startswith("live-endless")]
    assert len(store.runs.list()) == 1


@pytest.mark.parametrize(
    ("name", "parameters", "goes_on"),
    [
        ("csv", {"path": "a.csv"}, False),
        ("csv", {"path": "a.csv", "monitor_interval_ms": 1000}, True),
        ("csv", {"path": "https://example.com/a.csv", "monitor_interval_ms": 1000}, False),
        ("http_rows", {"path": "clicks"}, True),
        ("kafka", {"servers": "a:1", "topic": "t"}, True),
        ("kafka", {"servers": "a:1", "topic": "t", "end": "latest-offset"}, False),
        ("generator", {}, False),
        ("generator", {"rows": None}, True),
        ("parquet", {"path": "a.parquet"}, False),
        ("postgres_cdc", {}, True),
    ],
)
def test_a_source_says_whether_it_goes_on_and_how_it_could(
    name: str, parameters: dict[str, Any], goes_on: bool
) -> None:
    source: Source = sources()[name].model_validate(parameters)
    assert source.goes_on is goes_on
    if source.endless is not None and not parameters.get("path", "").startswith("http"):
        assert source.model_copy(update=dict(source.endless.parameters)).goes_on


def epochs(*ends_s: float, events: int = 40) -> tuple[Epoch, ...]:
    return tuple(Epoch(at, 0, events, NOON + timedelta(seconds=end_s)) for at, end_s in enumerate(ends_s))


@pytest.mark.parametrize(
    ("title", "ends_s", "now_s", "epoch_s", "per_second"),
    [
        ("no epoch", (), 5, 0, 0),
        ("one epoch says nothing about time", (0,), 5, 0, 0),
        ("the first seconds", (0, 1, 2, 3, 4), 4, 0.2, 40),
        ("a pause before does not count", (0, 100, 101, 102), 102, 0.2, 12),
        ("nothing comes any more", (0, 1, 2), 12.5, 0.2, 0),
        ("epochs that take longer than that", (0, 40, 80), 100, 40, 1),
    ],
)
def test_the_rate_is_that_of_the_last_seconds(
    title: str, ends_s: tuple[float, ...], now_s: float, epoch_s: float, per_second: float
) -> None:
    assert rate(epochs(*ends_s), NOON + timedelta(seconds=now_s), epoch_s) == pytest.approx(per_second), title
