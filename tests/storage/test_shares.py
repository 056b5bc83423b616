"""Runs that keep a share of their records: chosen outputs, or those of one key in N."""

from __future__ import annotations

from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.contract.recorder import ALL, NONE, EdgeView, Share
from storage import Store
from storage.errors import RecordsNotKept
from tests.storage.written_runs import Epoch, columns, edge, plan

SCHEMA = columns(k="string", n="bigint")
SOURCE = edge("events", SCHEMA, watermark_delay_ms=0)


def counted(words: list[str]) -> tuple[list[Any], list[Any]]:
    """Events of words, and the changelog of their counts."""
    events, counts, seen = [], [], dict[str, int]()
    for seq, word in enumerate(words, 1):
        events.append((seq, b"", "+I", (word, seq)))
        if word in seen:
            counts += [(seq, b"\0", "-U", (word, seen[word])), (seq, b"\1", "+U", (word, seen[word] + 1))]
        else:
            counts.append((seq, b"\0", "+I", (word, 1)))
        seen[word] = seen.get(word, 0) + 1
    return events, counts


def stored(store: Store, folder: Path, words: list[str], share: Share, cuts: int = 1) -> int:
    events, counts = counted(words)
    totals = edge("totals", SCHEMA, "[I,UB,UA]", ["k"], share=share)
    shown = edge("shown", columns(word="string"), view=EdgeView("events", "out", ("k",), b"\0"), share=share)
    source = edge("events", SCHEMA, watermark_delay_ms=0, share=share)
    edges = (source, shown, totals)
    run = store.runs.create("counts", "{}")
    recorder = store.record(run.run_id)
    recorder.begin(plan(*edges, wires=[("events", "totals")]))
    size = -(-len(words) // cuts)
    for at in range(cuts):
        low, high = at * size, (at + 1) * size
        own = {
            "events": [record for record in events if low < record[0] <= high],
            "totals": [record for record in counts if low < record[0] <= high],
        }
        recorder.commit(Epoch(at, own).write(folder / f"{run.run_id}", edges))
    recorder.finish()
    return run.run_id


def records(store: Store, run_id: int, node: str) -> list[Any]:
    page = store.changelog.page(run_id, node, limit=1000)
    return [(record.seq, record.kind.symbol, record.values) for record in page.records]


WORDS = st.lists(st.sampled_from([f"word {n}" for n in range(12)]), min_size=1, max_size=40)


@settings(max_examples=8, deadline=None)
@given(WORDS, st.sampled_from([2, 3, 7]), st.integers(1, 3))
def test_the_records_of_a_key_are_kept_as_a_whole_or_not_at_all(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], one_in: int, cuts: int
) -> None:
    folder = tmp_path_factory.mktemp("shares")
    with Store.open(folder / "studio.duckdb") as store:
        whole = stored(store, folder, words, ALL)
        part = stored(store, folder, words, Share(one_in, ("k",)), cuts)
        kept = {values[0] for _, _, values in records(store, part, "events")}
        for node in ("events", "totals"):
            of_kept = [record for record in records(store, whole, node) if record[2][0] in kept]
            assert records(store, part, node) == of_kept
            edges = [store.runs.edge(run, node) for run in (whole, part)]
            assert edges[1].left_out == edges[0].total - len(of_kept)
            assert not edges[1].is_whole
        last = len(words)
        tables = [store.changelog.table_as_of(run, "totals", last, limit=100) for run in (whole, part)]
        assert {row.values for row in tables[1].rows} == {row.values for row in tables[0].rows if row.values[0] in kept}
        assert store.runs.counters(part) == tuple(
            type(each)(**{**vars(each), "counts": own.counts})
            for each, own in zip(store.runs.counters(whole), store.runs.counters(part), strict=True)
        )


def test_the_same_keys_are_chosen_in_every_run_on_any_machine(store: Store, tmp_path: Path) -> None:
    words = [f"word {n}" for n in range(40)]
    run = stored(store, tmp_path, words, Share(10, ("k",)))
    chosen = {word for word in words if int.from_bytes(md5(word.encode()).digest()[8:], "little") % 10 == 0}
    assert 0 < len(chosen) < 10
    assert {values[0] for _, _, values in records(store, run, "totals")} == chosen


def test_an_output_without_records_still_counts_them(store: Store, tmp_path: Path) -> None:
    run = stored(store, tmp_path, ["a", "b", "a"], NONE)
    assert [store.runs.edge(run, node).left_out for node in ("events", "shown", "totals")] == [3, 3, 4]
    assert [each.records_out for each in store.runs.counters(run)] == [3, 3, 4]
    assert store.changelog.page(run, "totals").total == 0


@pytest.mark.parametrize("share", [NONE, Share(3, ("k",))])
def test_what_needs_all_records_says_what_to_do(store: Store, tmp_path: Path, share: Share) -> None:
    run = stored(store, tmp_path, ["a", "b"], share)
    sentence = "has not kept all records of events.* Clear 'Keep only the records of', set 'Keep one key in' to 1"
    for ask in (lambda: store.recordings.write(run), lambda: store.batch_checks.export(run, tmp_path / "check")):
        with pytest.raises(RecordsNotKept, match=sentence):
            ask()


def test_the_place_of_an_event_in_its_source_counts_all_events(store: Store, tmp_path: Path) -> None:
    share = Share(1000, ("k",))
    edges = (edge("events", SCHEMA, watermark_delay_ms=0, share=share),)
    run = store.runs.create("counts", "{}")
    recorder = store.record(run.run_id)
    recorder.begin(plan(*edges))
    marks = [(seq, "events", seq, seq, False) for seq in range(1, 6)]
    recorder.commit(Epoch(0, {"events": counted(list("abcde"))[0]}, watermarks=marks).write(tmp_path, edges))
    assert store.arrivals.place_in_source(store.runs.stored(run.run_id), "events", 4) == (4, "")
