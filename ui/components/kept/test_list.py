"""The list of tests with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import StudioError
from engine.kept.judging import Difference
from engine.model.changelog import SYMBOLS, RowKind
from ui.components.grid import Cell, Row, Table
from ui.runs.kept_tests import Version, kept_tests
from ui.shell import words


def test_table(versions: Sequence[Version], chosen: str | None) -> Table:
    """One line per test."""
    columns = ("", "test", "what it shows", "expects", "of", "events")
    rows = [
        Row(
            (
                verdict_cell(version),
                Cell(version.test.name, is_strong=True),
                Cell(version.test.manifest.words),
                Cell("the final table" if version.test.manifest.expects == "table" else _counting(version)),
                Cell(", ".join(version.test.manifest.edges)),
                Cell(_records(version), is_number=True),
            ),
            pick=version.test.folder.name,
            is_current=version.test.folder.name == chosen,
        )
        for version in versions
    ]
    return Table(columns, rows, frozenset({columns[0], columns[5]}))


def _counting(version: Version) -> str:
    wanted = version.test.manifest
    left_out = [what for what, counts in (("order", wanted.order), ("kinds", wanted.kinds)) if not counts]
    return f"the changelog without {' and '.join(left_out)}" if left_out else "the changelog"


def _records(version: Version) -> str:
    try:
        return f"{version.test.records:,}"
    except StudioError:
        return "unreadable"


def verdict_cell(version: Version) -> Cell:
    """Green or red, or that it has not run."""
    tests = kept_tests()
    verdict = tests.verdict(version)
    if verdict is None:
        return Cell("waiting" if version.key in {waiting.key for waiting in tests.left} else "not run")
    if verdict.is_same:
        return Cell("as expected", tone="good")
    return Cell("cannot run" if verdict.problem else "changed", tone="bad")


def _cell(name: str, value: object) -> Cell:
    if name == "kind" and isinstance(value, str) and value in SYMBOLS:
        return Cell(kinds=(RowKind.of(value),))
    return Cell(words.value(value))


def difference_table(difference: Difference) -> Table:
    """The records around the first difference."""
    names = difference.columns
    rows = [
        Row(
            (
                Cell(who, tone={"expected": "good", "got": "bad"}.get(who, "")),
                *(
                    Cell(kinds=(RowKind.of(value),))
                    if name == "kind" and value in SYMBOLS
                    else Cell(words.value(value))
                    for name, value in zip(names, values, strict=False)
                ),
                *(Cell("") for _ in names[len(values) :]),
            )
        )
        for who, values in difference.first
    ]
    return Table(("", *names), rows, narrow=frozenset({"kind"}))
