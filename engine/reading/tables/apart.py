"""Reads a database table with computed values, such as a view, in a separate process.

The computation comes from an untrusted file: one function may run for hours, and the database cannot be interrupted
meanwhile. The process is killed if no rows arrive in time, if nobody reads on, and when the parent process ends.

    the request, a line of JSON       module, file, table, named, event_time, node
    the answers, a line of JSON each  {"columns": [[name, type]]}, {"rows": [[line, values, broken]]}, {"end": true},
                                      {"error": class, "facts": what it holds}
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final

from engine import errors
from engine.errors import SourceError, StudioError
from engine.model.schema import Column
from engine.reading.files.input_files import InputFile
from engine.reading.tables import databases
from engine.reading.tables.kept_rows import TextRow
from engine.scratch import scratch

_ROOT: Final = Path(__file__).resolve().parents[3]
_ROWS: Final = 1000
_PIECE: Final = 1 << 20


class Apart:
    """A module that reads a kind of database, called in a separate process."""

    def __init__(self, module: str) -> None:
        self._module = module

    @lru_cache(maxsize=64)  # noqa: B019 - there is one for each kind of database
    def columns_of(self, file: InputFile, table: str, node: str) -> tuple[Column, ...]:
        """The columns of a table. Raises SourceError."""
        request = self._request(file, table, node) | {"rows": False}
        [answer] = _answers(request, file, node, databases.LOOK_S)
        return tuple(Column(name, type_) for name, type_ in answer["columns"])

    def rows_of(
        self, file: InputFile, table: str, named: Sequence[str], event_time: str | None, node: str
    ) -> Iterator[TextRow]:
        """The rows in their order, numbered from 1. Raises SourceError."""
        request = self._request(file, table, node) | {"rows": True, "named": list(named), "event_time": event_time}
        for answer in _answers(request, file, node, databases.ROWS_S):
            for line, values, broken in answer["rows"]:
                yield TextRow(line, values, broken)

    def _request(self, file: InputFile, table: str, node: str) -> dict[str, Any]:
        at = {"path": file.path, "name": file.name, "size": file.size, "modified_ns": file.modified_ns}
        return {"module": self._module, "file": at, "table": table, "node": node}


def _answers(request: dict[str, Any], file: InputFile, node: str, seconds: float) -> Iterator[dict[str, Any]]:
    # The folder with its sorting files on disk is removed with it, even if the process is killed.
    with scratch("reading") as temporary:
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", __spec__.name],
                cwd=_ROOT,
                env={**os.environ, "TMPDIR": str(temporary), "SQLITE_TMPDIR": str(temporary)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # Ctrl-C is for the studio, which ends the processes that it started.
                start_new_session=True,
            )
        except OSError as error:
            message = f"path: {file.name} cannot be read: no process can be started for it: {error}. Try again."
            raise SourceError(message, node, "path") from error
        try:
            assert process.stdin is not None
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            for line in _lines(process, seconds):
                answer = json.loads(line)
                if "error" in answer:
                    raise _told(answer)
                if "end" in answer:
                    return
                yield answer
            message = (
                f"path: the process that reads {file.name} ended by itself (status {process.wait()}). A view may ask "
                "for more than there is: save its result as a table, and read that."
            )
            raise SourceError(message, node, "path")
        except TimeoutError as error:
            raise SourceError(databases.in_vain(file.name, seconds), node, "path") from error
        finally:
            _end(process)


def _lines(process: subprocess.Popen[bytes], seconds: float) -> Iterator[bytes]:
    """The output of the process, line by line. Raises TimeoutError if it writes nothing for this time."""
    assert process.stdout is not None
    begun: list[bytes] = []
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        until = time.monotonic() + seconds
        while selector.select(max(0.0, until - time.monotonic())):
            piece = os.read(process.stdout.fileno(), _PIECE)
            if not piece:
                return
            *whole, rest = piece.split(b"\n")
            for line in whole:
                yield b"".join([*begun, line])
                begun.clear()
            begun.append(rest)
            until = time.monotonic() + seconds
    raise TimeoutError


def _told(answer: dict[str, Any]) -> StudioError:
    """The error that the process raised."""
    kind = getattr(errors, answer["error"])
    error: StudioError = kind.__new__(kind)
    facts: dict[str, Any] = {
        name: tuple(fact) if isinstance(fact, list) else fact for name, fact in answer["facts"].items()
    }
    StudioError.__init__(error, facts["sentence"], facts["node"], facts["field"])
    vars(error).update(facts)
    return error


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        try:
            pipe.close()
        except OSError:
            # The request was never read.
            continue
    process.wait()


def _answer(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """In the child process: the answers of the module."""
    module = import_module(request["module"])
    file, table, node = InputFile(**request["file"]), request["table"], request["node"]
    try:
        if not request["rows"]:
            columns = module.columns_of(file, table, node)
            yield {"columns": [[column.name, column.type] for column in columns]}
        else:
            rows = iter(module.rows_of(file, table, request["named"], request["event_time"], node))
            # The first row alone: a preview need not wait for many.
            some = list(islice(rows, 1))
            while some:
                yield {"rows": [[row.line, list(row.values), row.broken] for row in some]}
                some = list(islice(rows, _ROWS))
        yield {"end": True}
    except StudioError as error:
        yield {"error": type(error).__name__, "facts": vars(error)}


def _end_with_parent() -> None:
    while os.read(0, 1):
        pass
    os._exit(1)


def _main() -> None:
    request = bytearray()
    while (byte := os.read(0, 1)) not in (b"\n", b""):
        request += byte
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for answer in _answer(json.loads(request)):
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main()
