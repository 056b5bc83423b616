"""Files of the web: fetched once and only if fetching is allowed, and the errors if they cannot be fetched.

The server is a real TLS server on this machine, with a certificate that the tests trust.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.contract.scan import Scan
from engine.errors import PipelineError, SourceError
from engine.reading.files import web, web_hosts
from engine.reading.files.named_folders import ENVIRONMENT
from engine.reading.files.source import FileSource
from engine.reading.files.web import NotFetched, fetching
from engine.sources.csv import Csv
from engine.sources.excel import Excel
from engine.sources.jsonl import JsonLines
from engine.sources.parquet import Parquet
from tests.engine.sources.reading import read
from tests.engine.sources.workbooks import write_workbook
from tests.serving import certified, encrypt, serving

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = b"id,name\n1,a\n2,b\n"
FIXED = {"types": {"id": "BIGINT", "name": "STRING"}, "fixed_columns": True}


@dataclass
class Site:
    """A TLS server. answers: by path, the status, the headers and the body; asked: the requested paths, in order."""

    port: int
    certificate: Path
    answers: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    def url(self, path: str, host: str = "localhost") -> str:
        return f"https://{host}:{self.port}{path}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certified(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def site(certificates: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    key, certificate = certificates

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append(self.path)
            status, headers, body = found.answers.get(self.path, (404, {}, b""))
            self.send_response(status)
            for name, value in ({"Content-Length": str(len(body))} | headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    encrypt(server, key, certificate)
    found = Site(server.server_address[1], certificate)
    found.answers["/rows.csv"] = (200, {}, ROWS)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(server):
        yield found


def records(scan: Scan) -> list[dict[str, Any]]:
    return [row for part in scan.parts for read in scan.read(part) for row in read.records.to_pylist()]


def test_a_run_asks_once_and_reads_what_came(site: Site, tmp_path: Path) -> None:
    source = Csv(path=site.url("/rows.csv"))
    with fetching(tmp_path / "web"):
        assert source.derive("n", tmp_path).schema.names == ("id", "name")
        found = records(source.scan("n", tmp_path))
        assert [path.parent for path in source.inputs("n", tmp_path)] == [tmp_path / "web"]
    assert found == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert site.asked == ["/rows.csv"]


def test_outside_of_a_run_nobody_is_asked(site: Site, tmp_path: Path) -> None:
    url = site.url("/rows.csv")
    with pytest.raises(NotFetched, match=f"localhost:{site.port}, which is contacted only when you press a button"):
        Csv(path=url).derive("n", tmp_path)
    declared = Csv.model_validate({"path": url, **FIXED})
    assert declared.derive("n", tmp_path).schema.names == ("id", "name")
    assert declared.server == f"localhost:{site.port}"
    assert site.asked == []


def test_the_ending_of_the_address_says_how_it_is_compressed(site: Site, tmp_path: Path) -> None:
    site.answers["/d/%C3%A4.jsonl.gz?v=%C3%B6"] = (200, {}, gzip.compress(b'{"id": 7}\n'))
    source = JsonLines(path=site.url("/d/ä.jsonl.gz?v=ö"))
    with fetching(tmp_path / "web"):
        assert records(source.scan("n", tmp_path)) == [{"id": 7}]


def test_a_redirect_is_followed(site: Site, tmp_path: Path) -> None:
    site.answers["/old.csv"] = (302, {"Location": "/rows.csv"}, b"")
    with fetching(tmp_path / "web"):
        assert Csv(path=site.url("/old.csv")).derive("n", tmp_path).schema.names == ("id", "name")
    assert site.asked == ["/old.csv", "/rows.csv"]


# The server's answer, and the resulting error.
ANSWERS: list[tuple[str, tuple[int, dict[str, str], bytes], str]] = [
    ("not there", (404, {}, b""), "localhost answers 404 Not Found; check the address."),
    ("not allowed", (403, {}, b""), "localhost answers 403 Forbidden; check the address."),
    ("too large, as it says", (200, {}, b"x" * 101), "it is larger than 0 MB; download it, and give its path."),
    ("less than it said", (200, {"Content-Length": "50"}, b"id\n"), "only 3 of its 50 bytes came; try again."),
    ("in circles", (302, {"Location": "/x.csv"}, b""), "it is redirected more than 5 times; check the address."),
    ("to where nothing is encrypted", (301, {"Location": "http://localhost/x.csv"}, b""), "Use https."),
    (
        "to another host of this network",
        (307, {"Location": "https://127.0.0.1/x.csv"}, b""),
        "127.0.0.1 leads to 127.0.0.1, which is not a public address; name it itself.",
    ),
]


@pytest.mark.parametrize(("answer", "sentence"), [case[1:] for case in ANSWERS], ids=[case[0] for case in ANSWERS])
def test_what_a_server_answers_is_a_sentence(
    answer: tuple[int, dict[str, str], bytes], sentence: str, site: Site, tmp_path: Path
) -> None:
    site.answers["/x.csv"] = answer
    with fetching(tmp_path / "web", most=100), pytest.raises(SourceError) as caught:
        Csv(path=site.url("/x.csv")).derive("n", tmp_path)
    assert caught.value.sentence.endswith(sentence)
    assert (caught.value.node, caught.value.field) == ("n", "path")


ADDRESSES = [
    (
        "http://localhost/x.csv",
        "path: http://localhost/x.csv would be sent unencrypted, and could be changed on its way.",
    ),
    ("https:///x.csv", "path: 'https:///x.csv' is not a web address; write it as https://host/folder/file.csv."),
    ("https://a:99999/x.csv", "is not a web address"),
    ("https://me:secret@localhost/x.csv", "path: a name or password in an address would be kept with the pipeline."),
    ("https://nowhere.invalid/x.csv", "cannot be fetched: the name nowhere.invalid is not known; check the address."),
]


@pytest.mark.parametrize(("address", "sentence"), ADDRESSES)
def test_an_address_that_cannot_be_asked_is_a_sentence(address: str, sentence: str, tmp_path: Path) -> None:
    with fetching(tmp_path / "web"), pytest.raises(SourceError) as caught:
        Csv(path=address).derive("n", tmp_path)
    assert sentence in caught.value.sentence
    assert "secret" not in caught.value.sentence


def test_a_certificate_that_nobody_vouches_for_is_a_sentence(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE")
    with fetching(tmp_path / "web"), pytest.raises(SourceError, match="has no valid certificate .*self-signed"):
        Csv(path=site.url("/rows.csv")).derive("n", tmp_path)
    assert site.asked == []


def test_a_server_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with fetching(tmp_path / "web"), pytest.raises(SourceError, match="does not answer as it should: Connection ref"):
        Csv(path=f"https://localhost:{port}/x.csv").derive("n", tmp_path)


# The allowed folders of a studio for several users, and its error for a file of localhost; empty: it is fetched.
_PRIVATE = "localhost leads to 127.0.0.1, which is not a public address; whoever runs the studio can allow it"
SERVED = [
    ("/data", "is in none of the folders that this studio reads"),
    ("https://", _PRIVATE),
    # Its host is named, but for another folder, port or storage.
    ("https://, https://localhost:{port}/other", _PRIVATE),
    ("https://, https://localhost/d", _PRIVATE),
    ("https://, s3a://localhost:{port}/d", _PRIVATE),
    ("https://, https://localhost:{port}/d", ""),
    ("/data, https://localhost:{port}/d", ""),
]


@pytest.mark.parametrize(("folders", "sentence"), SERVED)
def test_where_others_use_the_studio_its_network_is_closed_but_for_what_is_named(
    folders: str, sentence: str, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ENVIRONMENT, folders.format(port=site.port))
    # One address of localhost is enough, and the same one everywhere.
    monkeypatch.setattr(web_hosts.socket, "getaddrinfo", _only_v4)
    site.answers["/d/rows.csv"] = (200, {}, ROWS)
    with fetching(tmp_path / "web"):
        if sentence:
            with pytest.raises(SourceError) as caught:
                Csv(path=site.url("/d/rows.csv")).derive("n", tmp_path)
            assert sentence in caught.value.sentence
        else:
            assert Csv(path=site.url("/d/rows.csv")).derive("n", tmp_path).schema.names == ("id", "name")
    assert bool(site.asked) == (not sentence)


_GETADDRINFO: Callable[..., Any] = socket.getaddrinfo


def _only_v4(host: str, port: int, family: int = 0, type: int = 0, *rest: int) -> Any:
    return _GETADDRINFO(host, port, socket.AF_INET, type, *rest)


@pytest.mark.parametrize("make", [Csv, Parquet, Excel])
def test_a_live_run_says_that_it_reads_no_file_of_the_web(make: type[FileSource], tmp_path: Path) -> None:
    declared = make.model_validate({"path": "https://localhost/x.csv", **FIXED})
    with pytest.raises(PipelineError, match="a live run cannot follow a web file"):
        declared.stream("n", tmp_path, "run")


def parquet() -> bytes:
    written = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]}), written)
    return written.getvalue()


def workbook(folder: Path) -> bytes:
    write_workbook(folder / "made.xlsx", {"S": {1: ["id", "name"], 2: [1, "a"], 3: [2, "b"]}})
    return (folder / "made.xlsx").read_bytes()


def test_a_workbook_of_the_web_is_read_in_a_run(site: Site, tmp_path: Path) -> None:
    site.answers["/book.xlsx"] = (200, {}, workbook(tmp_path))
    url = site.url("/book.xlsx")
    with pytest.raises(NotFetched, match="which is contacted only when you press a button"):
        Excel(path=url).derive("n", tmp_path)
    source = Excel.model_validate({"path": url, **FIXED})
    assert source.offered("table", "n", tmp_path) == ()
    declared = source.derive("n", tmp_path).schema
    assert site.asked == []
    with fetching(tmp_path / "web"):
        assert source.derive("n", tmp_path).schema == declared
        assert source.offered("table", "n", tmp_path) == ("S",)
        assert records(source.scan("n", tmp_path)) == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert site.asked == ["/book.xlsx"]


@pytest.mark.slow
def test_a_parquet_file_of_the_web_is_read_in_a_run(site: Site, tmp_path: Path, spark: SparkSession) -> None:
    site.answers["/rows.parquet"] = (200, {}, parquet())
    url = site.url("/rows.parquet")
    with pytest.raises(NotFetched, match="which is contacted only when you press a button"):
        Parquet(path=url).derive("n", tmp_path)
    source = Parquet.model_validate({"path": url, **FIXED})
    declared = source.derive("n", tmp_path).schema
    assert site.asked == []
    with fetching(tmp_path / "web"):
        assert source.derive("n", tmp_path).schema == declared
        assert read(spark, source, tmp_path) == ([("1", "a"), ("2", "b")], [])
        assert read(spark, Parquet(path=url), tmp_path) == ([("1", "a"), ("2", "b")], [])
    assert site.asked == ["/rows.parquet"]


PRIVATE = """
127.0.0.1 10.1.2.3 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 2002:7f00:1::
::1 :: fe80::1 fd00::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::127.0.0.1 64:ff9b::a9fe:a9fe 2001:0:a01:203::1
::ffff:0:127.0.0.1 64:ff9b:1::7f00:1 64:ff9b:1:7f00:0:100:: 2001:470::5efe:a00:1 2001:470::200:5efe:7f00:1 fec0::1
5f00::1 3fff::1
"""


@pytest.mark.parametrize("address", PRIVATE.split())
def test_no_name_leads_those_who_are_served_into_the_network(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any notation of the address, even if only the last address of the name is in the private network."""
    monkeypatch.setenv(ENVIRONMENT, "https://")
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in ("8.8.8.8", address)]
    monkeypatch.setattr(web_hosts.socket, "getaddrinfo", lambda *_, **__: found)
    with fetching(tmp_path / "web"), pytest.raises(SourceError) as caught:
        Csv(path="https://data.example/x.csv").derive("n", tmp_path)
    assert f"data.example leads to {address}, which is not a public address" in caught.value.sentence


