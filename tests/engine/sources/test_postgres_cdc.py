"""A PostgreSQL table: its rows and then its changes, each once, whatever happens in between."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from engine.contract.stream import Json, Limit, Taken
from engine.errors import PipelineError, SourceError
from engine.reading.postgres import pgoutput
from engine.reading.postgres.client import Database
from engine.reading.postgres.stream import PostgresStream
from engine.reading.servers.kept_messages import place_of
from engine.sources.postgres_cdc import PostgresCdc
from tests.engine.sources.postgres_server import Server, server
from tests.engine.sources.test_kafka import records

ALL = Limit(1000, 1 << 20)
COLUMNS = ({"name": "id", "type": "bigint"}, {"name": "note", "type": "string"}, {"name": "at", "type": "timestamp"})


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as running:
        yield running


@pytest.fixture
def table(postgres: Server, request: pytest.FixtureRequest) -> str:
    name = f"t{abs(hash(request.node.name)) % 10**8}"
    postgres.run(
        f"CREATE TABLE {name} (id bigint PRIMARY KEY, note text, at timestamptz)",
        f"ALTER TABLE {name} REPLICA IDENTITY FULL",
        f"INSERT INTO {name} VALUES (1, 'a', '2024-05-01 10:00:00+02'), (2, NULL, NULL)",
    )
    return name


def source(postgres: Server, table: str, **parameters: Any) -> PostgresCdc:
    where = {"host": "127.0.0.1", "port": postgres.port, "database": "postgres", "user": "studio"}
    what = {"table_name": table, "slot": f"s_{table}", "columns": COLUMNS}
    return PostgresCdc.model_validate({**where, **what, **parameters})


@pytest.fixture
def stream(postgres: Server, table: str, tmp_path: Path) -> Iterator[PostgresStream]:
    """The changes of the table, for a run."""
    opened = source(postgres, table).stream("n", tmp_path, "run")
    yield opened
    opened.close()


def polled(stream: PostgresStream, position: Json = None, **how: Any) -> tuple[Taken, list[Any]]:
    taken = stream.poll(position, ALL, 0, **how)
    return taken, [] if taken.what is None else [row[:3] for row in records(stream.read(taken.what))]


def test_a_bounded_run_reads_the_rows_of_the_moment(postgres: Server, table: str, tmp_path: Path) -> None:
    found = source(postgres, table)
    scan = found.scan("n", tmp_path)
    [first, second] = records(scan)
    assert first[:3] == ("+I", 1, "a")
    assert first[3].isoformat() == "2024-05-01T08:00:00+00:00"
    assert second == ("+I", 2, None, None)
    head = found.head(1, "n", tmp_path, tmp_path)
    assert len(records(head.scan("n", tmp_path))) == 1
    assert not postgres.run(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = 's_{table}'")


def test_a_bounded_run_reads_a_standby(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as place, server(Path(place)) as standby:
        standby.run("CREATE TABLE orders (id bigint, note text, at timestamptz)", "INSERT INTO orders VALUES (1, 'a')")
        standby.stop(cleanly=True)
        (Path(place) / "data" / "standby.signal").touch()
        standby.start()
        assert standby.run("SELECT pg_is_in_recovery()") == [(True,)]
        found = source(standby, "orders")
        assert records(found.scan("n", tmp_path)) == [("+I", 1, "a", None)]


def test_the_server_knows_the_columns_and_the_key(postgres: Server, table: str, tmp_path: Path) -> None:
    types = "i int, d numeric(10,2), n numeric, f real, t timestamp(3), day date, b boolean, j jsonb, a int[]"
    postgres.run(f"ALTER TABLE {table} ADD COLUMN {types.replace(', ', ', ADD COLUMN ')}")
    found = source(postgres, table, columns=[]).columns_there("n", tmp_path)
    assert [(column.name, column.type) for column in found.columns] == [
        ("id", "BIGINT"),
        ("note", "STRING"),
        ("at", "TIMESTAMP_LTZ(3)"),
        ("i", "INT"),
        ("d", "DECIMAL(10, 2)"),
        ("n", "STRING"),
        ("f", "FLOAT"),
        ("t", "TIMESTAMP(3)"),
        ("day", "DATE"),
        ("b", "BOOLEAN"),
        ("j", "STRING"),
        ("a", "STRING"),
    ]
    assert list(found.primary_key) == ["id"]
    # The table is read with these columns.
    postgres.run(f"UPDATE {table} SET i = 7, d = 1.5, f = 0.5, t = '2024-05-01', day = '2024-05-01', a = '{{1}}'")
    read = source(postgres, table, columns=[column.model_dump() for column in found.columns])
    scan = read.scan("n", tmp_path)
    assert [part.rejected for piece in scan.parts for part in scan.read(piece)] == [[]]
    with pytest.raises(SourceError, match="there is no table public.nothing"):
        source(postgres, "nothing").columns_there("n", tmp_path)


def test_rows_and_then_changes_each_once_though_nobody_acknowledged_them(
    postgres: Server, table: str, tmp_path: Path
) -> None:
    stream = source(postgres, table).stream("n", tmp_path, "run")
    # The first of these rows is in both the snapshot and the slot, the second one only in the slot.
    database = Database(stream.address, "n")
    database.prepare(stream.slot, "")
    postgres.run(f"INSERT INTO {table} VALUES (3, 'seen', NULL)")
    with postgres.connect() as other:
        other.autocommit = False
        other.execute(f"INSERT INTO {table} VALUES (4, 'open', NULL)".encode())
        taken, rows = polled(stream)
        other.commit()
    database.close()
    assert rows == [("+I", 1, "a"), ("+I", 2, None), ("+I", 3, "seen")]
    taken, rows = polled(stream, taken.position)
    assert rows == [("+I", 4, "open")]
    postgres.run(f"UPDATE {table} SET note = 'b' WHERE id = 1", f"DELETE FROM {table} WHERE id = 2")
    after, changes = polled(stream, taken.position)
    assert changes == [("-U", 1, "a"), ("+U", 1, "b"), ("-D", 2, None)]
    stream.close()
    # Killed before the position was stored: the same changes again, and the stored messages are readable.
    again = source(postgres, table).stream("n", tmp_path, "run")
    assert polled(again, taken.position)[1] == changes
    # Killed after the position was stored and before it was acknowledged: no repetition.
    again.close()
    third = source(postgres, table).stream("n", tmp_path, "run")
    postgres.run(f"INSERT INTO {table} VALUES (5, 'c', NULL)")
    last, new = polled(third, after.position, ending=True)
    assert new == [("+I", 5, "c")]
    assert [row[:3] for row in records(third.read(after.what))] == changes
    third.close()
    assert source(postgres, table).let_go("n", tmp_path, "run", last.position) == ()
    assert not postgres.run(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = 's_{table}'")
    assert not postgres.run(f"SELECT 1 FROM pg_publication WHERE pubname = 's_{table}'")
    gone = source(postgres, table).stream("n", tmp_path, "run")
    with pytest.raises(SourceError, match="the replication slot .* is gone"):
        gone.poll(last.position, ALL, 0)
    gone.close()


def test_by_the_key_a_change_needs_no_row_before_it(postgres: Server, table: str, tmp_path: Path) -> None:
    postgres.run(f"ALTER TABLE {table} REPLICA IDENTITY DEFAULT")
    with pytest.raises(SourceError, match=f"ALTER TABLE public.{table} REPLICA IDENTITY FULL, or let changes go"):
        source(postgres, table).stream("n", tmp_path, "run").poll(None, ALL, 0)
    stream = source(postgres, table, changelog_mode="upsert", primary_key=["id"], start="latest-offset").stream(
        "n", tmp_path, "run"
    )
    taken, rows = polled(stream)
    assert rows == []
    postgres.run(
        f"UPDATE {table} SET note = 'b' WHERE id = 1",
        f"UPDATE {table} SET id = 9 WHERE id = 1",
        f"DELETE FROM {table} WHERE id = 2",
        f"ALTER TABLE {table} ADD COLUMN more int, ALTER COLUMN note TYPE varchar",
        f"INSERT INTO {table} VALUES (5, 'd', 'infinity', 1)",
        f"INSERT INTO {table} VALUES (6, 'e', NULL, 1)",
        f"TRUNCATE {table}",
    )
    after, changes = polled(stream, taken.position)
    assert changes == [("+U", 1, "b"), ("-D", 1, None), ("+U", 9, "b"), ("-D", 2, None), ("+I", 6, "e")]
    [rejected] = [
        row for piece in stream.read(after.what).parts for part in stream.reader(piece) for row in part.rejected
    ]
    assert rejected.file.startswith(f"public.{table}, ")
    assert (rejected.line, rejected.reason) == (1, "column 'at': \"infinity\" is not a TIMESTAMP_LTZ(3)")
    assert after.notes[0] == f"{table} has other columns now: id, note, at, more. Those declared here are read."
    assert f"{table} was truncated at " in after.notes[1]
    stream.close()


def test_a_server_that_is_gone_and_comes_back_is_waited_for(
    postgres: Server, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.reading.postgres.stream._AGAIN_S", 0.0)
    stream = source(postgres, table).stream("n", tmp_path, "run")
    taken, _ = polled(stream)
    postgres.stop()
    waiting = stream.poll(taken.position, ALL, 0)
    assert waiting.notes[0].startswith(f"PostgreSQL at 127.0.0.1:{postgres.port}/postgres: ")
    assert waiting.notes[0].endswith("The run waits, and continues once it answers.")
    with pytest.raises(SourceError, match="Check the address and the user, and whether the server is running"):
        source(postgres, table).stream("n", tmp_path, "run").poll(None, ALL, 0)
    [sentence] = source(postgres, table).let_go("n", tmp_path, "run", {**taken.position, "kept": "received/none"})
    assert sentence.endswith(f"SELECT pg_drop_replication_slot('s_{table}'); DROP PUBLICATION \"s_{table}\";")
    # Without a position, the publication can be the user's.
    [sentence] = source(postgres, table).let_go("n", tmp_path, "none", None)
    assert f"There: SELECT pg_drop_replication_slot('s_{table}'); A publication that the run created may" in sentence
    assert "DROP PUBLICATION" not in sentence
    with pytest.raises(SourceError, match="The source cannot end before it answers; resume the run then"):
        stream.poll(taken.position, ALL, 0, ending=True)
    postgres.start()
    postgres.run(f"INSERT INTO {table} VALUES (7, 'back', NULL)")
    assert polled(stream, waiting.position)[1] == [("+I", 7, "back")]
    # Another run takes over the slot: this run fails instead of missing changes.
    other = source(postgres, table).stream("n", tmp_path, "other")
    assert "belonged to another run" in polled(other)[0].notes[0]
    with pytest.raises(SourceError, match="another run has taken over the replication slot"):
        stream.poll(waiting.position, ALL, 0)
    stream.close()
    other.close()
    # Of the deleted runs, only the other one owns the slot, and deletes it even without an epoch.
    for run, left in (("run", 1), ("other", 0)):
        assert source(postgres, table).let_go("n", tmp_path, run, None) == ()
        assert not list(tmp_path.glob(f"received/*-{place_of('', 'n', run)[-12:]}"))
        slots = postgres.run(f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = 's_{table}'")
        assert slots == [(left,)]


def test_a_slot_that_is_used_for_another_table_has_its_changes(postgres: Server, table: str, tmp_path: Path) -> None:
    first = source(postgres, table).stream("n", tmp_path, "run")
    polled(first)
    # A restart, as after a kill before the first epoch: the slot still belongs to the run.
    again = source(postgres, table).stream("n", tmp_path, "run")
    assert polled(again)[0].notes == ()
    postgres.run(f"CREATE TABLE other_{table} (LIKE {table})", f"ALTER TABLE other_{table} REPLICA IDENTITY FULL")
    other = source(postgres, f"other_{table}", slot=f"s_{table}").stream("n", tmp_path, "other")
    taken, rows = polled(other)
    assert rows == []
    postgres.run(
        f"INSERT INTO other_{table} VALUES (8, 'here', NULL)", f"INSERT INTO {table} VALUES (8, 'there', NULL)"
    )
    assert polled(other, taken.position)[1] == [("+I", 8, "here")]
    for stream in (first, again, other):
        stream.close()
    postgres.run(f"CREATE PUBLICATION p_{table} FOR TABLE {table}")
    foreign = source(postgres, f"other_{table}", slot=f"p_{table}").stream("n", tmp_path, "third")
    with pytest.raises(SourceError, match=f"the publication p_{table} already exists, without public.other_{table}"):
        foreign.poll(None, ALL, 0)
    foreign.close()


def test_what_is_wrong_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = Server(1, tmp_path, tmp_path)
    for parameters, sentence in (
        ({"password": "hunter2"}, "password: it would be kept"),
        ({"slot": "My-Slot"}, "slot: 'My-Slot' is no name"),
        ({"changelog_mode": "upsert"}, "primary_key: upsert changes need a primary key"),
        ({"columns": [{"name": "b", "type": "bytes"}]}, "Declare it as STRING"),
    ):
        with pytest.raises(PipelineError, match=sentence) as error:
            source(nowhere, "t", **parameters).derive("n", tmp_path)
        assert "hunter2" not in str(error.value)
    monkeypatch.setenv("POSTGRES_PASSWORD", "hunter2")
    named = source(nowhere, "t", password="${env:POSTGRES_PASSWORD}")
    with pytest.raises(SourceError, match="n: PostgreSQL at 127.0.0.1:1/postgres: ") as refused:
        named.scan("n", tmp_path)
    assert "hunter2" not in str(refused.value)
    assert "'password' = '${env:POSTGRES_PASSWORD}'" in named.flink_sql("n", named.derive("n", tmp_path).schema)


def test_a_publication_of_the_user_has_other_tables_and_stays_as_it_is(
    postgres: Server, table: str, tmp_path: Path
) -> None:
    other, slot = f"other_{table}", f"p_{table}"
    postgres.run(
        f"CREATE TABLE {other} (LIKE {table})",
        f"ALTER TABLE {other} REPLICA IDENTITY FULL",
        f"CREATE PUBLICATION {slot} FOR TABLE {table}, {other}",
        f"COMMENT ON PUBLICATION {slot} IS 'of the shop'",
    )
    published = source(postgres, table, slot=slot)
    stream = published.stream("n", tmp_path, "run")
    taken, rows = polled(stream)
    assert (len(rows), taken.notes) == (2, ())
    postgres.run(
        f"INSERT INTO {other} VALUES (7, 'of the other', NULL)",
        f"INSERT INTO {table} VALUES (8, 'of this', NULL)",
        f"ALTER TABLE {other} ADD COLUMN more int",
        f"UPDATE {other} SET more = 1",
        f"TRUNCATE {other}",
        f"DROP TABLE {other}",
    )
    after, changes = polled(stream, taken.position)
    assert changes == [("+I", 8, "of this")]
    assert after.notes == []
    stream.close()
    # Another run takes over the slot, and is the one that removes it.
    second = published.stream("n", tmp_path, "second")
    assert "belonged to another run" in polled(second)[0].notes[0]
    with pytest.raises(SourceError, match="another run has taken over the replication slot"):
        published.stream("n", tmp_path, "run").poll(after.position, ALL, 0)
    second.close()
    slots = f"SELECT count(*) FROM pg_replication_slots WHERE slot_name = '{slot}'"
    for run, left in (("run", 1), ("second", 0)):
        assert published.let_go("n", tmp_path, run, None) == ()
        assert postgres.run(slots) == [(left,)]
    kept = postgres.run(
        "SELECT pubname, obj_description(oid, 'pg_publication') FROM pg_publication "
        f"WHERE pubname = '{slot}' OR pubname LIKE 'changelog_studio_%'"
    )
    assert kept == [(slot, "of the shop")]


def test_the_partitions_of_a_table_are_part_of_it(postgres: Server, table: str, tmp_path: Path) -> None:
    parted = f"parted_{table}"
    postgres.run(
        f"CREATE TABLE {parted} (id bigint, note text, at timestamptz) PARTITION BY RANGE (id)",
        f"CREATE TABLE {parted}_low PARTITION OF {parted} FOR VALUES FROM (0) TO (10)",
        f"CREATE TABLE {parted}_mid PARTITION OF {parted} FOR VALUES FROM (10) TO (20)",
        f"ALTER TABLE {parted} REPLICA IDENTITY FULL",
        f"CREATE PUBLICATION s_{parted} FOR TABLE {parted}, {table}",
    )
    stream = source(postgres, parted).stream("n", tmp_path, "run")
    taken, rows = polled(stream)
    assert rows == []
    postgres.run(
        f"INSERT INTO {parted} VALUES (1, 'low', NULL), (11, 'mid', NULL)",
        f"CREATE TABLE {parted}_high PARTITION OF {parted} FOR VALUES FROM (20) TO (30)",
        f"INSERT INTO {parted} VALUES (21, 'high', NULL)",
        f"INSERT INTO {table} VALUES (5, 'of the other', NULL)",
    )
    assert polled(stream, taken.position)[1] == [("+I", 1, "low"), ("+I", 11, "mid"), ("+I", 21, "high")]
    stream.close()


def test_a_table_that_becomes_a_partition_is_part_of_it_from_then_on(
    postgres: Server, table: str, tmp_path: Path
) -> None:
    parted, other = f"parted_{table}", f"other_{table}"
    postgres.run(
        f"CREATE TABLE {parted} (id bigint, note text, at timestamptz) PARTITION BY RANGE (id)",
        f"CREATE TABLE {parted}_low PARTITION OF {parted} FOR VALUES FROM (0) TO (10)",
        f"CREATE TABLE {other} (LIKE {parted})",
        f"CREATE PUBLICATION s_{parted} FOR ALL TABLES",
    )
    stream = source(postgres, parted, changelog_mode="upsert", primary_key=["id"]).stream("n", tmp_path, "run")
    taken, _ = polled(stream)
    postgres.run(f"INSERT INTO {other} VALUES (11, 'before', NULL)")
    taken, rows = polled(stream, taken.position)
    assert rows == []
    postgres.run(
        f"ALTER TABLE {parted} ATTACH PARTITION {other} FOR VALUES FROM (10) TO (20)",
        f"INSERT INTO {parted} VALUES (12, 'attached', NULL)",
    )
    taken, rows = polled(stream, taken.position)
    assert (rows, taken.notes) == ([("+I", 12, "attached")], [])
    # What was changed before it was detached comes, and nothing afterwards.
    postgres.run(
        f"INSERT INTO {parted} VALUES (13, 'the last', NULL)", f"ALTER TABLE {parted} DETACH PARTITION {other}"
    )
    taken, rows = polled(stream, taken.position)
    assert rows == [("+I", 13, "the last")]
    postgres.run(f"INSERT INTO {other} VALUES (14, 'after', NULL)", f"INSERT INTO {parted} VALUES (1, 'low', NULL)")
    assert polled(stream, taken.position)[1] == [("+I", 1, "low")]
    stream.close()


def test_a_partition_that_is_detached_counts_until_its_changes_are_read(
    postgres: Server, table: str, tmp_path: Path
) -> None:
    parted = f"parted_{table}"
    postgres.run(
        f"CREATE TABLE {parted} (id bigint, note text, at timestamptz) PARTITION BY RANGE (id)",
        f"CREATE TABLE {parted}_low PARTITION OF {parted} FOR VALUES FROM (0) TO (10)",
        f"CREATE PUBLICATION s_{parted} FOR ALL TABLES",
    )
    stream = source(postgres, parted, changelog_mode="upsert", primary_key=["id"]).stream("n", tmp_path, "run")
    taken, _ = polled(stream)
    postgres.run(
        *(f"INSERT INTO {parted} VALUES ({at}, 'more', NULL)" for at in range(4)),
        f"ALTER TABLE {parted} DETACH PARTITION {parted}_low",
    )
    changes = []
    while (taken := stream.poll(taken.position, Limit(1, 1 << 20), 0)).what is not None:
        changes += [row[1] for row in records(stream.read(taken.what))]
    assert changes == [0, 1, 2, 3]
    stream.close()


@pytest.mark.parametrize("published", ["FOR ALL TABLES", ""])
def test_a_table_that_is_created_again_goes_on_if_it_is_published(
    stream: PostgresStream, postgres: Server, table: str, published: str
) -> None:
    if published:
        postgres.run(f"CREATE PUBLICATION s_{table} {published}")
    taken, _ = polled(stream)
    postgres.run(
        f"INSERT INTO {table} VALUES (4, 'the last', NULL)",
        f"DROP TABLE {table}",
        f"CREATE TABLE {table} (id bigint PRIMARY KEY, note text, at timestamptz)",
        f"INSERT INTO {table} VALUES (5, 'new', NULL)",
    )
    taken, rows = polled(stream, taken.position)
    if published:
        assert (rows, taken.notes) == ([("+I", 4, "the last"), ("+I", 5, "new")], [])
    else:
        assert rows == [("+I", 4, "the last")]
        assert taken.notes[0].startswith(f"The publication s_{table} lacks public.{table}, or a part of it")
        assert polled(stream, taken.position)[0].notes == []


def test_a_transaction_after_the_snapshot_is_not_skipped_for_its_number_which_comes_back(
    stream: PostgresStream, postgres: Server, table: str
) -> None:
    taken, _ = polled(stream)
    # After 2^31 transactions, the numbers of new ones look older than the snapshot.
    limit, opened = taken.position["seen"]
    wrapped = {**taken.position, "seen": [(limit + (1 << 31) - 5) % (1 << 32), opened]}
    old = {name: value for name, value in wrapped.items() if name != "until"}
    # The position of an earlier version learns where its snapshot is certain to have ended.
    old = stream.poll(old, ALL, 0).position
    postgres.run(f"INSERT INTO {table} VALUES (9, 'much later', NULL)")
    assert polled(stream, wrapped)[1] == [("+I", 9, "much later")]
    assert polled(stream, old)[1] == [("+I", 9, "much later")]


def test_a_long_log_comes_in_pieces(
    stream: PostgresStream, postgres: Server, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.reading.postgres.stream._KEPT_ROWS", 3)
    monkeypatch.setattr("engine.reading.postgres.client._ROWS", 2)
    taken, _ = polled(stream)
    postgres.run(*(f"INSERT INTO {table} VALUES ({at}, 'more', NULL)" for at in range(10, 17)))
    after, changes = polled(stream, taken.position, ending=True)
    assert [row[1] for row in changes] == list(range(10, 17))
    assert len(after.what) == 3


def test_a_large_transaction_is_stored_in_pieces_and_only_taken_if_it_is_needed(
    postgres: Server, table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.reading.postgres.stream._KEPT_ROWS", 3)
    stream = source(postgres, table).stream("n", tmp_path, "run")
    # In the log and in the snapshot.
    database = Database(stream.address, "n")
    database.prepare(stream.slot, "")
    database.close()
    large = f"INSERT INTO {table} SELECT n, 'more', NULL FROM generate_series({{}}, {{}}) AS n"
    postgres.run(large.format(10, 19))
    taken, rows = polled(stream)
    assert len(rows) == 12
    postgres.run(f"INSERT INTO {table} VALUES (20, 'one', NULL)", large.format(21, 30))
    after, changes = polled(stream, taken.position)
    assert [row[1] for row in changes] == list(range(20, 31))
    assert len(after.what) == 5
    stream.close()
    # Nothing of it was acknowledged, and nothing comes twice.
    again = source(postgres, table).stream("n", tmp_path, "run")
    assert polled(again, taken.position)[1] == changes
    postgres.run(f"INSERT INTO {table} VALUES (31, 'last', NULL)")
    assert [row[1] for row in polled(again, after.position)[1]] == [31]
    again.close()


def test_a_run_that_is_stopped_does_not_wait_for_a_large_table(
    stream: PostgresStream, postgres: Server, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.reading.postgres.client._ROWS", 10)
    postgres.run(f"INSERT INTO {table} SELECT n, 'more', NULL FROM generate_series(10, 99) AS n")
    answers = iter([False, False, True])
    taken, rows = polled(stream, is_stopping=lambda: next(answers))
    assert (taken.position, rows) == (None, [])
    # The run that continues reads the table from its start.
    taken, rows = polled(stream)
    assert (len(rows), taken.notes) == (92, ())


def test_changes_whose_connection_breaks_on_the_way_come_once(
    stream: PostgresStream, postgres: Server, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.reading.postgres.stream._AGAIN_S", 0.0)
    monkeypatch.setattr("engine.reading.postgres.client._ROWS", 4)
    taken, _ = polled(stream)
    postgres.run(*(f"INSERT INTO {table} VALUES ({at}, 'more', NULL)" for at in range(10, 17)))
    decode, message = pgoutput.Decoder.decode, count(1)

    def breaks_at_the_eighth(decoder: pgoutput.Decoder, data: bytes) -> pgoutput.Message | None:
        if next(message) == 8:
            postgres.run(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'changelog-studio'"
            )
        return decode(decoder, data)

    with monkeypatch.context() as patched:
        patched.setattr(pgoutput.Decoder, "decode", breaks_at_the_eighth)
        waiting, changes = polled(stream, taken.position)
    assert changes == []
    assert waiting.notes[0].endswith("The run waits, and continues once it answers.")
    assert [row[1] for row in polled(stream, waiting.position)[1]] == list(range(10, 17))
