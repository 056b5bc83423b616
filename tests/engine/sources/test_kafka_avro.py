"""Topics in Avro, with a registry of schemas: records, rejected messages, replays without it, and its errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from engine.contract.stream import Limit
from engine.errors import PipelineError, SourceError
from engine.reading.kafka.stream import KafkaStream
from engine.sources.kafka import Kafka
from engine.sources.upsert_kafka import UpsertKafka
from tests.engine.sources.kafka_cluster import Cluster, cluster
from tests.engine.sources.schema_registry import SchemaRegistry, encoded, framed, schema_registry
from tests.engine.sources.test_kafka import ALL, COLUMNS, bounded, records, take
from tests.serving import certified, free_port

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": ["null", "string"]}],
}
LATER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "price", "type": "double"},
        {"name": "note", "type": "string", "default": ""},
        {"name": "id", "type": "long"},
    ],
}


@pytest.fixture(scope="module")
def brokers() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def registry() -> Iterator[SchemaRegistry]:
    with schema_registry() as running:
        yield running


@pytest.fixture
def topic() -> str:
    return f"orders-{uuid4().hex[:6]}"


def source(brokers: Cluster, known: SchemaRegistry, topic: str, **parameters: Any) -> Kafka:
    given = {"servers": brokers.servers, "topic": topic, "columns": COLUMNS, "format": "avro-confluent"}
    return Kafka.model_validate({**given, "registry": known.url, **parameters})


def test_each_message_is_read_with_the_schema_that_it_names(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    first, second = registry.add(ORDER), registry.add(LATER)
    whole = registry.message(first, {"id": 3, "note": "abc"})
    other = registry.add("x", schemaType="PROTOBUF")
    brokers.send(topic, registry.message(first, {"id": 1, "note": None}), None)
    brokers.send(topic, registry.message(second, {"id": 1 << 40, "note": "b", "price": 1.5}))
    brokers.send(topic, b'{"id": 1}', whole[:-1], framed(99, "int", 1), b"\0\0", framed(other, "int", 1), b"")
    found, rejected = bounded(source(brokers, registry, topic), tmp_path)
    assert found == [(1, None), (1 << 40, "b")]
    assert [(offset, reason) for _, offset, _, reason in rejected] == [
        (
            3,
            "it begins with the byte 123, not with 0: it was not written with a registry. Its format may be avro, or "
            "json",
        ),
        (4, "it ends within its value"),
        (5, "the registry has no schema 99, which the message names"),
        (6, "it has 2 bytes; one of a registry has at least 5, with the number of its schema"),
        (7, "schema 3 of the registry is one of PROTOBUF, not of Avro"),
        (8, "it has 0 bytes; one of a registry has at least 5, with the number of its schema"),
    ]
    assert rejected[1][:3] == (f"{topic}, partition 0", 4, whole[:-1].hex(" "))
    # Each number is asked for once.
    assert sorted(registry.asked) == [f"/schemas/ids/{number}" for number in (1, 2, 3, 99)]


def test_kept_messages_are_read_when_the_registry_is_gone(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    with schema_registry() as registry:
        brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
        kafka = source(brokers, registry, topic)
        scan = kafka.scan("n", tmp_path)
        stream = kafka.stream("n", tmp_path, "run")
        taken, _ = take(stream)
        stream.close()
    assert records(scan) == records(kafka.stream("n", tmp_path, "run").read(taken.what)) == [(1, "a")]


def test_a_live_run_waits_for_the_registry_and_loses_nothing(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    number = registry.add(ORDER)
    brokers.send(topic, registry.message(number, {"id": 1, "note": "a"}))
    registry.answer = lambda path: (503, b"")
    stream = source(brokers, registry, topic).stream("n", tmp_path, "run")
    while not (waiting := stream.poll(None, ALL, 0)).notes:
        pass
    assert waiting.what is None
    assert waiting.position is None
    host = registry.url.removeprefix("http://")
    assert waiting.notes == [
        f"registry: the schema registry at {host} does not answer: 503 Service Unavailable. Try again. The run waits "
        "for it."
    ]
    registry.answer = None
    taken, found = take(stream, waiting.position)
    assert found == [(1, "a")]
    brokers.send(topic, registry.message(number, {"id": 2, "note": "b"}))
    assert take(stream, taken.position)[1] == [(2, "b")]
    stream.close()
    assert isinstance(stream, KafkaStream)


def test_a_source_that_ends_while_the_registry_is_gone_says_so(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
    registry.answer = lambda path: (503, b"")
    stream = source(brokers, registry, topic).stream("n", tmp_path, "run")
    with pytest.raises(SourceError, match="does not answer: 503"):
        stream.poll(None, Limit(10, 1000), 0, ending=True)
    stream.close()


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((401, b"{}"), "refuses to answer (401 Unauthorized). Give a name and password that it knows as"),
        ((404, b"<html>"), "answers 404 Not Found, as no schema registry does. Correct its address."),
        ((302, b""), "answers 302 Found, as no schema registry does. Correct its address."),
        ((200, b"hello"), "answers something else than JSON, as no schema registry does. Correct its address."),
        ((200, b"[" * 100_000), "answers something else than JSON, as no schema registry does."),
        ((200, b" " * (5 << 20)), "answers something else than JSON, as no schema registry does."),
        ((500, b"{}"), "does not answer: 500 Internal Server Error. Try again."),
    ],
)
def test_what_a_registry_may_answer_instead_is_one_sentence(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path, answer: tuple[int, bytes], said: str
) -> None:
    brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
    registry.answer = lambda path: answer
    with pytest.raises(SourceError) as caught:
        bounded(source(brokers, registry, topic), tmp_path)
    assert caught.value.sentence.startswith("registry: the schema registry")
    assert said in caught.value.sentence
    assert (caught.value.node, caught.value.field) == ("n", "registry")


def test_a_registry_that_nobody_runs_is_one_sentence(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    port = free_port()
    brokers.send(topic, framed(1, ORDER, {"id": 1, "note": "a"}))
    with pytest.raises(SourceError) as caught:
        bounded(source(brokers, registry, topic, registry=f"http://127.0.0.1:{port}"), tmp_path)
    assert caught.value.sentence == (
        f"registry: the schema registry at 127.0.0.1:{port} does not answer: Connection refused. Start it, or correct "
        "its address."
    )
    # A second address is asked if the first one does not answer.
    registry.add(ORDER)
    both = source(brokers, registry, topic, registry=f"http://127.0.0.1:{port}, {registry.url}")
    assert bounded(both, tmp_path)[0] == [(1, "a")]


def test_a_name_and_password_are_sent_from_an_environment_variable(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.user_info = "reader:geheim"
    brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
    given = [{"name": "basic-auth.user-info", "value": "${env:REGISTRY_USER}"}]
    kafka = source(brokers, registry, topic, registry_options=given)
    assert kafka.variables == ("REGISTRY_USER",)
    with pytest.raises(SourceError, match="names the environment variable REGISTRY_USER, which is not set"):
        bounded(kafka, tmp_path)
    monkeypatch.setenv("REGISTRY_USER", "reader:geheim")
    assert bounded(kafka, tmp_path)[0] == [(1, "a")]


def test_a_registry_with_an_authority_of_its_own_is_asked_over_tls(
    brokers: Cluster, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = certified(tmp_path)
    monkeypatch.setenv("REGISTRY_USER", "reader:geheim")
    with schema_registry(key, certificate) as registry:
        registry.user_info = "reader:geheim"
        brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
        user = {"name": "basic-auth.user-info", "value": "${env:REGISTRY_USER}"}
        with pytest.raises(SourceError, match=r"has no valid certificate .*Name its authority's in ssl.truststore"):
            bounded(source(brokers, registry, topic, registry_options=[user]), tmp_path)
        given = [user, {"name": "ssl.truststore.location", "value": str(certificate)}]
        assert bounded(source(brokers, registry, topic, registry_options=given), tmp_path)[0] == [(1, "a")]
        broken = [{"name": "ssl.truststore.location", "value": str(tmp_path / "none.pem")}]
        with pytest.raises(SourceError, match="its certificates cannot be read"):
            bounded(source(brokers, registry, topic, registry_options=broken), tmp_path)


def test_a_registry_that_asks_for_a_certificate_gets_the_own_one(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    key, certificate = certified(tmp_path)
    own = tmp_path / "own.pem"
    own.write_text(key.read_text() + certificate.read_text())
    with schema_registry(key, certificate, trusts=certificate) as registry:
        brokers.send(topic, registry.message(registry.add(ORDER), {"id": 1, "note": "a"}))
        trusted = {"name": "ssl.truststore.location", "value": str(certificate)}
        with pytest.raises(SourceError):
            bounded(source(brokers, registry, topic, registry_options=[trusted]), tmp_path)
        given = [trusted, {"name": "ssl.keystore.location", "value": str(own)}]
        assert bounded(source(brokers, registry, topic, registry_options=given), tmp_path)[0] == [(1, "a")]


def test_schemas_that_a_schema_refers_to_are_asked_for(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    note = {"type": "record", "name": "Note", "fields": [{"name": "text", "type": "string"}]}
    order = {"type": "record", "name": "O", "fields": [{"name": "id", "type": "int"}, {"name": "n", "type": "Note"}]}
    registry.add(note, 5)
    registry.subjects["/subjects/a%2Fnotes/versions/2"] = registry.schemas.pop(5)
    number = registry.add(order, 6, references=[{"name": "Note", "subject": "a/notes", "version": 2}])
    whole = {**order, "fields": [order["fields"][0], {"name": "n", "type": note}]}  # type: ignore[index]
    brokers.send(topic, framed(number, whole, {"id": 1, "n": {"text": "hi"}}))
    columns = [{"name": "id", "type": "bigint"}, {"name": "n", "type": "ROW<text STRING>"}]
    assert bounded(source(brokers, registry, topic, columns=columns), tmp_path)[0] == [(1, {"text": "hi"})]


def test_changes_of_debezium(brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path) -> None:
    envelope = {
        "type": "record",
        "name": "Envelope",
        "fields": [
            {"name": "before", "type": ["null", ORDER], "default": None},
            {"name": "after", "type": ["null", "shop.Order"], "default": None},
            {"name": "source", "type": {"type": "record", "name": "S", "fields": [{"name": "db", "type": "string"}]}},
            {"name": "op", "type": "string"},
            {"name": "ts_ms", "type": ["null", "long"]},
        ],
    }
    number = registry.add(envelope)
    old, new = {"id": 1, "note": "a"}, {"id": 1, "note": "b"}

    def change(op: str, before: Any, after: Any) -> bytes:
        value = {"before": before, "after": after, "source": {"db": "d"}, "op": op, "ts_ms": 5}
        return registry.message(number, value)

    brokers.send(topic, change("r", None, old), change("u", old, new), change("d", new, None), None)
    brokers.send(topic, change("u", None, new), change("x", None, new))
    changes = source(brokers, registry, topic, format="debezium-avro-confluent")
    found, rejected = bounded(changes, tmp_path)
    assert found == [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b")]
    assert [reason for *_, reason in rejected] == [
        'the update has no "before"; in PostgreSQL set REPLICA IDENTITY FULL for the table, so that Debezium sees the '
        "old row",
        '"op" is "x", not c, r, u or d',
    ]
    there = changes.columns_there("n", tmp_path).columns
    assert [(column.name, column.type) for column in there] == [("id", "INT"), ("note", "STRING")]


def test_avro_alone_is_written_with_the_schema_of_the_table(
    brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path
) -> None:
    fields = [{"name": "id", "type": "long"}, {"name": "note", "type": ["null", "string"]}]
    own = {"type": "record", "name": "record", "fields": fields}
    brokers.send(topic, encoded(own, {"id": 7, "note": "a"}), encoded(own, {"id": 8, "note": None}), b"\x01")
    found, rejected = bounded(source(brokers, registry, topic, format="avro", not_null=["id"]), tmp_path)
    assert found == [(7, "a"), (8, None)]
    assert [reason for *_, reason in rejected] == ["it ends within its value"]
    assert registry.asked == []


def test_upserts_have_keys_in_avro(brokers: Cluster, registry: SchemaRegistry, topic: str, tmp_path: Path) -> None:
    key = {"type": "record", "name": "K", "fields": [{"name": "id", "type": "long"}]}
    of_keys, of_values = registry.add(key), registry.add(ORDER)

    def send(number: int, note: str | None) -> None:
        value = None if note is None else registry.message(of_values, {"id": number, "note": note})
        brokers.send(topic, value, key=registry.message(of_keys, {"id": number}))

    send(1, "a")
    send(2, "b")
    send(1, None)
    brokers.send(topic, registry.message(of_values, {"id": 5, "note": ""}), key=b"5")
    upserts = UpsertKafka.model_validate(
        {
            "servers": brokers.servers,
            "topic": topic,
            "columns": COLUMNS,
            "format": "avro-confluent",
            "key_format": "avro-confluent",
            "primary_key": ["id"],
            "registry": registry.url,
            "end": "latest-offset",
        }
    )
    scan = upserts.scan("n", tmp_path)
    assert records(scan) == [("+I", 1, "a"), ("+I", 2, "b"), ("-D", 1, None)]
    rejected = [row for given in scan.parts for part in scan.read(given) for row in part.rejected]
    assert [row.reason for row in rejected] == [
        "the key: it has 1 bytes; one of a registry has at least 5, with the number of its schema"
    ]


@pytest.mark.parametrize(
    ("parameters", "field", "said"),
    [
        ({"registry": ""}, "registry", "there is no address of the schema registry"),
        ({"registry": "ftp://localhost"}, "registry", "is not an address such as http://localhost:8081"),
        ({"registry": "http://localhost:8081?x=1"}, "registry", "is not an address such as"),
        ({"registry": "http://u:p@localhost"}, "registry", "Give them as the option basic-auth.user-info"),
        (
            {"registry_options": [{"name": "basic-auth.user-info", "value": "u:p"}]},
            "registry_options",
            "basic-auth.user-info holds a secret",
        ),
        (
            {"registry_options": [{"name": "ssl.truststore.locatoin", "value": "x"}]},
            "registry_options",
            "unknown option",
        ),
        (
            {"registry_options": [{"name": "ssl.truststore.location", "value": "x.jks"}]},
            "registry_options",
            "x.jks is a keystore of Java; certificates are read as PEM",
        ),
        (
            {"registry_options": [{"name": "bearer-auth.credentials-source", "value": "OAUTHBEARER"}]},
            "registry_options",
            "only STATIC_TOKEN is supported",
        ),
        ({"registry_options": [{"name": "schema", "value": "{"}]}, "registry_options", "the schema is not JSON."),
        ({"not_null": ["nothing"]}, "not_null", "unknown column 'nothing'"),
        ({"columns": [{"name": "at", "type": "TIMESTAMP_LTZ(3)"}]}, "format", "which Flink reads from Avro only with"),
    ],
)
def test_what_cannot_be_used_is_told_when_the_pipeline_is_planned(
    brokers: Cluster, registry: SchemaRegistry, parameters: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(PipelineError) as caught:
        source(brokers, registry, "t", **parameters).derive("n", Path())
    assert caught.value.field == field
    assert said in caught.value.sentence
    assert registry.asked == []


def test_a_shared_studio_asks_only_registries_that_it_lists(
    brokers: Cluster, registry: SchemaRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    kafka = source(brokers, registry, "t")
    assert registry.url in kafka.server
    monkeypatch.setenv("CHANGELOG_STUDIO_ADDRESSES", brokers.servers)
    with pytest.raises(PipelineError, match="is none of the servers that this studio connects to"):
        kafka.derive("n", Path())
    monkeypatch.setenv("CHANGELOG_STUDIO_ADDRESSES", f"{brokers.servers}, {registry.url.removeprefix('http://')}")
    kafka.derive("n", Path())
    monkeypatch.delenv("CHANGELOG_STUDIO_ADDRESSES")
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", "/data")
    with pytest.raises(PipelineError, match="is none of the servers that this studio connects to"):
        kafka.derive("n", Path())
