"""Kafka topics: the records of bounded and live runs, their order, and errors."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from engine.contract.frames import KIND
from engine.contract.scan import Scan
from engine.contract.stream import Json, Limit, Taken
from engine.errors import PipelineError, SourceError, StudioError
from engine.model.changelog import SYMBOLS
from engine.reading.apart import Foreign
from engine.reading.apart.talking import Apart
from engine.reading.kafka.client import check_options, client_of
from engine.reading.kafka.client_options import OPTIONS, Option, check_settings
from engine.reading.kafka.consumer import Consumer
from engine.reading.kafka.stream import KafkaStream
from engine.reading.servers.kept_messages import forget
from engine.sources.kafka import Kafka
from tests.engine.sources.kafka_cluster import Cluster, cluster, cluster_elsewhere

ALL = Limit(1000, 1 << 20)
COLUMNS = ({"name": "id", "type": "bigint"}, {"name": "note", "type": "string"})


@pytest.fixture(scope="module")
def brokers() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


@pytest.fixture
def topic() -> str:
    return f"orders-{uuid4().hex[:6]}"


def source(brokers: Cluster, topic: str, **parameters: Any) -> Kafka:
    return Kafka.model_validate({"servers": brokers.servers, "topic": topic, "columns": COLUMNS, **parameters})


def records(scan: Scan) -> list[tuple[Any, ...]]:
    """The records of a scan, with their kinds if there are any."""
    found = []
    for part in (each for given in scan.parts for each in scan.read(given)):
        for row in part.records.to_pylist():
            kind = (SYMBOLS[row.pop(KIND)],) if KIND in row else ()
            found.append((*kind, *row.values()))
    return found


def bounded(kafka: Kafka, folder: Path) -> tuple[list[Any], list[Any]]:
    """The records and the rejected messages of a bounded run."""
    scan = kafka.scan("n", folder)
    rejected = [tuple(row) for given in scan.parts for part in scan.read(given) for row in part.rejected]
    return records(scan), rejected


def take(stream: KafkaStream, position: Json = None, limit: Limit = ALL, wanted: int = 1) -> tuple[Taken, list[Any]]:
    """Poll like a live run until there are enough records. Returns the last poll and all records."""
    found: list[Any] = []
    for _ in range(200):
        taken = stream.poll(position, limit, 0)
        position = taken.position
        if taken.what is not None:
            found += records(stream.read(taken.what))
        if len(found) >= wanted:
            return taken, found
    raise AssertionError(found)


def test_a_bounded_run_reads_partitions_in_the_order_of_their_timestamps(
    brokers: Cluster, topic: str, tmp_path: Path
) -> None:
    for at in range(12):
        brokers.send(topic, {"id": at, "note": "x\ny"}, partition=at % 3, ms=1000 + at)
    # Within a partition the order is that of the offsets, whatever the timestamps.
    brokers.send(topic, {"id": 99}, partition=1, ms=5)
    brokers.send(topic, {"id": 12}, partition=0, ms=1020)
    found, _ = bounded(source(brokers, topic), tmp_path)
    assert found == [*((at, "x\ny") for at in range(11)), (99, None), (11, "x\ny"), (12, None)]
    head, _ = bounded(source(brokers, topic).head(3, "n", tmp_path, tmp_path), tmp_path)
    assert head == [(at, "x\ny") for at in range(3)]
    assert source(brokers, topic).rows_about("n", tmp_path) == 14


def test_messages_that_cannot_be_read_are_rejected_with_their_offset(
    brokers: Cluster, topic: str, tmp_path: Path
) -> None:
    brokers.send(topic, {"id": 1}, "{", None, b"\xff", '{"id":\n 2, "note": "a"}', {"id": "x"}, "", {"id": 3})
    found, rejected = bounded(source(brokers, topic), tmp_path)
    assert found == [(1, None), (2, "a"), (3, None)]
    place = f"{topic}, partition 0"
    assert rejected == [
        (place, 1, "{", "the message is broken JSON"),
        (place, 3, "\ufffd", "the message is not UTF-8; save the file as UTF-8"),
        (place, 5, '{"id": "x"}', "column 'id': \"x\" is not a BIGINT"),
        (place, 6, "", "the value of the message is empty"),
    ]


def test_the_first_messages_have_the_columns(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    brokers.send(topic, {"id": 1, "at": "2024-05-01 10:00:00"}, None, "{", {"id": 2.5, "more": True, "by": {"a": 1}})
    found = source(brokers, topic, columns=[]).columns_there("n", tmp_path)
    assert [(column.name, column.type) for column in found.columns] == [
        ("id", "DOUBLE"),
        ("at", "TIMESTAMP(3)"),
        ("more", "BOOLEAN"),
        ("by", "ROW<`a` BIGINT>"),
    ]
    with pytest.raises(SourceError, match="messages in csv do not name them"):
        source(brokers, topic, format="csv").columns_there("n", tmp_path)
    changes = source(brokers, topic, format="debezium-json")
    with pytest.raises(SourceError, match="have none. Type their names"):
        changes.columns_there("n", tmp_path)


def test_csv_keys_and_metadata_are_columns(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    brokers.send(topic, "1;a", "2", "3;b\n4;c", key='{"k": "u"}', ms=1_700_000_000_000)
    brokers.send(topic, "5;d", key="[", ms=1_700_000_000_000)
    columns = ({"name": "the_k", "type": "string"}, *COLUMNS)
    csv = source(
        brokers,
        topic,
        format="csv",
        separator=";",
        columns=columns,
        key_format="json",
        key_columns=["the_k"],
        key_prefix="the_",
        value_has_key=False,
        metadata=[
            {"name": "at", "of": "timestamp"},
            {"name": "place", "of": "offset"},
            {"name": "by", "of": "timestamp-type"},
        ],
        event_time="at",
    )
    [(key, number, note, at, offset, by)], rejected = bounded(csv, tmp_path)
    assert (key, number, note, offset, by) == ("u", 1, "a", 0, "CreateTime")
    assert at.timestamp() == 1_700_000_000
    assert [(row[1], row[3]) for row in rejected] == [
        (1, "1 field for 2 columns"),
        (2, "the value of the message has a line break; a message is one row"),
        (3, "the key: the message is not a JSON object"),
    ]


def test_a_raw_key_and_value_are_their_bytes(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    brokers.send(topic, "a\nb\r", "\u00e9".encode("latin-1"), None, key=b"\1\0")
    brokers.send(topic, "c", key=b"\1")
    columns = ({"name": "k", "type": "smallint"}, {"name": "v", "type": "string"})
    raw = source(
        *(brokers, topic),
        format="raw",
        columns=columns,
        key_format="raw",
        key_columns=["k"],
        value_has_key=False,
        raw_charset="ISO-8859-1",
        raw_endianness="little-endian",
    )
    found, rejected = bounded(raw, tmp_path)
    assert found == [(1, "a\nb\r"), (1, "\u00e9")]
    assert [row[1:] for row in rejected] == [(3, "01", "the key: it has 1 byte, but SMALLINT has 2 bytes")]


def test_debezium_messages_are_changes_all_of_them_or_none(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    old, new = {"id": 1, "note": "a"}, {"id": 1, "note": "b"}
    brokers.send(topic, {"op": "c", "after": old}, {"op": "u", "before": old, "after": new}, None)
    brokers.send(topic, {"op": "u", "before": {"id": "x"}, "after": new}, {"op": "d", "before": new})
    found, rejected = bounded(source(brokers, topic, format="debezium-json"), tmp_path)
    assert found == [("+I", 1, "a"), ("-U", 1, "a"), ("+U", 1, "b"), ("-D", 1, "b")]
    assert [row[1] for row in rejected] == [3]


def test_a_run_begins_and_ends_where_it_is_told(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    brokers.send(topic, *({"id": at} for at in range(6)))

    def ids(**parameters: Any) -> list[int]:
        return [row[0] for row in bounded(source(brokers, topic, **parameters), tmp_path)[0]]

    assert ids(start="specific-offsets", start_at="partition:0,offset:4") == [4, 5]
    assert ids(end="specific-offsets", end_at="partition:0,offset:2") == [0, 1]
    assert ids(start="latest-offset") == []
    group = [{"name": "group.id", "value": "g"}]
    with pytest.raises(SourceError, match="the group g has committed no offset of .*, partition 0. Begin elsewhere"):
        ids(start="group-offsets", properties=group)
    assert ids(start="group-offsets", properties=[*group, {"name": "auto.offset.reset", "value": "earliest"}])


def test_a_live_run_goes_on_and_what_it_took_can_be_read_again(brokers: Cluster, topic: str, tmp_path: Path) -> None:
    brokers.send(topic, {"id": 0}, {"id": 1}, {"id": 2})
    stream = source(brokers, topic).stream("n", tmp_path, "run")
    taken, found = take(stream, limit=Limit(2, 1 << 20), wanted=2)
    assert found == [(0, None), (1, None)]
    assert taken.behind == "1 messages"
    stream.close()
    # Another process: messages that were received but not taken are read again.
    again = source(brokers, topic).stream("n", tmp_path, "run")
    brokers.send(topic, {"id": 3})
    after, found = take(again, taken.position, wanted=2)
    assert found == [(2, None), (3, None)]
    assert records(source(brokers, topic).stream("n", tmp_path, "run").read(taken.what)) == [(0, None), (1, None)]
    brokers.send(topic, {"id": 4}, partition=2)
    last = again.poll(after.position, ALL, 0, ending=True)
    assert records(again.read(last.what)) == [(4, None)]
    assert last.is_end
    again.close()
    source(brokers, topic).let_go("n", tmp_path, "run", last.position)
    assert not list((tmp_path / "received").iterdir())
    forget(tmp_path, "elsewhere")


def test_topics_that_match_a_pattern_are_read_and_so_are_those_that_come_later(
    brokers: Cluster, topic: str, tmp_path: Path
) -> None:
    like = source(brokers, "", topic_pattern=f"{topic}-[ab]", discovery_interval_ms=1)
    with pytest.raises(SourceError, match="no topic has a name like"):
        bounded(like, tmp_path)
    stream = like.stream("n", tmp_path, "run")
    assert stream.poll(None, ALL, 0).what is None
    for name, number in ((f"{topic}-a", 1), (f"{topic}-c", 3), (topic, 4)):
        brokers.send(name, {"id": number})
    taken, found = take(stream)
    assert found == [(1, None)]
    brokers.send(f"{topic}-b", {"id": 2})
    _, found = take(stream, taken.position)
    assert found == [(2, None)]
    stream.close()
    assert sorted(row[0] for row in bounded(like, tmp_path)[0]) == [1, 2]


def test_messages_that_expired_are_said_and_a_topic_that_was_made_anew_too(
    brokers: Cluster, topic: str, tmp_path: Path
) -> None:
    brokers.send(topic, {"id": 0})
    stream = source(brokers, topic).stream("n", tmp_path, "run")
    taken, _ = take(stream)
    stream.close()
    # A mocked partition stores five megabytes.
    brokers.send(topic, *("x" * 500_000 for _ in range(14)), {"id": 1})
    again = source(brokers, topic).stream("n", tmp_path, "run")
    after, found = take(again, taken.position)
    assert found == [(1, None)]
    again.close()
    notes = [note for note in _notes(source(brokers, topic), tmp_path, taken.position) if "expired" in note]
    assert notes
    assert notes[0].startswith(f"{topic}, partition 0: the messages 1 to ")
    assert "they are missing, and it goes on with" in notes[0]
    far = {**after.position, "logs": [[name, number, 1 << 40, 0, None] for name, number, *_ in after.position["logs"]]}
    assert any(
        "so the topic was recreated. It is read from its start" in note
        for note in _notes(source(brokers, topic), tmp_path, far)
    )


def _notes(kafka: Kafka, folder: Path, position: Json) -> list[str]:
    stream = kafka.stream("n", folder, "run")
    taken = stream.poll(position, ALL, 0)
    stream.close()
    return list(taken.notes)


def test_without_a_broker_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.reading.kafka.client.ANSWER_S", 1.0)
    nobody = Kafka.model_validate({"servers": "127.0.0.1:1", "topic": "t", "columns": COLUMNS})
    with pytest.raises(SourceError, match=r"^n: no broker at 127.0.0.1:1 answers: [^#()]*refused\. Check the address"):
        nobody.scan("n", tmp_path)


def test_brokers_that_are_gone_and_come_back_are_waited_for(topic: str, tmp_path: Path) -> None:
    with cluster_elsewhere() as (brokers, process):
        brokers.send(topic, {"id": 0})
        patience = [{"name": name, "value": "1000"} for name in ("request.timeout.ms", "reconnect.backoff.max.ms")]
        stream = source(brokers, topic, properties=patience).stream("n", tmp_path, "run")
        taken, _ = take(stream)
        process.send_signal(signal.SIGSTOP)
        for _ in range(600):
            taken = stream.poll(taken.position, ALL, 0)
            if taken.notes:
                break
        [note] = taken.notes
        assert note.startswith(f"no broker at {brokers.servers} answers: ")
        assert note.endswith(" The run waits, and continues once one does.")
        process.send_signal(signal.SIGCONT)
        brokers.send(topic, {"id": 1})
        taken, found = take(stream, taken.position)
        assert found == [(1, None)]
        assert not stream.poll(taken.position, ALL, 0).notes
        stream.close()


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("plugin.library.paths", "/tmp/evil.so", "plugin.library.paths would load a library"),
        ("ssl.engine.location", "/tmp/evil.so", "ssl.engine.location would load a library"),
        ("ssl.engine.id", "dynamic", "ssl.engine.id would load a library"),
        ("ssl.providers", "evil", "ssl.providers would load a library"),
        ("sasl.kerberos.kinit.cmd", "touch /tmp/x", "sasl.kerberos.kinit.cmd would load a library or run a command"),
        ("sasl.kerberos.principal", "a; touch /tmp/x", "sasl.kerberos.principal is passed to a command"),
        ("sasl.kerberos.keytab", "$(touch /tmp/x)", "sasl.kerberos.keytab is passed to a command"),
    ],
)
def test_no_option_loads_a_library_or_runs_a_command(name: str, value: str, sentence: str) -> None:
    with pytest.raises(PipelineError, match=sentence):
        check_options({name: value}, "n")
    with pytest.raises(PipelineError, match=sentence):
        client_of("localhost:1", {name: value}, "n")


LEADS_OUT = [
    *(
        (f"ssl.{what}.location", "/etc/shadow")
        for what in ("ca", "truststore", "certificate", "key", "keystore", "crl")
    ),
    ("https.ca.location", "/etc/shadow"),
    ("sasl.kerberos.keytab", "/etc/krb5.keytab"),
    ("sasl.oauthbearer.assertion.file", "/etc/shadow"),
    ("sasl.oauthbearer.assertion.private.key.file", "/srv/named/../../etc/shadow"),
    ("sasl.oauthbearer.assertion.jwt.template.file", "/etc/shadow"),
    ("sasl.oauthbearer.token.endpoint.url", "http://169.254.169.254/latest"),
    ("sasl.oauthbearer.metadata.authentication.type", "azure_imds"),
]


@pytest.mark.parametrize(("name", "value"), LEADS_OUT, ids=[name for name, _ in LEADS_OUT])
def test_where_folders_are_named_no_option_leads_out_of_them(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_options({name: value}, "n")
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", "/srv/named, https://tokens.example.org")
    monkeypatch.setenv("LEADS_OUT", value)
    monkeypatch.setenv("CHANGELOG_STUDIO_SECRETS", "LEADS_OUT")
    with pytest.raises(PipelineError, match=f"properties: {name} leads to none of the folders"):
        check_options({name: value}, "n")
    # The value of a variable is checked before it is passed to the client.
    renamed = name.replace("truststore", "ca")
    with pytest.raises(PipelineError, match=f"properties: {renamed} leads to none of the folders"):
        client_of("localhost:1", {name: "${env:LEADS_OUT}"}, "n")


def test_what_is_in_the_named_folders_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_FOLDERS", "/srv/named, https://tokens.example.org")
    check_options({"ssl.ca.location": "/srv/named/ca.pem", "https.ca.location": "probe"}, "n")
    check_options({"sasl.oauthbearer.token.endpoint.url": "https://tokens.example.org/token"}, "n")


def test_what_kerberos_needs_is_let_through() -> None:
    check_options({"sasl.kerberos.principal": "app/host@REALM.ORG", "sasl.kerberos.keytab": "/etc/app.keytab"}, "n")
    check_options({"sasl.kerberos.principal": "${env:PRINCIPAL}"}, "n")


def test_secrets_have_a_name_and_never_stand_in_a_message(
    brokers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def with_options(**options: str) -> Kafka:
        named = [{"name": name.replace("_", "."), "value": value} for name, value in options.items()]
        return source(brokers, "t", properties=named)

    with pytest.raises(PipelineError, match="sasl.password holds a secret") as error:
        with_options(sasl_password="hunter2").derive("n", tmp_path)
    assert "hunter2" not in str(error.value)
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";'
    with pytest.raises(PipelineError, match=r"private\.key\.passphrase holds a secret"):
        with_options(sasl_oauthbearer_assertion_private_key_passphrase="hunter2").derive("n", tmp_path)
    with pytest.raises(PipelineError, match=r"sasl.jaas.config holds a secret"):
        with_options(sasl_jaas_config=jaas).derive("n", tmp_path)
    with pytest.raises(PipelineError, match=r"sasl.jaas.config holds a secret"):
        with_options(sasl_jaas_config=jaas.replace('"hunter2"', "hunter2")).derive("n", tmp_path)
    named = with_options(sasl_jaas_config=jaas.replace("hunter2", "${env:KAFKA_PASSWORD}"))
    schema = named.derive("n", tmp_path).schema
    monkeypatch.delenv("KAFKA_PASSWORD", raising=False)
    with pytest.raises(SourceError, match="names the environment variable KAFKA_PASSWORD, which is not set"):
        named.scan("n", tmp_path)
    monkeypatch.setenv("KAFKA_PASSWORD", "hunter2")
    assert "hunter2" not in named.flink_sql("n", schema)
    with monkeypatch.context() as served:
        served.setenv("CHANGELOG_STUDIO_FOLDERS", "")
        with pytest.raises(SourceError, match="names KAFKA_PASSWORD, which CHANGELOG_STUDIO_SECRETS does not list"):
            named.scan("n", tmp_path)
    with pytest.raises(PipelineError, match="properties: .*such.option") as refused:
        source(brokers, "t", properties=[{"name": "such.option", "value": "${env:KAFKA_PASSWORD}"}]).scan("n", tmp_path)
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("group.id", "", r"group.id has no value. Give one, or leave the option out"),
        ("client.id", "a\0b", r"client.id has more than .* characters, or some that no text has"),
        ("internal.termination.signal", "9", r"unknown option 'internal.termination.signal'"),
        ("default.topic.config", "x", r"unknown option 'default.topic.config'. The most similar of \d+:"),
        ("test.mock.num.brokers", "3", r"unknown option 'test.mock.num.brokers'"),
        ("debug", "all", r"unknown option 'debug'"),
        ("bootstrap.servers", "b:1", r"bootstrap.servers is the field Brokers"),
        ("socket.timeout.ms", "9", r"socket.timeout.ms is a number from 10 to 300000, not '9'"),
        ("request.timeout.ms", "1e3", r"socket.timeout.ms is a number from 10 to 300000, not '1e3'"),
        ("isolation.level", "any", r"isolation.level is one of read_uncommitted, read_committed, not 'any'"),
    ],
)
def test_an_option_is_checked_before_it_reaches_the_client(
    name: str, value: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PipelineError, match=f"n: properties: {sentence}"):
        check_options({name: value}, "n")
    if "\0" not in value and name != "bootstrap.servers":
        monkeypatch.setenv("GIVEN", value)
        with pytest.raises(StudioError, match=sentence.partition(", not")[0]) as raised:
            client_of("localhost:1", {name: "${env:GIVEN}"}, "n")
        assert not value or f"'{value}'" not in str(raised.value)


def test_no_option_that_passes_ends_the_client(brokers: Cluster) -> None:
    """Each at the ends of its range, or with each of its words; a text need not be what the client can use."""
    for name, option in OPTIONS.items():
        edges = option.words or ((str(option.least), str(option.most)) if option.least is not None else ("x",))
        for value in edges:
            check_settings({name: value}, "n")
            settings = {"group.id": "g", "log_level": 0, "bootstrap.servers": "127.0.0.1:1", name: value}
            said = ""
            try:
                Apart(Foreign("kafka", "n", ""), "ENDED", Consumer, settings, "", "n", (), 1.0).close()
            except SourceError as error:
                said = error.sentence
            assert "ENDED" not in said, (name, value)


def test_a_client_that_ends_its_process_is_a_sentence_and_the_studio_goes_on(
    brokers: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an empty group did: what is not known yet ends a process that is not the app's, at its start or later."""
    ended = "n: the client of Kafka at .* ended its process, or no longer answers. If it does so again, leave out"
    with monkeypatch.context() as patch:
        patch.setitem(OPTIONS, "internal.termination.signal", Option(0, 128))  # type: ignore[misc]
        with pytest.raises(SourceError, match=ended):
            client_of("localhost:1", {"internal.termination.signal": "9"}, "n").answers()
    brokers.send("ends", {"v": 1})
    client = client_of(brokers.servers, {}, "n")
    [place, *_] = client.partitions(["ends"])
    # An error that is not the client's own ends it as well.
    with pytest.raises(SourceError, match=ended):
        client.assign([(place, -(1 << 70))])
    with pytest.raises(SourceError, match=ended):
        client.answers()
