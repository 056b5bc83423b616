"""A SQL Gateway is asked: its recorded answers, and what is said of one that cannot answer.

    CHANGELOG_STUDIO_GATEWAY=http://127.0.0.1:8083  pytest tests/engine/flink/test_gateway.py [--update-golden]

With a real gateway it is asked again; --update-golden records what it says.
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread
from typing import Any, Final

import pytest

from engine.__main__ import main
from engine.errors import EngineUnavailable, RunCancelled
from engine.examples import examples
from engine.expressions.analyzer import TypeRules
from engine.flink.asking import Asked, Asking
from engine.flink.comparison import Outcome
from engine.flink.environment import ENVIRONMENT
from engine.flink.gateway import Gateway, complaint_about
from engine.flink.gateway_answers import records
from engine.flink.gateway_script import MOST, statements
from engine.flink.places import Installed, Named, ThroughGateway, name, named, place, prefer
from engine.flink.question import NotAskable, Question
from engine.model.pipeline import Pipeline
from tests.conformance.case import Case
from tests.engine.flink.gateway_server import Exchange, GatewayServer, served

RECORDED: Final = Path(__file__).parent / "recorded_gateway"
CASES: Final = Path(__file__).parents[2] / "conformance" / "cases"
REAL: Final = os.environ.get("CHANGELOG_STUDIO_GATEWAY", "")
TOKEN: Final = "s3cret-token"
EQUAL: Final = Outcome.EQUAL
SAID: Final = {
    "01-word-frequency": {"frequencies": EQUAL},
    "02-window-late-record": {"results": EQUAL},
    "05-window-join": {"pairs": EQUAL},
    "07-deduplication": {"first_by_time_rows": EQUAL, "last_by_time_rows": EQUAL, "last_to_arrive_rows": EQUAL},
    "08-top-3": {"best_sellers": EQUAL},
    "nexmark_q4": {"sink": EQUAL},
    "nexmark_q5": {"sink": Outcome.OTHER_ORDER},
    "nexmark_q7": {"sink": EQUAL},
    "nexmark_q8": {"sink": "goes by the watermark of some of the sources"},
    "nexmark_q18": {"sink": EQUAL},
    "changes": {"totals": EQUAL},
}
"""By pipeline: what a gateway says of each sink, or why it cannot be asked."""


def no_spark() -> Any:
    raise AssertionError


def rows_pipeline(rows: list[list[Any]], sql_nodes: list[dict[str, Any]], **source: Any) -> Pipeline:
    columns = [{"name": "k", "type": "string"}, {"name": "v", "type": "bigint"}]
    first = {"id": "s", "operator": "rows", "parameters": {"columns": columns, "rows": rows, **source}}
    ids = ["s", *(node["id"] for node in sql_nodes)]
    edges = [{"source": a, "target": b} for a, b in zip(ids, ids[1:], strict=False)]
    return Pipeline.from_dict({"name": "rows", "nodes": [first, *sql_nodes], "edges": edges})


SUM: Final = {
    "id": "sums",
    "operator": "aggregate",
    "parameters": {"group_by": ["k"], "aggregates": [{"function": "SUM", "argument": "v", "name": "total"}]},
}
CHANGES: Final = [["+I", "it's\n\\", 1], ["+I", "b", 2], ["-D", "it's\n\\", 1], ["-U", "b", 2], ["+U", "b", None]]


def pipeline(called: str) -> Pipeline:
    if called == "changes":
        return rows_pipeline(CHANGES, [SUM, {"id": "totals", "operator": "sink", "parameters": {}}], changelog=True)
    if called.startswith("nexmark"):
        return Case.read(CASES / f"{called}.json").pipeline(TypeRules())
    return examples()[called]


def asking(called: str) -> Asking:
    return Asking(pipeline(called), None, Path(), no_spark)


def asked(called: str, sink: str, *, update: bool) -> tuple[Asked, GatewayServer]:
    """What a gateway says: recorded, or asked if there is a real one."""
    file = RECORDED / f"{called}.{sink}.json"
    known = json.loads(file.read_text(encoding="utf-8")) if file.exists() and not update else []
    server = GatewayServer([Exchange(**each) for each in known], upstream=REAL if REAL and update else "")
    with served(server) as address:
        found = asking(called).asked(sink, lambda question: Gateway(address).ask(question, Event()))
    if server.upstream and server.exchanges:
        RECORDED.mkdir(exist_ok=True)
        file.write_text(json.dumps([asdict(each) for each in server.exchanges], indent=1) + "\n", encoding="utf-8")
    return found, server


@pytest.mark.parametrize(("called", "sink"), [(called, sink) for called, sinks in SAID.items() for sink in sinks])
def test_a_gateway_says_what_our_runs_say(called: str, sink: str, request: pytest.FixtureRequest) -> None:
    found, server = asked(called, sink, update=bool(request.config.getoption("--update-golden")))
    said = SAID[called][sink]
    if isinstance(said, str):
        assert found.compared is None
        assert said in found.sentence
        assert not server.sessions
        return
    assert found.compared is not None
    assert found.compared.outcome is said, found.sentence
    assert server.closed == len(server.sessions) == 1
    assert server.sessions[0]["parallelism.default"] == "1"
    assert "changelogMode" in found.plans[1]
    assert found.by.startswith("Flink 2.3.0 at http://127.0.0.1:")


def test_what_flink_refuses_is_an_answer() -> None:
    server = GatewayServer([Exchange("SELECT 1")], token=TOKEN)
    with served(server) as address:
        gateway = Gateway(address, TOKEN)
        found = asking("01-word-frequency").asked("frequencies", lambda question: gateway.ask(question, Event()))
    assert found.sentence == "frequencies: Flink refuses it: another statement than was recorded"
    assert server.closed == 1


def test_what_a_gateway_cannot_be_asked_is_said_before() -> None:
    job = {
        "tables": [{"name": "t", "columns": [["k", "STRING"]], "time": None, "mode": "insert", "key": []}],
        "arrivals": [["t", "+I", "a"]],
        "sink_key": None,
    }
    (table,) = job["tables"]
    for changed, reason in (
        ({"arrivals": [["t", "+I", "a"]] * (MOST + 1)}, "up to 2,000"),
        ({"arrivals": [["t", "+I", "a" * 1_000_001]]}, "1,000,000 characters"),
        ({"arrivals": [["t", "+I", "a\x1fb"]]}, "a control character"),
        ({"tables": [{**table, "key": ["k"]}]}, "t has a primary key"),
        ({"sink_key": ["k"]}, "an upsert sink"),
        ({"tables": [{**table, "time": "a", "columns": [["a", "TIMESTAMP(3)"]]}, {**table, "time": "b"}]}, "two types"),
    ):
        with pytest.raises(NotAskable, match=reason):
            [*statements(Question("sink", job | changed))]


def test_values_come_in_the_form_of_the_own_flink() -> None:
    types = {
        "DECIMAL": ("1.5", {"scale": 3}, "1.500"),
        "DOUBLE": ("1.0E30", {}, 1e30),
        "FLOAT": ("NaN", {}, "NaN"),
        "TIMESTAMP_WITHOUT_TIME_ZONE": ("1969-12-31T23:59:59.123456789", {}, -877),
        "TIMESTAMP_WITH_LOCAL_TIME_ZONE": ("1970-01-01T00:00:02.5Z", {}, 2500),
        "VARBINARY": ("AQI=", {}, "0102"),
        "ARRAY": (["1.5", None], {"elementType": {"type": "DOUBLE"}}, [1.5, None]),
        "ROW": ({"a": 1}, {"fields": [{"name": "a", "fieldType": {"type": "INTEGER"}}]}, [1]),
        "MAP": (
            {"b": 1, "a": 2},
            {"keyType": {"type": "VARCHAR"}, "valueType": {"type": "INTEGER"}},
            [["a", 2], ["b", 1]],
        ),
        "BOOLEAN": (None, {}, None),
    }
    columns = [{"name": type_, "logicalType": {"type": type_, **more}} for type_, (_, more, _) in types.items()]
    row = {"kind": "UPDATE_BEFORE", "fields": [value for value, _, _ in types.values()]}
    assert [*records(columns, [row])] == [["-U", *(wanted for _, _, wanted in types.values())]]


@pytest.mark.parametrize(
    ("server", "token", "said"),
    [
        (GatewayServer(token=TOKEN), "", "asks for a token"),
        (GatewayServer(token=TOKEN), "wrong", "does not accept the token"),
        (
            GatewayServer(info={"productName": "Apache Flink", "version": "1.18.1"}),
            "",
            "is of Flink 1.18.1; .* 2.0 or newer",
        ),
        (GatewayServer(info={"productName": "nginx"}), "", "is no SQL Gateway of Flink"),
        (GatewayServer(info=[1]), "", "is no SQL Gateway of Flink"),
        (GatewayServer(status=302), "", "leads elsewhere, which is not followed"),
        (GatewayServer(status=404), "", "is no SQL Gateway of Flink"),
    ],
)
def test_a_gateway_that_cannot_answer_is_a_sentence(server: GatewayServer, token: str, said: str) -> None:
    with served(server) as address, pytest.raises(EngineUnavailable, match=said) as raised:
        Gateway(address, token).version()
    assert not token or token not in str(raised.value)


def test_a_token_goes_with_every_request_and_is_in_no_sentence() -> None:
    server = GatewayServer(token=TOKEN, exchanges=[Exchange("", [])])
    with served(server) as address:
        gateway = Gateway(address, TOKEN)
        assert gateway.version() == "2.3.0"
        assert {*server.tokens} == {f"Bearer {TOKEN}"}
        assert TOKEN not in repr(gateway)
        assert TOKEN not in repr(Named(address, TOKEN))
    with pytest.raises(EngineUnavailable, match="cannot be reached: Connection refused") as raised:
        gateway.version()
    assert TOKEN not in str(raised.value)


def test_a_server_that_is_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.flink.gateway._ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        gateway = Gateway(f"http://127.0.0.1:{server.getsockname()[1]}")
        with pytest.raises(EngineUnavailable, match="does not answer within"):
            gateway.version()


def test_a_question_that_takes_too_long_is_given_up_and_its_session_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.flink.gateway._LONGEST_S", 0.5)
    server = GatewayServer(stuck=True)
    question = asking("01-word-frequency").question("frequencies")
    assert isinstance(question, Question)
    with served(server) as address, pytest.raises(EngineUnavailable, match="so it was given up"):
        Gateway(address).ask(question, Event())
    assert server.closed == 1


def test_a_cancelled_question_closes_its_session() -> None:
    server = GatewayServer(stuck=True)
    question = asking("01-word-frequency").question("frequencies")
    assert isinstance(question, Question)
    with served(server) as address:
        through = ThroughGateway(Gateway(address))

        def cancel() -> None:
            while not server.sessions:
                Event().wait(0.01)
            through.cancel()

        Thread(target=cancel, daemon=True).start()
        with pytest.raises(RunCancelled):
            through.ask(question)
    assert server.closed == 1


@pytest.mark.parametrize(
    ("address", "token", "said"),
    [
        ("http://127.0.0.1:8083", TOKEN, ""),
        ("http://localhost:8083", TOKEN, ""),
        ("https://gateway.example.com/flink", TOKEN, ""),
        ("http://gateway.example.com:8083", "", ""),
        ("http://gateway.example.com:8083", TOKEN, "with TLS only"),
        ("gateway:8083", "", "not the address"),
        ("ftp://gateway", "", "not the address"),
        ("http://user:pass@gateway", "", "not the address"),
        ("http://gateway:99999", "", "not the address"),
        ("http://gateway?x=1", "", "not the address"),
        ("http://gate way", "", "not the address"),
        ("https://gateway", "a\nb", "cannot be sent"),
    ],
)
def test_addresses(address: str, token: str, said: str) -> None:
    found = complaint_about(address, token)
    assert said in found if said else not found


def test_only_listed_servers_are_contacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANGELOG_STUDIO_ADDRESSES", "gateway.example.com:443")
    assert not complaint_about("https://gateway.example.com", "")
    with pytest.raises(EngineUnavailable, match="none of the servers"):
        Gateway("http://127.0.0.1:8083")


def test_the_named_gateway_is_asked_unless_an_installed_flink_is_preferred(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv(ENVIRONMENT, raising=False)
    assert place(tmp_path) is None
    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN}\n")
    with served(GatewayServer(token=TOKEN)) as address:
        assert main(["flink", "gateway", address]) == 2
        assert main(["flink", "gateway", address, "--token-file", str(secret)]) == 0
    said = capsys.readouterr()
    assert address in said.out
    assert "asks for a token" in said.err
    assert TOKEN not in said.out + said.err
    assert named() == Named(address, TOKEN)
    file = tmp_path / "changelog-studio" / "flink-gateway.json"
    assert file.stat().st_mode & 0o077 == 0
    assert isinstance(place(tmp_path), ThroughGateway)
    monkeypatch.setenv(ENVIRONMENT, "/opt/flink/bin/python")
    assert isinstance(place(tmp_path), ThroughGateway)
    prefer(gateway=False)
    assert isinstance(place(tmp_path), Installed)
    monkeypatch.delenv(ENVIRONMENT)
    assert isinstance(place(tmp_path), ThroughGateway)
    file.write_text("{}")
    with pytest.raises(EngineUnavailable, match="cannot be read"):
        place(tmp_path)
    assert main(["flink", "gateway", "--forget"]) == 0
    assert named() is None
    with pytest.raises(EngineUnavailable, match="not the address"):
        name(Named("nowhere"))
