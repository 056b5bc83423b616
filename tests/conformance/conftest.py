"""`pytest tests/conformance --cases DIR` runs the cases of a folder; without the option, those beside this file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from engine.python_functions.consent import ALL, ENVIRONMENT
from engine.runtime.in_process import in_process
from tests.conformance.case import Case, cases_in
from tests.conformance.covering import covering
from tests.conformance.judging import ONE_AND_SEVERAL, Verdict, judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
_AT_ONCE = 3
_VERDICTS = pytest.StashKey[dict[str, str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_VERDICTS] = {}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    given = metafunc.config.getoption("--cases")
    folder = Path(given) if given else HERE / "cases"
    not_yet = {} if given else json.loads((HERE / "not_yet.json").read_text())
    paths = cases_in(folder)
    if not given and "verdict" in metafunc.fixturenames:
        paths = sorted(covering(paths, 2))
    parameters = [pytest.param(path, id=path.stem, marks=_marks(not_yet.get(path.stem))) for path in paths]
    metafunc.parametrize("case", parameters, indirect=True, scope="session")


def _marks(reason: str | None) -> list[pytest.MarkDecorator]:
    """The mark of a case that cannot pass yet. If it passes, it fails until it is removed from the list."""
    return [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]


@pytest.fixture(scope="session", autouse=True)
def trusted() -> Iterator[None]:
    """Allows the Python code of all cases to run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(ENVIRONMENT, ALL)
        yield


@pytest.fixture(scope="session")
def case(request: pytest.FixtureRequest) -> Case:
    """One case."""
    return Case.read(request.param)


@pytest.fixture(scope="session")
def verdicts(
    spark: SparkSession, trusted: None, request: pytest.FixtureRequest
) -> Iterator[dict[str, Future[Verdict]]]:
    """The verdicts of all collected cases, run a few at a time: a small job spends most of its time waiting.

    Cases of another folder run on Spark, in one epoch and in several. All of the suite's own cases run locally in
    another test; here a selection runs in which each kind of step of a plan occurs twice. About half of the selection
    runs on Spark. The tasks of the others are pickled as for Spark but run in this process, since the scheduling of
    tasks takes most of the time of a small run. The number of epochs alternates between one and two: the golden traces
    and the operators' own cases test that both have the same output.
    """
    paths = {
        item.callspec.params["case"]
        for item in request.session.items
        if isinstance(item, pytest.Function) and "verdict" in item.fixturenames
    }
    is_own = not request.config.getoption("--cases")
    turns = ((1,), (2,)) if is_own else (ONE_AND_SEVERAL,)
    on_spark = covering(sorted(paths)) if is_own else paths
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield {
            path.stem: pool.submit(_judged, Case.read(path), spark, epochs, path not in on_spark)
            for path, epochs in zip(sorted(paths), cycle(turns), strict=False)
        }


def _judged(case: Case, spark: SparkSession, epochs: tuple[int, ...], in_this_process: bool) -> Verdict:
    with in_process() if in_this_process else nullcontext():
        return judge(case, spark, epochs)


@pytest.fixture
def verdict(case: Case, verdicts: dict[str, Future[Verdict]], request: pytest.FixtureRequest) -> Verdict:
    """The verdict of this case, noted for the summary."""
    found = verdicts[case.name].result()
    request.config.stash[_VERDICTS][case.name] = found.text
    return found


def pytest_unconfigure(config: pytest.Config) -> None:
    """Write "pass" or the first difference per case, and the number of equal cases, at the end of the output."""
    verdicts = config.stash.get(_VERDICTS, {})
    reporter: Any = config.pluginmanager.get_plugin("terminalreporter")
    if not verdicts or reporter is None:
        return
    for name, text in sorted(verdicts.items()):
        reporter.write_line(f"{name}: {text or 'pass'}")
    equal = sum(not text for text in verdicts.values())
    reporter.write_line(f"{equal} of {len(verdicts)} cases equal Flink")
