"""A registry of schemas in this process: the part of the HTTP API of Confluent's that readers use."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro

from tests.serving import encrypt, serving

Answer = tuple[int, bytes]


@dataclass
class SchemaRegistry:
    """Its schemas by number. asked: the paths of requests. user_info: demanded of them. answer: instead of its own."""

    url: str = ""
    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, dict[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    user_info: str = ""
    answer: Callable[[str], Answer] | None = None

    def add(self, schema: Any, number: int | None = None, **others: Any) -> int:
        """Register a schema, and return its number."""
        number = number or len(self.schemas) + 1
        self.schemas[number] = {"schema": json.dumps(schema), **others}
        return number

    def message(self, number: int, value: Any) -> bytes:
        """A value as the message of a writer with this schema."""
        return framed(number, json.loads(self.schemas[number]["schema"]), value)

    def reply(self, path: str, authorization: str | None) -> Answer:
        """The status and the body of an answer."""
        self.asked.append(path)
        if self.answer is not None:
            return self.answer(path)
        if self.user_info and authorization != f"Basic {b64encode(self.user_info.encode()).decode()}":
            return 401, b'{"error_code":401,"message":"Unauthorized"}'
        found = self.schemas.get(int(path.rpartition("/")[2])) if "/schemas/ids/" in path else self.subjects.get(path)
        if found is None:
            return 404, b'{"error_code":40403,"message":"Schema not found"}'
        return 200, json.dumps(found).encode()


def encoded(schema: Any, value: Any) -> bytes:
    """A value in Avro, alone."""
    stream = BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(schema), value)
    return stream.getvalue()


def framed(number: int, schema: Any, value: Any) -> bytes:
    """A value after the number of its schema."""
    return b"\0" + number.to_bytes(4, "big") + encoded(schema, value)


@contextmanager
def schema_registry(key: Path | None = None, certificate: Path | None = None, **tls: Any) -> Iterator[SchemaRegistry]:
    """A registry without schemas, on a port of its own. key, certificate: with which it speaks TLS."""
    registry = SchemaRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, body = registry.reply(self.path, self.headers.get("Authorization"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry.url = f"http://127.0.0.1:{server.server_port}"
    if key is not None and certificate is not None:
        encrypt(server, key, certificate, **tls)
        registry.url = registry.url.replace("http:", "https:")
    with serving(server):
        yield registry
