"""Retention: what is old goes, and the table as of any event that is kept stays what it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from engine.contract.live import Begun, Decision
from engine.contract.recorder import EdgeInfo, EdgeView
from engine.model.timeline import MAX_WATERMARK
from engine.reading.files import received
from engine.reading.servers import kept_messages
from storage import Store
from storage.database.tables import BLOCK
from storage.event_time.watermarks import STRETCH
from storage.model import Run
from storage.recording.retention import Keep, KeepOfEdge, can_keep_less
from storage.wanted import Filter, equal
from tests.storage.written_runs import Epoch, Event, columns, edge, plan

SOURCE = edge("source", columns(k="string", v="bigint"), watermark_delay_ms=0)
TOTALS = edge("totals", columns(k="string", v="bigint"), "[I,UB,UA,D]", ("k",))
BAG = edge("bag", columns(k="string", v="bigint"), "[I,D]")
SHOWN = edge("shown", columns(k="string"), "[I,D]", view=EdgeView("bag", "out", ("k",)))
EDGES = (SOURCE, TOTALS, BAG, SHOWN)
MODES = {"totals", "bag", "shown"}


def epochs(count: int, size: int, seed: int = 1) -> Iterator[Epoch]:
    """Rows that come, change and go again."""
    chance = Random(seed)
    totals: dict[str, int] = {}
    bag: list[tuple[str, int]] = []
    seq = 0
    for number in range(count):
        records: dict[str, list[Event]] = {"source": [], "totals": [], "bag": []}
        marks = []
        for _ in range(size):
            seq += 1
            k, v = chance.choice("abcdef"), chance.randrange(5)
            records["source"].append((seq, b"", "+I", (k, v)))
            marks.append((seq, "source", seq * 10, seq * 10, False))
            if k in totals and chance.random() < 0.2:
                records["totals"].append((seq, b"a", "-D", (k, totals.pop(k))))
            elif k in totals:
                records["totals"].append((seq, b"a", "-U", (k, totals[k])))
                totals[k] += v
                records["totals"].append((seq, b"b", "+U", (k, totals[k])))
            else:
                totals[k] = v
                records["totals"].append((seq, b"a", "+I", (k, v)))
            if bag and chance.random() < 0.45:
                records["bag"].append((seq, b"a", "-D", bag.pop(chance.randrange(len(bag)))))
            else:
                bag.append((k, v))
                records["bag"].append((seq, b"a", "+I", (k, v)))
        yield Epoch(number, records, watermarks=marks)


def begun(store: Store, edges: tuple[EdgeInfo, ...] = EDGES) -> tuple[Run, Any]:
    """A live run."""
    run = store.runs.create("live", "{}", live=Begun("."))
    recorder = store.record(run.run_id)
    recorder.begin(plan(*edges))
    return run, recorder


def table(store: Store, run: Run, node: str, seq: int) -> Counter[Any]:
    return Counter(row.values for row in store.changelog.table_as_of(run.run_id, node, seq, limit=1000).rows)


def changelog(store: Store, run: Run, node: str) -> list[Event]:
    """The records of an edge, as they were written."""
    records = store.changelog.page(run.run_id, node, limit=1000).records
    return [(record.seq, record.step, record.kind.symbol, record.values) for record in records]


def told(written: list[Epoch], node: str) -> list[Event]:
    """All records of an edge; those of the view have the first column of the table's."""
    if node == "shown":
        return [(seq, step, kind, values[:1]) for seq, step, kind, values in told(written, "bag")]
    return [event for epoch in written for event in epoch.records[node]]


def folded(events: list[Event], seq: int) -> Counter[Any]:
    """The table after an event."""
    table = Counter[Any]()
    for at, _, kind, values in events:
        if at <= seq:
            table[values] += 1 if kind in ("+I", "+U") else -1
    return table


