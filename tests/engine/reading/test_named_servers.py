"""The servers that a shared studio may connect to, and how others are refused before anything is resolved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

from engine.contract.source import Source
from engine.errors import PipelineError, SourceError
from engine.reading.files.named_folders import ENVIRONMENT as FOLDERS
from engine.reading.kafka.client import check_options, client_of
from engine.reading.servers.named_servers import ENVIRONMENT, may_be_contacted, unlisted
from engine.reading.servers.served import ServedSource
from engine.sources.kafka import Kafka
from engine.sources.mysql import MySql
from engine.sources.postgres import Postgres
from engine.sources.postgres_cdc import PostgresCdc
from tests.engine.sources.kafka_cluster import Cluster, cluster

LISTED = "db.example.com:5432, 10.0.0.7, [fd00::7]:9092, *.kafka.example.com:9092, :1, *, a b"

SERVERS: list[tuple[str, int, bool]] = [
    ("db.example.com", 5432, True),
    ("DB.Example.com.", 5432, True),
    ("10.0.0.7", 1, True),
    ("fd00:0:0::7", 9092, True),
    ("[FD00::7]", 9092, True),
    ("b1.kafka.example.com", 9092, True),
    ("db.example.com", 5433, False),
    ("kafka.example.com", 9092, False),
    ("evil,b1.kafka.example.com", 9092, False),
    ("evil/.kafka.example.com", 9092, False),
    ("db.example.com,127.0.0.1", 5432, False),
    ("127.0.0.1,db.example.com", 5432, False),
    ("db.example.com.evil.example", 5432, False),
    ("/var/run/postgresql", 5432, False),
    ("@postgresql", 5432, False),
    ("", 5432, False),
    ("localhost", 5432, False),
    ("127.0.0.1", 5432, False),
    ("169.254.169.254", 80, False),
    # Other spellings of 10.0.0.7.
    ("167772167", 1, False),
    ("0x0a.0.0.7", 1, False),
    ("10.7", 1, False),
    ("::ffff:10.0.0.7", 1, False),
    ("db.example.com hostaddr=127.0.0.1", 5432, False),
    ("any.example", 1, False),
]


@pytest.mark.parametrize(("host", "port", "is_listed"), SERVERS)
def test_a_server_is_contacted_if_it_is_listed_as_it_is_written(host: str, port: int, is_listed: bool) -> None:
    assert may_be_contacted(host, port, {ENVIRONMENT: LISTED}) is is_listed
    assert may_be_contacted(host, port, {})
    assert not may_be_contacted(host, port, {ENVIRONMENT: ""})


@pytest.mark.parametrize(
    ("servers", "other"),
    [
        ("b1.kafka.example.com:9092,SSL://b2.kafka.example.com:9092", None),
        ("b1.kafka.example.com", None),
        ("[fd00::7]", None),
        ("b1.kafka.example.com:9092, 127.0.0.1:9092", "127.0.0.1:9092"),
        ("b1.kafka.example.com:22", "b1.kafka.example.com:22"),
        ("PLAINTEXT://127.0.0.1:1/b1.kafka.example.com", "PLAINTEXT://127.0.0.1:1/b1.kafka.example.com"),
        ("127.0.0.1:1 b1.kafka.example.com:9092", "127.0.0.1:1 b1.kafka.example.com:9092"),
        ("fd00::7", "fd00::7"),
    ],
)
def test_of_several_brokers_all_have_to_be_listed(servers: str, other: str | None) -> None:
    assert unlisted(servers, 9092, {ENVIRONMENT: LISTED}) == other
    assert unlisted(servers, 9092, {}) is None


def _never(*_: Any, **__: Any) -> NoReturn:
    pytest.fail("a server that is not listed was looked up or contacted")


COLUMNS = [{"name": "id", "type": "bigint"}]
TABLE = {"host": "db.internal", "port": 4321, "database": "d", "table_name": "t", "user": "u", "columns": COLUMNS}
APART = "engine.reading.kafka.client.Apart"
AT_SERVERS: dict[str, Callable[[], ServedSource]] = {
    "postgres": lambda: Postgres.model_validate(TABLE),
    "postgres_cdc": lambda: PostgresCdc.model_validate({**TABLE, "slot": "s"}),
    "mysql": lambda: MySql.model_validate(TABLE),
    "kafka": lambda: Kafka.model_validate({"servers": "db.internal:4321", "topic": "t", "columns": COLUMNS}),
}


@pytest.fixture
def unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name is resolved and no client is made in this process."""
    for place in ("socket.getaddrinfo", "psycopg.connect", "pymysql.connect", APART):
        monkeypatch.setattr(place, _never)
    monkeypatch.setenv(ENVIRONMENT, LISTED)


