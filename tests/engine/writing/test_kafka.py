"""Topics of Kafka that a live run writes: an epoch is a transaction, and of two processes one fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.contract.target import SinkMode, Unreachable, Writing
from engine.errors import PipelineError, StudioError, TargetError
from engine.model.schema import Column, Schema
from engine.model.type_texts import flink_type
from engine.reading.kafka.fields import Property
from engine.writing.allowed import TARGETS
from engine.writing.kafka import KafkaWriter, Topic, messages_of
from engine.writing.kafka_producer import EPOCHS
from engine.writing.targets import KafkaTopic
from tests.engine.sources.kafka_cluster import broker
from tests.engine.writing.epochs import epoch, writing
from tests.live.written import messages
from tests.serving import free_port

CHANGELOG, UPSERT, APPEND = SinkMode.CHANGELOG, SinkMode.UPSERT, SinkMode.APPEND
RECORDS = ("+I a 1", "-U a 1", "+U a 2", "-D a 2")


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with broker("events") as running:
        yield running.servers


def writer(servers: str, mode: SinkMode, topic: str, node: str = "out", run: str = "run") -> KafkaWriter:
    return KafkaWriter(writing(Path(), mode, run, node), Topic(servers, topic, {}))


@pytest.mark.parametrize(
    ("mode", "records", "wanted"),
    [
        (APPEND, RECORDS[:1], [(None, b'{"k":"a","v":1}')]),
        (
            CHANGELOG,
            RECORDS,
            [
                (None, b'{"before":null,"after":{"k":"a","v":1},"op":"c"}'),
                (None, b'{"before":{"k":"a","v":1},"after":null,"op":"d"}'),
                (None, b'{"before":null,"after":{"k":"a","v":2},"op":"c"}'),
                (None, b'{"before":{"k":"a","v":2},"after":null,"op":"d"}'),
            ],
        ),
        (
            UPSERT,
            RECORDS,
            [
                (b'{"k":"a"}', b'{"k":"a","v":1}'),
                (b'{"k":"a"}', None),
                (b'{"k":"a"}', b'{"k":"a","v":2}'),
                (b'{"k":"a"}', None),
            ],
        ),
        (UPSERT, ("+I NULL NULL",), [(b'{"k":null}', b'{"k":null,"v":null}')]),
    ],
)
def test_records_are_the_messages_that_flink_writes(
    mode: SinkMode, records: Sequence[str], wanted: list[tuple[bytes | None, bytes | None]]
) -> None:
    assert messages_of(epoch(1, *records), writing(Path(), mode)) == wanted


def test_an_epoch_is_there_with_its_number(servers: str) -> None:
    made = writer(servers, CHANGELOG, "log", run="numbers")
    assert made.last() is None
    made.write(0, epoch(1, "+I a 1"))
    made.write(4, epoch(2, "-D a 1", "+I b 2"))
    made.close()
    assert [json.loads(value or b"")["op"] for _, value in messages(servers, "log")] == ["c", "d", "c"]
    assert [value for key, value in messages(servers, EPOCHS) if key == b"numbers.out"] == [b"0", b"4"]
    again = writer(servers, CHANGELOG, "log", run="numbers")
    assert again.last() == 4
    assert writer(servers, CHANGELOG, "log", run="numbers", node="other").last() is None


def test_an_epoch_whose_commit_was_not_heard_of_is_not_written_again(servers: str) -> None:
    made = writer(servers, APPEND, "heard")
    made.last()
    made.write(0, epoch(1, "+I a 1"))
    # As after an error.
    made.close()
    made.write(0, epoch(1, "+I a 1"))
    made.write(1, epoch(2, "+I b 1"))
    assert len(messages(servers, "heard")) == 2


@pytest.mark.parametrize("records", [1, 200_000])
def test_of_two_processes_that_write_a_run_the_first_is_fenced(servers: str, records: int) -> None:
    """Its client hears of it when the transaction ends, or while it still takes messages."""
    topic = f"fenced{records}"
    first = writer(servers, UPSERT, topic, run=topic)
    first.last()
    first.write(0, epoch(1, "+I a 1"))
    second = writer(servers, UPSERT, topic, run=topic)
    assert second.last() == 0
    with pytest.raises(TargetError, match="another process writes this run, too. End one of them"):
        first.write(1, epoch(2, *["+U a 9"] * records))
    second.write(1, epoch(2, "+U a 2"))
    assert dict(messages(servers, topic)) == {b'{"k":"a"}': b'{"k":"a","v":2}'}


@given(
    changes=st.lists(
        st.tuples(st.sampled_from(["+I", "-U", "+U", "-D"]), st.sampled_from("abc"), st.integers(0, 9)), max_size=12
    ),
    cut=st.integers(0, 12),
)
def test_the_last_message_of_each_key_is_the_table(changes: list[tuple[str, str, int]], cut: int) -> None:
    records = [f"{kind} {key} {value}" for kind, key, value in changes]
    parts = [epoch(1, *part) for part in (records[:cut], records[cut:]) if part]
    last = dict(each for part in parts for each in messages_of(part, writing(Path(), UPSERT)))
    table = {key: value for kind, key, value in changes}
    gone = {key for key in table if [kind for kind, other, _ in changes if other == key][-1] in ("-U", "-D")}
    assert {json.loads(key or b"")["k"]: value and json.loads(value)["v"] for key, value in last.items()} == {
        key: None if key in gone else value for key, value in table.items()
    }


def test_brokers_that_do_not_answer_may_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.writing.kafka_producer.ANSWER_S", 1)
    with pytest.raises(Unreachable, match="Kafka at 127.0.0.1"):
        writer(f"127.0.0.1:{free_port()}", APPEND, "out").last()


@pytest.mark.parametrize(
    ("given_", "sentence"),
    [
        ({"servers": ""}, "servers: there is no address of a broker"),
        ({"topic": ""}, "topic: there is none. Give its name."),
        ({"topic": "a b"}, "topic: 'a b' is none: it has up to 249 letters"),
        ({"properties": (Property(name="sasl.password", value="hush"),)}, "holds a secret"),
        ({"properties": (Property(name="plugin.library.paths", value="x"),)}, "would load a library"),
        ({"servers": "one.example.com:9092,:9092"}, "servers: '' is not a host name"),
        ({"servers": "kafka:x"}, "servers: 'kafka:x' has no port"),
        ({"servers": "elsewhere:9092"}, "elsewhere:9092 is none of the places"),
    ],
)
def test_what_cannot_be_is_told(given_: dict[str, object], sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", "/srv")
    monkeypatch.setenv(TARGETS, "*.example.com:9092")
    topic = KafkaTopic(**{"servers": "one.example.com:9092", "topic": "out", "properties": (), **given_})  # type: ignore[arg-type]
    with pytest.raises(StudioError, match=sentence):
        _check(topic, writing(Path(), UPSERT))


def _check(topic: KafkaTopic, wanted: Writing) -> None:
    topic.check(wanted)
    topic.require(wanted)


def test_a_map_whose_keys_are_no_texts_has_no_json() -> None:
    schema = Schema((Column("m", flink_type("MAP<INT, STRING>")),))
    wanted = Writing("out", "run", schema, APPEND, (), Path())
    with pytest.raises(PipelineError, match="m is MAP<INT, STRING>, which Flink's format json does not write. Cast it"):
        KafkaTopic("localhost:9092", "out", ()).check(wanted)