def test_the_table_as_of_any_kept_event_is_what_it_was(store: Store, tmp_path: Path) -> None:
    run, lets_go = begun(store)
    store.retention.set(run.run_id, Keep(events=20))
    seen = set()
    written: list[Epoch] = []
    for epoch in epochs(12, 8):
        written.append(epoch)
        lets_go.commit(replace(epoch.write(tmp_path / "w", EDGES), checkpoint="{}"))
        if epoch.number in (5, 9):
            # A page has asked in between, and lifetimes are noted.
            for each in store.runs.edges(run.run_id):
                store.lifetimes.note(each)
        kept = store.runs.get(run.run_id)
        seen.add(kept.kept_from)
        assert kept.last_seq - kept.kept_from + 1 <= 30 + 8
        for node in MODES:
            events = told(written, node)
            for seq in range(kept.kept_from, kept.last_seq + 1, 5):
                assert table(store, run, node, seq) == folded(events, seq), (node, seq)
    assert len(seen) > 3
    kept = store.runs.get(run.run_id)
    assert kept.epochs_done == 12
    # All records of what is kept are there, at the places that count them; before them the rows that were still there.
    for node in ("source", *MODES):
        page = store.changelog.page(run.run_id, node, limit=1000)
        assert [record.row for record in page.records] == list(range(page.total))
        later = [event for event in changelog(store, run, node) if event[0] >= kept.kept_from]
        assert later == [event for event in told(written, node) if event[0] >= kept.kept_from]
    assert store.changelog.page(run.run_id, "source").records[0].seq == kept.kept_from
    marks = store.replays.marks(run.run_id)
    assert marks.before(kept.last_seq + 1) == {"source": kept.last_seq * 10}
    assert store.timeline.timeline(run.run_id).from_seq == kept.kept_from
    lets_go.finish()
    store.runs.delete(run.run_id)


def test_an_edge_keeps_less_than_the_run_and_its_table_stays_what_it_was(store: Store, tmp_path: Path) -> None:
    run, lets_go = begun(store)
    written: list[Epoch] = []
    for number, epoch in enumerate(epochs(14, 8, seed=4)):
        written.append(epoch)
        lets_go.commit(replace(epoch.write(tmp_path / "w", EDGES), checkpoint="{}"))
        edges = {each.node: each for each in store.runs.edges(run.run_id)}
        if number == 0:
            assert [name for name, each in edges.items() if can_keep_less(each)] == ["totals", "bag"]
            store.retention.set_edge(edges["bag"], KeepOfEdge(records=12))
            store.retention.set_edge(edges["totals"], KeepOfEdge(hours=1000))
        if number == 8:
            # Less of the whole run: the edge goes on from where it was.
            store.retention.set(run.run_id, Keep(events=40))
        if number == 10:
            store.retention.set_edge(edges["bag"], KeepOfEdge(records=1000))
        last = (number + 1) * 8
        # The view is kept as the table that it shows.
        assert edges["shown"].kept_from == edges["bag"].kept_from >= store.runs.get(run.run_id).kept_from
        for node in MODES:
            events, first = told(written, node), edges[node].kept_from
            later = [event for event in changelog(store, run, node) if event[0] >= first]
            assert later == [event for event in events if event[0] >= first]
            for seq in range(first, last + 1, 5):
                assert table(store, run, node, seq) == folded(events, seq), (node, seq)
        if number == 8:
            assert edges["bag"].kept_from > 40
            assert edges["bag"].total < 12 * 1.5 + 8 + folded(told(written, "bag"), last).total()
            assert edges["totals"].kept_from == edges["source"].kept_from
    assert store.retention.of_edge(edges["bag"]) == KeepOfEdge(records=1000)
    assert edges["totals"].kept_from == edges["source"].kept_from == store.runs.get(run.run_id).kept_from > 1
    lets_go.finish()
    store.runs.delete(run.run_id)


