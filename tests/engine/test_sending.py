"""Code for workers: pickled once, in its current state, and complete for a process that cannot import it."""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from threading import Lock
from types import ModuleType
from typing import Any

import pytest

from engine.contract import frames
from engine.contract.sending import check_sendable, packed, sent, submodules_listed
from engine.model.changelog import APPEND, RowKind
from engine.model.position import ordinal
from engine.model.schema import Column, Schema
from engine.model.type_texts import spark_type
from engine.model.types import STRING
from engine.runtime.arrivals import units
from engine.sql.functions import intervals

RECEIVER = """
import pickle, sys
call = pickle.load(sys.stdin.buffer)
assert not any(name.partition(".")[0] == "engine" for name in sys.modules)
print(*call(iter("ab")))
assert not any(name.partition(".")[0] == "engine" for name in sys.modules)
"""


@pytest.fixture(autouse=True)
def by_value() -> None:
    """Pickle our code by value, as in every session."""
    from pyspark.cloudpickle import register_pickle_by_value

    import engine

    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]


def positions(*names: str) -> Callable[[Iterator[Any]], Iterator[str]]:
    """A typical task: a nested function with values of our classes, our functions, and their own callees."""
    schema = Schema(tuple(Column(name, STRING) for name in names))

    def called(given: Iterator[Any]) -> Iterator[str]:
        for at, value in enumerate(given):
            assert isinstance(schema, Schema)
            yield f"{value}:{ordinal(at).hex()}:{schema.names[at]}:{RowKind(at).name}:{APPEND}"

    return called


def elsewhere(task: Callable[..., Iterator[str]], folder: Path, receiver: str = RECEIVER) -> tuple[str, bytes]:
    """What a process that cannot import our code makes of `ab` with a task, and its errors."""
    from pyspark.cloudpickle import dumps

    received = subprocess.run(
        [sys.executable, "-P", "-c", receiver],
        input=dumps(sent(task)),  # type: ignore[no-untyped-call]
        cwd=folder,
        capture_output=True,
        check=False,
    )
    return received.stdout.decode().strip(), received.stderr


def test_code_is_pickled_once_for_all_tasks_that_use_it() -> None:
    code, made_of = packed(frames.ddl)
    again, with_more = packed(partial(frames.ddl, *map(str, range(1000))))
    assert again is code
    assert len(code) > 1000 > len(made_of)
    assert len(with_more) > 1000
    assert packed(ordinal)[0] is not code


def test_what_a_name_means_now_is_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    changes: list[tuple[Callable[..., Any], Callable[[pytest.MonkeyPatch], None]]] = [
        (frames.ddl, lambda patch: patch.setattr(frames, "_ddl", ordinal)),
        (units.units_of, lambda patch: patch.setattr(units.Unit, "records", 1)),
        (intervals.interval_ms, lambda patch: patch.setitem(intervals._MS, "DAY", 1)),
    ]
    for function, change in changes:
        before = packed(function)[0]
        assert packed(function)[0] is before
        with monkeypatch.context() as patch:
            change(patch)
            assert packed(function)[0] != before
        assert packed(function)[0] == before


def test_a_task_that_no_worker_could_receive_is_refused_every_time() -> None:
    check_sendable(partial(frames.ddl, "a"))
    for _ in range(2):
        with pytest.raises(TypeError, match="cannot pickle '_thread.lock' object"):
            check_sendable(partial(frames.ddl, Lock()))


def test_another_thread_may_import_while_code_is_pickled(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collection of garbage lets other threads run; here one comes with nearly every allocation, and imports."""
    imported: list[str] = []

    def import_another(_phase: str, _info: dict[str, int]) -> None:
        imported.append(f"imported_meanwhile_{len(imported)}")
        monkeypatch.setitem(sys.modules, imported[-1], ModuleType(imported[-1]))

    threshold = gc.get_threshold()
    gc.callbacks.append(import_another)
    gc.set_threshold(1)
    try:
        code, _ = packed(frames.ddl)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(import_another)
    assert imported
    assert code == packed(frames.ddl)[0]


def test_a_process_that_cannot_import_our_code_has_all_of_it(tmp_path: Path) -> None:
    expected = " ".join(positions("x", "y")(iter("ab")))
    assert elsewhere(positions("x", "y"), tmp_path) == (expected, b"")


def test_a_function_with_a_cache_is_sent_as_any_other(tmp_path: Path) -> None:
    """Cloudpickle alone sends its name. This one calls itself."""

    def typed(given: Iterator[Any]) -> Iterator[str]:
        yield from (str(spark_type(f"array<{name}>")) for name in given)

    assert elsewhere(typed, tmp_path) == ("array<a> array<b>", b"")


def test_submodules_are_found_as_cloudpickle_finds_them() -> None:
    from pyspark.cloudpickle import cloudpickle

    def found(function: Any) -> list[str]:
        modules = cloudpickle._find_imported_submodules(function.__code__, function.__globals__.values())
        return [module.__name__ for module in modules]

    functions = [cloudpickle.dumps, found, *(one for one in vars(units).values() if hasattr(one, "__code__"))]
    functions.append(eval("lambda: collections.abc", {"collections": __import__("collections.abc")}))
    expected = [found(one) for one in functions]
    assert expected[-1] == ["collections.abc"]
    with submodules_listed():
        assert [found(one) for one in functions] == expected


def test_a_worker_makes_the_code_of_its_tasks_once(tmp_path: Path) -> None:
    def called(given: Iterator[Any]) -> Iterator[str]:
        yield str(id(Schema))

    again = "import pickle, sys; task = sys.stdin.buffer.read(); " + "print(*pickle.loads(task)(())); " * 2
    made, errors = elsewhere(called, tmp_path, again)
    assert not errors
    assert len(made.split()) == 2
    assert len(set(made.split())) == 1