@pytest.mark.usefixtures("unreachable")
@pytest.mark.parametrize("name", AT_SERVERS)
@pytest.mark.parametrize("ask", ["derive", "columns_there", "scan"])
def test_a_source_asks_no_server_that_is_not_listed(name: str, ask: str, tmp_path: Path) -> None:
    source: Source = AT_SERVERS[name]()
    with pytest.raises(SourceError, match=r"db\.internal:4321 is none of the servers that this studio connects to"):
        getattr(source, ask)("n", tmp_path)


@pytest.fixture(scope="module")
def brokers() -> Iterator[Cluster]:
    with cluster() as running:
        yield running


def test_no_message_comes_from_a_broker_that_is_not_listed(
    brokers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listed broker names where the messages are."""
    port = int(brokers.servers.rpartition(":")[2])
    brokers.send("named", {"id": 1})
    source = Kafka.model_validate({"servers": f"localhost:{port}", "topic": "named", "columns": COLUMNS})
    monkeypatch.setenv(ENVIRONMENT, f"localhost:{port}")
    with pytest.raises(SourceError, match=f"servers: the brokers name 127.0.0.1:{port} is none of the servers"):
        source.scan("n", tmp_path)
    monkeypatch.setenv(ENVIRONMENT, f"localhost:{port}, 127.0.0.1:{port}")
    assert source.scan("n", tmp_path).parts


LONG = "x" * 5000


@pytest.mark.parametrize("host", [LONG, f"{'x.' * 130}com", "a..b", "\ud800.example"])
@pytest.mark.parametrize("ask", ["derive", "columns_there"])
@pytest.mark.parametrize("name", ["postgres", "mysql", "kafka"])
def test_what_no_host_can_be_called_is_a_short_sentence(name: str, ask: str, host: str, tmp_path: Path) -> None:
    changed = {"servers": f"{host}:1"} if name == "kafka" else {"host": host}
    source = AT_SERVERS[name]().model_copy(update=changed)
    with pytest.raises((SourceError, PipelineError), match="is not a host name") as caught:
        getattr(source, ask)("n", tmp_path)
    assert len(caught.value.sentence) < 200


TOKENS = "sasl.oauthbearer.token.endpoint.url"


@pytest.mark.parametrize(
    ("url", "is_fine"),
    [
        ("https://named.example.org/in/t", True),
        # Somewhere on the web, which librdkafka would look up itself: the name may lead into the network by then.
        ("https://tokens.example.org/t", False),
        ("https://named.example.org/t", False),
        ("https://named.example.org:22/in/t", False),
        ("https://named.example.org/in/%2e%2e/t", False),
        ("http://named.example.org/in/t", False),
        ("https://ada:pw@named.example.org/in/t", False),
        ("file:///etc/passwd", False),
    ],
)
def test_whoever_gives_out_tokens_is_asked_where_a_folder_names_the_host(
    url: str, is_fine: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("socket.getaddrinfo", _never)
    monkeypatch.setenv(FOLDERS, "https://, http://named.example.org, https://named.example.org/in")
    monkeypatch.setenv(ENVIRONMENT, "127.0.0.1:1")
    monkeypatch.setattr(APART, _made)
    with pytest.raises(_Made if is_fine else PipelineError):
        client_of("127.0.0.1:1", {TOKENS: url}, "n")
    monkeypatch.delenv(FOLDERS)
    check_options({TOKENS: url}, "n")


class _Made(Exception):
    """A client would have been made."""


def _made(*_: Any) -> NoReturn:
    raise _Made
