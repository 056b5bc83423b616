"""Rows that somebody posts: kept in a file of JSON lines per address, which sources read like any other.

    received/orders.jsonl      what was posted to /rows/orders

A post counts once its lines are on the disk, all of them. What a post that was cut off has left behind is no line, and
goes with the next one.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any, BinaryIO, Final

FOLDER: Final = "received"
_ADDRESS: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")
_BLOCK: Final = 1 << 16
_locks: Final[dict[Path, threading.Lock]] = defaultdict(threading.Lock)


class NotReceived(ValueError):
    """Why a post was not taken, in a sentence."""


def is_address(name: str) -> bool:
    """Whether rows can be posted under this name."""
    return _ADDRESS.fullmatch(name) is not None


def received_file(folder: Path, address: str) -> Path:
    """Where the rows of an address are; it need not be there."""
    return folder / FOLDER / f"{address}.jsonl"


def rows_in(body: bytes) -> list[str]:
    """The lines of a post: one JSON object, an array of them, or one per line. Raises NotReceived."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"The body is not UTF-8 at byte {error.start}."
        raise NotReceived(message) from error
    try:
        values = [_parsed(text)]
        if isinstance(values[0], list):
            values = values[0]
        place = "value"
    except ValueError:
        lines = [line for line in text.splitlines() if line.strip()]
        place = "line"
        values = []
        for number, line in enumerate(lines, 1):
            try:
                values.append(_parsed(line))
            except ValueError as error:
                message = f"Line {number} is not JSON: {error}."
                raise NotReceived(message) from error
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            message = (
                f"{place.capitalize()} {number} is not a JSON object; post {{...}}, [{{...}}, ...] or one per line."
            )
            raise NotReceived(message)
    if not values:
        message = "The body has no rows; post a JSON object, an array of them, or one per line."
        raise NotReceived(message)
    return [json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in values]


def receive(folder: Path, address: str, rows: list[str]) -> None:
    """Keep the rows: once this returns, they are on the disk. Raises OSError."""
    path = received_file(folder, address)
    with _locks[path]:
        is_new = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("r+b" if not is_new else "xb+") as file:
            end = _end_of_lines(file)
            file.truncate(end)
            file.seek(end)
            try:
                file.write("".join(f"{row}\n" for row in rows).encode())
                file.flush()
                os.fsync(file.fileno())
            except OSError:
                file.truncate(end)
                raise
        if is_new:
            _sync_folder(path.parent)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        message = "it is nested too deeply"
        raise ValueError(message) from error


def _refuse(name: str) -> Any:
    message = f"{name} is no JSON value"
    raise ValueError(message)


def _end_of_lines(file: BinaryIO) -> int:
    """Where the last whole line ends."""
    at = file.seek(0, os.SEEK_END)
    while at:
        start = max(0, at - _BLOCK)
        file.seek(start)
        found = file.read(at - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        at = start
    return 0


def _sync_folder(folder: Path) -> None:
    place = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)