def test_answers_are_about_the_kept_records_although_their_number_repeats(store: Store, tmp_path: Path) -> None:
    timed = edge("source", columns(k="string", ts="bigint*"), watermark_delay_ms=0)
    changing = edge("changing", columns(k="string", v="bigint"), "[I,UB,UA,D]", ("k",))
    (run, recorder), (other, others) = begun(store, (timed, changing)), begun(store, (timed, changing))
    for each in (run, other):
        store.retention.set(each.run_id, Keep(events=10))
    table: dict[str, int] = {}
    totals = Counter[int]()
    for number in range(24):
        # In the middle, the key changes, and the other run's values; the number of records per epoch does not.
        k = "ab"[number // 12]
        marks, rows, changes = [], [], []
        for seq in range(number * 5 + 1, number * 5 + 6):
            changes += [(seq, b"a", "-U" if name == k else "-D", (name, v)) for name, v in table.items()]
            changes.append((seq, b"b", "+U" if k in table else "+I", (k, seq // 3)))
            table = {k: seq // 3}
            rows.append((seq, b"", "+I", (k, seq * 1000)))
            marks.append((seq, "source", seq * 1000, seq * 1000, False))
        for to, v in ((recorder, 0), (others, number // 12)):
            records: list[Event] = [(*place, (name, value + v)) for *place, (name, value) in changes]
            epoch = Epoch(number, {"source": rows, "changing": records}, watermarks=marks)
            to.commit(replace(epoch.write(tmp_path / f"w{v}", (timed, changing)), checkpoint="{}"))
        page = store.changelog.page(run.run_id, "changing", limit=100)
        kept, totals = page.records, totals + Counter([page.total])
        taken = [record for record in kept if not record.kind.is_accumulate]
        of_a = sum(record.values[0] == "a" for record in kept)
        assert store.changelog.count(run.run_id, "changing", filter=Filter(terms=equal((("k", "a"),)))) == of_a
        keys = {key.key[0]: key.taken_back for key in store.flows.keys(run.run_id, "changing")}
        assert keys == Counter(record.values[0] for record in taken)
        seconds = store.flows.seconds(run.run_id, "changing", limit=50)
        assert sorted(each.start_ms for each in seconds) == [record.seq * 1000 for record in taken]
        examples = store.flows.cancelled(run.run_id, "changing").examples
        assert all(one.values == after.values for one, after in examples)
        delivery = store.disorder.deliver(run.run_id, "changing", writers=20, seed=number, materialised=False)
        assert {row.expected for row in delivery.rows} <= {None, *table.items()}
        others_kept = store.changelog.page(other.run_id, "changing", limit=100).records
        part = store.run_differences.first_different_event(run.run_id, other.run_id, "changing")
        assert (part is None) == (kept == others_kept)
    assert totals.most_common(1)[0][1] > 5


@pytest.mark.parametrize("cut", [1000, BLOCK * 3, STRETCH + 5])
def test_watermarks_are_what_they_were(store: Store, tmp_path: Path, cut: int) -> None:
    sources = tuple(edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab")
    (whole, keeps), (short, lets_go) = begun(store, sources), begun(store, sources)
    store.retention.set(short.run_id, Keep(events=300))
    # The source b sends nothing after the cut, which falls in the middle of a block.
    for number, (first, last) in enumerate([(1, cut // 2), (cut // 2 + 1, cut), (cut + 1, cut + 500)]):
        senders = [(seq, "b" if seq % 10 == 0 and seq <= cut else "a") for seq in range(first, last + 1)]
        records = {name: [(seq, b"", "+I", (seq * 10,)) for seq, sender in senders if sender == name] for name in "ab"}
        marks = [(seq, sender, seq * 10, seq * 10, False) for seq, sender in senders]
        output = replace(Epoch(number, records, watermarks=marks).write(tmp_path / "w", sources), checkpoint="{}")
        keeps.commit(output)
        lets_go.commit(output)
    kept, other = store.runs.get(short.run_id), store.runs.get(whole.run_id)
    assert kept.kept_from == cut + 1
    # Nothing of the other run has gone.
    assert (other.kept_from, other.epochs_done, other.records) == (1, 3, cut + 500)
    stored = [store.changelog.count(whole.run_id, name, filter=Filter(from_seq=1)) for name in "ab"]
    assert stored == [cut + 500 - cut // 10, cut // 10]
    marks_of_short, marks_of_whole = store.replays.marks(short.run_id), store.replays.marks(whole.run_id)
    assert store.current_watermarks.of(short.run_id) == store.current_watermarks.of(whole.run_id)
    for name in "ab":
        ours, theirs = (marks.line(name, kept.last_seq) for marks in (marks_of_short, marks_of_whole))
        assert [ours.at(seq) for seq in range(cut, kept.last_seq)] == [
            theirs.at(seq) for seq in range(cut, kept.last_seq)
        ]
    for seq in (kept.kept_from, kept.kept_from + 10, kept.last_seq):
        assert marks_of_short.before(seq) == marks_of_whole.before(seq)
        for name in "ab":
            assert marks_of_short.at(name, seq) == marks_of_whole.at(name, seq)
    for time_ms in (100, cut * 10 - 100, cut * 10, cut * 10 + 50, cut * 20):
        for name in "ab":
            reached = marks_of_whole.reached(name, time_ms)
            # It was reached before the kept events, or exactly where it is kept.
            assert marks_of_short.reached(name, time_ms) == (None if reached is None else max(cut, reached))


def test_the_timeline_begins_with_the_kept_events_although_the_ends_of_sources_stay(
    store: Store, tmp_path: Path
) -> None:
    sources = tuple(edge(name, columns(ts="bigint*"), watermark_delay_ms=0) for name in "ab")
    run, recorder = begun(store, sources)
    store.retention.set(run.run_id, Keep(events=10))
    for number in range(12):
        seqs = range(number * 5 + 1, number * 5 + 6)
        marks = [(seq, "b", seq, seq, False) for seq in seqs if seq != 2]
        marks += [(2, "a", None, MAX_WATERMARK, True)] if number == 0 else []
        records: dict[str, list[Event]] = {"b": [(seq, b"", "+I", (seq,)) for seq in seqs if seq != 2]}
        recorder.commit(
            replace(Epoch(number, records, watermarks=marks).write(tmp_path / "w", sources), checkpoint="{}")
        )
    kept = store.runs.get(run.run_id)
    assert kept.kept_from > 40
    assert store.timeline.extent(run.run_id) == (kept.kept_from, kept.last_seq)
    assert store.timeline.timeline(run.run_id).ends == {"a": 2}


def test_hours_are_those_of_the_epochs(store: Store, tmp_path: Path) -> None:
    run, recorder = begun(store)
    store.retention.set(run.run_id, Keep(hours=1e-9))
    for epoch in epochs(3, 8):
        recorder.commit(replace(epoch.write(tmp_path, EDGES), checkpoint="{}"))
    # The last epoch stays, whatever its age.
    assert store.runs.get(run.run_id).kept_from == 17
    assert store.retention.of(run.run_id) == Keep(hours=1e-9)


def test_posted_rows_go_with_the_epochs_of_all_runs_that_took_them(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(received, "FILE_BYTES", 1)
    runs = []
    for events in (20, None):
        run = store.runs.create("live", "{}", live=Begun(str(tmp_path)))
        recorder = store.record(run.run_id)
        recorder.begin(plan(SOURCE))
        store.retention.set(run.run_id, Keep(events=events))
        runs.append((run, recorder))
    for epoch in epochs(12, 10):
        received.receive(tmp_path, "orders", ['{"a":1}'])
        file = received.received_files(tmp_path, "orders")[-1]
        took = {"source": [[str(file), f"{received.FOLDER}/{file.name}", 0, 8]]}
        output = epoch.write(tmp_path / "w", (SOURCE,))
        for _, recorder in runs:
            recorder.commit(replace(output, checkpoint="{}", decision=Decision(took).to_json()))
    # The second run keeps everything.
    assert len(received.received_files(tmp_path, "orders")) == 12
    store.retention.set(runs[1][0].run_id, Keep(events=20))
    for epoch in [*epochs(16, 10)][12:]:
        for _, recorder in runs:
            recorder.commit(replace(epoch.write(tmp_path / "w", (SOURCE,)), checkpoint="{}"))
    kept = received.received_files(tmp_path, "orders")
    assert 1 <= len(kept) < 12
    assert kept[-1].name == "orders.part000011.jsonl"


def test_messages_go_with_the_epochs_that_took_them(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_messages, "_FILE_BYTES", 1)
    run = store.runs.create("live", "{}", live=Begun(str(tmp_path)))
    recorder = store.record(run.run_id)
    recorder.begin(plan(SOURCE))
    store.retention.set(run.run_id, Keep(events=30))
    place = "received/orders-1"
    keeping = kept_messages.Keeping(tmp_path, place)
    posted = tmp_path / "received" / "posted.jsonl"
    most = 0
    for epoch in epochs(12, 10):
        messages = pa.RecordBatch.from_pydict({"at": [epoch.number] * 10})
        took = {"source": [keeping.keep(messages)], "posted": [["received/posted.jsonl", 0, 3]], "quiet": None}
        posted.touch()
        if epoch.number == 6:
            # The run was taken up again: another attempt writes files of its own.
            keeping = kept_messages.Keeping(tmp_path, place)
        decision = Decision(took if epoch.number % 4 else {}).to_json()
        recorder.commit(replace(epoch.write(tmp_path, (SOURCE,)), checkpoint="{}", decision=decision))
        most = max(most, len(list((tmp_path / place).iterdir())))
    kept = [Decision.from_json(text) for text in store.runs.decisions(run.run_id)]
    pieces = [piece for each in kept for piece in kept_messages.pieces_of(each.took.get("source", []), tmp_path, "o")]
    assert [kept_messages.messages_in(piece)["at"][0].as_py() for piece in pieces] == [7, 9, 10, 11]
    assert min(int(file.stem) for file in (tmp_path / place).iterdir()) == min(int(Path(p.path).stem) for p in pieces)
    assert posted.exists()
    assert most < 9


def test_the_file_does_not_grow_with_what_has_gone(store: Store, tmp_path: Path) -> None:
    wide = edge("source", columns(text="string"), watermark_delay_ms=0)
    run, recorder = begun(store, (wide,))
    store.retention.set(run.run_id, Keep(events=2000))
    chance, sizes = Random(2), []
    for number in range(24):
        first = number * 1000 + 1
        rows: list[Event] = [(first + at, b"", "+I", (chance.randbytes(300).hex(),)) for at in range(1000)]
        epoch = Epoch(number, {"source": rows})
        recorder.commit(replace(epoch.write(tmp_path, (wide,)), checkpoint="{}"))
        files = (store.path, store.path.with_name(f"{store.path.name}.wal"))
        sizes.append(sum(file.stat().st_size for file in files if file.exists()))
    assert max(sizes[12:]) <= max(sizes[:12]) * 1.2
