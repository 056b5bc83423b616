"""Posting rows to the app: accepted with 200 once they are on the disk, or refused with a sentence."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette

from engine.reading.files.received import received_file
from ui.access import posted_rows
from ui.shell import workspace


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace, "folder", lambda: tmp_path)
    monkeypatch.setattr(posted_rows, "MOST_BYTES", 1 << 20)


def post(address: str, body: str, type_: str = "application/json") -> tuple[int, Any]:
    """The answer: its status and its JSON."""
    sent: list[Any] = []
    parts = [body[:9].encode(), body[9:].encode()]

    async def receive() -> Any:
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": f"/rows/{address}",
        "root_path": "",
        "query_string": b"",
        "headers": [(b"content-type", type_.encode())],
    }
    asyncio.run(Starlette(routes=[posted_rows.ROUTE])(scope, receive, send))
    return sent[0]["status"], json.loads(b"".join(message["body"] for message in sent[1:]))


def test_rows_are_taken(tmp_path: Path) -> None:
    assert post("orders", '{"id": 1}') == (200, {"rows": 1})
    assert post("orders", '[{"id": 2}, {"id": 3}]') == (200, {"rows": 2})
    assert post("orders", '{"id": 4}\n{"id": 5}\n', "application/x-ndjson; charset=utf-8") == (200, {"rows": 2})
    ids = [f'{{"id": {at}}}\n' for at in range(1, 6)]
    assert received_file(tmp_path, "orders").read_text() == "".join(ids)


@pytest.mark.parametrize(
    ("address", "body", "type_", "status", "sentence"),
    [
        ("orders", "{", "application/json", 400, "The body is not JSON"),
        ("orders", '{"id": 1}', "text/plain", 415, "Content-Type: application/json"),
        ("or.ders", '{"id": 1}', "application/json", 400, "is not an address"),
        ("orders", '{"id": "' + "x" * (1 << 20) + '"}', "application/json", 413, "more than 1 MB"),
    ],
)
def test_what_cannot_be_taken_is_a_sentence_and_nothing_of_it_is_kept(
    tmp_path: Path, address: str, body: str, type_: str, status: int, sentence: str
) -> None:
    answered, answer = post(address, body, type_)
    assert answered == status
    assert sentence in answer["error"]
    assert list(tmp_path.iterdir()) == []
