"""Looking at a pipeline contacts no server that the user has neither typed nor agreed to in this session."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from engine.contract.source import Source
from engine.model.pipeline import Edge, Node, Pipeline
from engine.registry import sources
from storage import Store
from tests.ui.conftest import OpenView
from ui.builder import server_consent as servers
from ui.builder.history import History

ID = [{"name": "id", "type": "bigint"}]
KAFKA = {"topic": "orders", "columns": ID}
SECRET = [{"name": "sasl.password", "value": "${env:KAFKA_PASSWORD}"}]
POSTGRES = {"database": "d", "table_name": "t", "user": "u", "slot": "s", "columns": ID}
TABLE = {"database": "d", "table_name": "t", "user": "u", "columns": ID}
ANSWERED_S = 30.0


class Listener:
    """A server that notes connections, and answers each with bytes that belong to no protocol."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.somebody_came = threading.Event()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                self.somebody_came.set()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        # A socket that is closed with unread bytes is reset, and the client may never see the answer.
        with connection, contextlib.suppress(OSError):
            connection.settimeout(ANSWERED_S)
            connection.recv(1 << 16)
            connection.sendall(b"Who is there?\n")
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def agreed(monkeypatch: pytest.MonkeyPatch) -> servers.Agreed:
    """The agreements of a new session: none."""
    found: servers.Agreed = set()
    monkeypatch.setattr(servers, "_agreed", lambda: found)
    return found


def source(operator: str, **parameters: Any) -> Source:
    return sources()[operator].model_validate(parameters)


def parameters_at(operator: str, port: int) -> dict[str, Any]:
    if operator in ("postgres", "mysql"):
        return {**TABLE, "host": "127.0.0.1", "port": port}
    if operator == "postgres_cdc":
        return {**POSTGRES, "host": "127.0.0.1", "port": port}
    if operator == "csv":
        return {"path": f"https://127.0.0.1:{port}/x.csv", "types": {"id": "BIGINT"}, "fixed_columns": True}
    key = {"primary_key": ["id"]} if operator == "upsert_kafka" else {}
    return {**KAFKA, **key, "servers": f"127.0.0.1:{port}"}


@pytest.mark.parametrize("operator", ["kafka", "upsert_kafka", "postgres_cdc", "postgres", "mysql", "csv"])
def test_nobody_is_asked_because_somebody_looks_but_after_a_press(
    operator: str, listener: Listener, store: Store, open_view: OpenView
) -> None:
    node = Node(id="orders", operator=operator, parameters=parameters_at(operator, listener.port))
    pipeline = Pipeline(nodes=(node, Node(id="out", operator="sink")), edges=(Edge(source="orders", target="out"),))
    store.drafts.save("k1", History(pipeline).to_json())
    app = open_view("build", draft="k1", selection="out")
    app.segmented_control(key="drawer-tab").set_value("Records").run()
    ask = _button(app, f"Read from 127.0.0.1:{listener.port}")
    assert any(f"its rows are on 127.0.0.1:{listener.port}" in each.value.lower() for each in app.caption)
    app.run()
    assert not listener.somebody_came.is_set()
    ask.click().run()
    assert listener.somebody_came.wait(ANSWERED_S)


def _button(app: AppTest, label: str) -> Any:
    [found] = [button for button in app.button if button.label == label]
    return found


def test_the_columns_of_a_file_of_the_web_are_asked_for_by_a_press_of_a_button(
    listener: Listener, store: Store, open_view: OpenView
) -> None:
    url = f"https://127.0.0.1:{listener.port}/x.csv"
    pipeline = Pipeline(nodes=(Node(id="orders", operator="csv", parameters={"path": url}),))
    store.drafts.save("k1", History(pipeline).to_json())
    app = open_view("build", draft="k1", selection="orders")
    assert not listener.somebody_came.is_set()
    _button(app, "Take the columns of the file").click().run()
    assert listener.somebody_came.wait(ANSWERED_S)
    assert f"127.0.0.1:{listener.port} does not encrypt as it should" in app.error[0].value


NOT_ASKED = [
    (
        "kafka",
        {"servers": "a:9092"},
        "its rows are on a:9092. The studio contacts it only when you press the button below.",
    ),
    (
        "kafka",
        {"servers": "a:9092", "properties": SECRET},
        "its rows are on a:9092. The studio contacts it only when you press the button below, and then sends "
        "it the values of KAFKA_PASSWORD.",
    ),
    (
        "kafka",
        {"servers": "a:9092", "properties": [{"name": "bootstrap.servers", "value": "b:1"}]},
        "its rows are on a:9092, b:1. The studio contacts it only when you press the button below.",
    ),
    (
        "kafka",
        {
            "servers": "a:9092",
            "properties": [{"name": "sasl.oauthbearer.token.endpoint.url", "value": "https://b/token"}],
        },
        "its rows are on a:9092, https://b/token. The studio contacts it only when you press the button below.",
    ),
    (
        "postgres_cdc",
        {"host": "db", "password": "${env:PW}"},
        "its rows are on db:5432. The studio contacts it only when you press the button below, and then sends "
        "it the values of PW.",
    ),
]


@pytest.mark.parametrize(("operator", "parameters", "sentence"), NOT_ASKED)
def test_it_is_said_who_would_be_asked_and_sent_what(
    operator: str, parameters: dict[str, Any], sentence: str, agreed: servers.Agreed
) -> None:
    found = servers.first_not_asked([("n", source("rows")), ("s", source(operator, **parameters))])
    assert found is not None
    assert (found.node, found.sentence) == ("s", sentence)
    servers.agree(found.source)
    assert servers.first_not_asked([("s", found.source)]) is None


# The former parameters, the typed ones, and whether the server may be contacted then.
TYPED: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("the address", {}, {"servers": "a:9092"}, True),
    ("something else", {"servers": "a:9092"}, {"servers": "a:9092", "topic": "t"}, False),
    ("one of two addresses", {"servers": "a:9092"}, {"servers": "a:9092,b:9092"}, False),
    ("the address, where a secret stood", {"properties": SECRET}, {"servers": "a:1", "properties": SECRET}, False),
    ("the secret, where an address stood", {"servers": "a:1"}, {"servers": "a:1", "properties": SECRET}, False),
    ("both", {}, {"servers": "a:1", "properties": SECRET}, True),
]


@pytest.mark.parametrize(("before", "after", "may"), [case[1:] for case in TYPED], ids=[case[0] for case in TYPED])
def test_what_a_person_typed_may_be_asked_and_what_stood_there_may_not(
    before: dict[str, Any], after: dict[str, Any], may: bool, agreed: servers.Agreed
) -> None:
    servers.note_typed("kafka", before, after)
    assert servers.may_be_asked(source("kafka", **after)) == may


def test_a_secret_that_was_agreed_to_for_one_server_is_not_sent_to_another(agreed: servers.Agreed) -> None:
    servers.agree(source("kafka", servers="a:1", properties=SECRET))
    servers.note_typed("kafka", {"servers": "a:1", "properties": SECRET}, {"servers": "b:1", "properties": SECRET})
    assert servers.may_be_asked(source("kafka", servers="b:1"))
    assert not servers.may_be_asked(source("kafka", servers="b:1", properties=SECRET))


@pytest.mark.parametrize("operator", sorted(sources()))
def test_a_source_without_a_server_is_always_looked_at(operator: str, agreed: servers.Agreed) -> None:
    made: Callable[[], Source] = sources()[operator]
    if operator not in {"kafka", "upsert_kafka", "postgres_cdc", "postgres", "mysql"}:
        assert servers.may_be_asked(made())