# The first bytes that a server sends; then it sends single bytes for ever.
DRIPPING = {
    "in the handshake": (False, b"\x16\x03\x03\x40\x00"),
    "in the head": (True, b"HTTP/1.1 200 OK\r\nX: "),
    "in the body": (True, b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nid\n"),
    "in a body without a length": (True, b"HTTP/1.1 200 OK\r\n\r\nid\n"),
    "in a body of chunks": (True, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"),
}


@pytest.mark.parametrize("where", DRIPPING)
def test_a_server_that_sends_a_byte_now_and_then_is_left(
    where: str, certificates: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encrypted, first = DRIPPING[where]
    key, certificate = certificates
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    monkeypatch.setattr(web, "LONGEST_S", 1.0)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    over = threading.Event()

    def drip() -> None:
        peer, _ = server.accept()
        with (
            contextlib.suppress(OSError),
            context.wrap_socket(peer, server_side=True) if encrypted else peer as talking,
        ):
            talking.sendall(first)
            while not over.wait(0.05):
                talking.sendall(b"\0")

    with socket.create_server(("127.0.0.1", 0)) as server:
        talking = threading.Thread(target=drip, daemon=True)
        talking.start()
        address = f"https://localhost:{server.getsockname()[1]}/x.csv"
        with fetching(tmp_path / "web"), pytest.raises(SourceError, match="it takes longer than 0 min; download it"):
            Csv(path=address).derive("n", tmp_path)
        over.set()
        talking.join(10)
