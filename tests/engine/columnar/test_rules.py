"""Rules that are loops: compiled they come to what they come to interpreted, and nothing waits for the compiler."""

from __future__ import annotations

import marshal
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.columnar import rules
from engine.columnar.rules import MANY, Rule, compiler, rule, rule_of
from engine.contract.columnar_kernel import Longs
from engine.windows.sessions import sessions

MANY_VALUES = np.arange(MANY)


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A process that knows no compiled rule, with an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delitem(sys.modules, "changelog_studio_compiled", raising=False)
    yield
    sys.modules.pop("changelog_studio_compiled", None)


@rule
def running_sums(values: Longs) -> Longs:
    total = 0
    sums = list(range(0))
    for value in values:
        total += value
        sums.append(total)
    return np.array(sums, np.int64)


@rule
def with_a_context(values: Longs) -> Longs:
    with suppress(ValueError):
        return np.array(values[::-1], np.int64)
    return np.array(values, np.int64)


records = st.tuples(st.integers(0, 2), st.integers(-20, 40), st.integers(-20, 40))
kept = st.tuples(st.integers(0, 3), st.integers(-40, 20))


@given(st.lists(records, max_size=25), st.lists(kept, max_size=6, unique_by=lambda each: each), st.sampled_from([1, 7]))
def test_sessions_compiled_are_those_interpreted(
    given_: list[tuple[int, int, int]], given_kept: list[tuple[int, int]], gap: int
) -> None:
    groups, times, marks = np.array(sorted(given_), np.int64).reshape(-1, 3).T
    kept_groups, kept_starts = np.array(sorted(given_kept), np.int64).reshape(-1, 2).T
    arguments = (groups, times, marks, kept_groups, kept_starts, kept_starts + gap, gap)
    compiled = rule_of(sessions).compiled(waits=True)
    assert compiled is not None
    found = compiled(*map(np.ascontiguousarray, arguments[:-1]), gap)
    for one, other in zip(found, rule_of(sessions).interpreted(*arguments), strict=True):
        assert one.dtype == other.dtype == np.int64
        assert one.tolist() == other.tolist()


@pytest.mark.usefixtures("process")
def test_few_records_are_interpreted() -> None:
    assert running_sums(np.arange(4)).tolist() == [0, 1, 3, 6]
    assert rule_of(running_sums).compiled(is_wanted=False) is None


@pytest.mark.usefixtures("process")
def test_the_first_call_does_not_wait_for_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    may_go_on, compiled = threading.Event(), rules._compiled

    def slowly(*arguments: Any) -> Callable[..., Any] | None:
        may_go_on.wait()
        return compiled(*arguments)

    monkeypatch.setattr(rules, "_compiled", slowly)
    assert running_sums(MANY_VALUES)[-1] == MANY * (MANY - 1) // 2
    assert rule_of(running_sums).compiled() is None
    may_go_on.set()
    function = rule_of(running_sums).compiled(waits=True)
    assert function is not None
    assert running_sums(MANY_VALUES).tolist() == function(MANY_VALUES).tolist()


@pytest.mark.usefixtures("process")
def test_arrays_of_arrow_that_are_read_only_do_not_need_a_function_of_their_own() -> None:
    function: Any = rule_of(running_sums).compiled(waits=True)
    values = np.arange(MANY)
    values.flags.writeable = False
    assert running_sums(values)[-1] == MANY * (MANY - 1) // 2
    assert len(function.signatures) == 1


@pytest.mark.usefixtures("process")
def test_code_that_is_there_is_loaded_while_another_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    assert rule_of(running_sums).compiled(waits=True) is not None
    monkeypatch.delitem(sys.modules, "changelog_studio_compiled")
    with rules._alone(rules._cache_folder()):
        loading = threading.Thread(target=rule_of(running_sums).compiled, daemon=True)
        loading.start()
        loading.join(timeout=10)
        assert not loading.is_alive()
    assert rule_of(running_sums).compiled() is not None


@pytest.mark.parametrize("of", [running_sums, sessions])
def test_a_worker_finds_what_another_one_compiled_of_the_same_text(of: Callable[..., Any]) -> None:
    code = rule_of(of).function.__code__
    copy = FunctionType(marshal.loads(marshal.dumps(code)), rule_of(of).function.__globals__)
    assert Rule(copy).stamp == rule_of(of).stamp
    other = code.replace(co_consts=(*code.co_consts[:-1], 17))
    assert Rule(FunctionType(other, copy.__globals__)).stamp != rule_of(of).stamp


@pytest.mark.usefixtures("process")
def test_a_process_without_numba_interprets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiler() is None
    assert rule_of(running_sums).compiled(waits=True) is None
    assert running_sums(MANY_VALUES)[-1] == MANY * (MANY - 1) // 2


@pytest.mark.usefixtures("process")
def test_what_cannot_be_compiled_is_interpreted_and_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert rule_of(with_a_context).compiled(waits=True) is None
    assert with_a_context(MANY_VALUES)[0] == MANY - 1
    assert capsys.readouterr().err.startswith("with_a_context is interpreted: ")


@pytest.mark.usefixtures("process")
def test_without_a_folder_that_can_be_written_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "cache_folders", lambda environ: [Path("/proc/nowhere")])
    assert rule_of(running_sums).compiled(waits=True) is not None


@pytest.mark.slow
def test_another_process_finds_the_code_outside_of_the_checkout(tmp_path: Path) -> None:
    text = (
        "from engine.windows.sessions import sessions\n"
        "from engine.columnar.rules import compiler, rule_of\n"
        "print(compiler(), sum(rule_of(sessions).compiled({}).stats.cache_hits.values()))"
    )
    environ = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    # The second process need not wait: it loads what the first one compiled.
    for waits, hits in (("waits=True", 0), ("", 1)):
        told = subprocess.run(
            [sys.executable, "-c", text.format(waits)], env=environ, capture_output=True, text=True, check=True
        )
        assert told.stdout.split() == ["Numba", version("numba"), str(hits)]
    kept_files = sorted(file.suffix for file in (tmp_path / "changelog-studio" / "compiled").iterdir())
    assert kept_files == [".nbc", ".nbc", ".nbi", ".nbi"]
