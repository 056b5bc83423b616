"""The results as text: tables for a README."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from tests.bench import process_tree
from tests.bench.child import Ended
from tests.bench.figures import Figure
from tests.bench.measured import Measured, Spent, added
from tests.bench.phases import KEEPING, PLANNING, SOURCES
from tests.bench.turns import Case, median

_FIXED = (PLANNING, SOURCES, KEEPING)


def text(cases: Sequence[Case], figures: Sequence[Figure], *, nodes: bool) -> str:
    """All tables, and the reasons for missing results. nodes: also a table of parts for each case."""
    found = []
    if cases:
        found += [_units(cases), _costs(cases), _phases(cases)]
        found += [_parts(case) for case in cases if nodes]
    if figures:
        found.append(_figures(figures))
    if not process_tree.IS_AVAILABLE:
        found.append("CPU seconds and memory are not available: this system has no /proc.")
    found += ["\n".join(f"{what}: {why}" for what, why in dict.fromkeys(_missing(cases, figures)))]
    return "\n\n".join(filter(None, found)) + "\n"


def has_failed(cases: Sequence[Case], figures: Sequence[Figure]) -> bool:
    """True if a result is missing."""
    return any(True for _ in _missing(cases, figures))


def _missing(cases: Sequence[Case], figures: Sequence[Figure]) -> Iterator[tuple[str, str]]:
    for case in cases:
        for ended in (*case.units, *case.studio, *case.flink):
            if ended.why:
                yield f"{case.name}, {ended.side}", ended.why
    for figure in figures:
        if figure.why:
            yield figure.of, figure.why


def _units(cases: Sequence[Case]) -> str:
    """The time of plain Spark for each input."""
    lines = []
    for events, keys in dict.fromkeys((case.events, case.keys) for case in cases):
        ended = _units_of(cases, events, keys)
        each = sorted(one.measured.whole.cpu_s or 0 for one in ended if one.measured is not None)
        spread = f", from {each[0]:.1f} to {each[-1]:.1f} in {len(each)}" if each else ""
        wall, cpu = median(ended, _whole), median(ended, _whole, "cpu_s")
        lines.append(
            f"{events:,} events, {keys:,} keys. Plain Spark, CSV to Parquet, the unit: "
            f"wall {_number(wall)} s, CPU {_number(cpu)} s{spread}"
        )
    return "\n".join(lines)


def _costs(cases: Sequence[Case]) -> str:
    heading = ["workload", "wall s", "CPU s", "units", "Flink: wall s", "ours/Flink", "CPU s", "ours/Flink"]
    heading += ["with background: CPU us/event", "records kept", "DuckDB MB", "JVM MB", "Python MB", "Flink MB"]
    rows = []
    for case in cases:
        wall, cpu = median(case.studio, _whole), median(case.studio, _whole, "cpu_s")
        flink_wall, flink_cpu = median(case.flink, _whole), median(case.flink, _whole, "cpu_s")
        kept = next((one.measured for one in case.studio if one.measured is not None), None)
        row = [case.name, _number(wall), _number(cpu), _ratio(cpu, _unit(cases, case))]
        row += [_number(flink_wall), _ratio(wall, flink_wall), _number(flink_cpu), _ratio(cpu, flink_cpu)]
        row += [_number(sum(epoch.cpu_s or 0 for epoch in kept.epochs) / case.events * 1e6) if kept else "-"]
        row += [f"{kept.records:,}" if kept and kept.records is not None else "-"]
        row += [_megabytes(kept.file_bytes if kept else None)]
        row += [_megabytes(_peak(case.studio, role)) for role in (process_tree.JAVA, process_tree.PYTHON)]
        rows.append([*row, _megabytes(_peak(case.flink, process_tree.JAVA))])
    return _table(heading, rows)


def _phases(cases: Sequence[Case]) -> str:
    """Wall seconds, CPU seconds and units of planning, sources, nodes and keeping."""
    names = (PLANNING, SOURCES, "nodes", KEEPING)
    heading = ["workload", *(f"{name}: wall s | CPU s | units" for name in names)]
    rows = []
    for case in cases:
        row = [case.name]
        for name in names:
            wall, cpu = (median(case.studio, partial(_phase, name), amount) for amount in ("wall_s", "cpu_s"))
            row += [_number(wall), _number(cpu), _ratio(cpu, _unit(cases, case))]
        rows.append(row)
    return _table(" | ".join(heading).split(" | "), rows)


def _parts(case: Case) -> str:
    """Every part and epoch of a case by process, and the engine's figures of its nodes."""
    known = [one.measured for one in case.studio if one.measured is not None]
    names = dict.fromkeys(part.name for measured in known for part in measured.parts)
    roles = (process_tree.JAVA, process_tree.DRIVER, process_tree.WORKERS)
    rows = []
    for name in names:
        spent = Measured(tuple(measured.part(name) for measured in known)).part(name)
        rows.append([name, _number(spent.wall_s), _number(spent.cpu_s), *(_number(spent.cpu.get(r, 0)) for r in roles)])
    told = [[node.name, _number(node.wall_s), f"{node.records:,}"] for node in known[-1].nodes] if known else []
    parts = _table([case.name, "wall s", "CPU s", *roles], rows)
    epochs = _table(
        [f"{case.name}: epoch", "wall s", "CPU s", *roles, *(f"{role} MB" for role in roles), "DuckDB MB"],
        [
            [epoch.name, _number(epoch.wall_s), _number(epoch.cpu_s)]
            + [_number(epoch.cpu.get(role, 0)) for role in roles]
            + [_megabytes(size) for size in (*(epoch.peak.get(role, 0) for role in roles), epoch.file_bytes)]
            for epoch in (known[-1].epochs if known else ())
        ],
    )
    return f"{parts}\n\n{_table([f'{case.name}: node', 'wall s', 'records'], told)}\n\n{epochs}"


def _figures(figures: Sequence[Figure]) -> str:
    rows = [[f"{figure.of}: {figure.part}", _number(figure.wall_s, 2), _number(figure.cpu_s)] for figure in figures]
    return _table(["figure", "wall s", "CPU s"], rows)


def _phase(name: str, measured: Measured) -> Spent:
    return measured.part(name) if name in _FIXED else added(name, (p for p in measured.parts if p.name not in _FIXED))


def _whole(measured: Measured) -> Spent:
    return measured.whole


def _units_of(cases: Sequence[Case], events: int, keys: int) -> list[Ended]:
    return [unit for case in cases if (case.events, case.keys) == (events, keys) for unit in case.units]


def _unit(cases: Sequence[Case], case: Case) -> float | None:
    return median(_units_of(cases, case.events, case.keys), _whole, "cpu_s")


def _peak(ended: Sequence[Ended], role: str) -> float | None:
    return max((one.peak[role] for one in ended if role in one.peak), default=None)


def _number(value: float | None, digits: int = 1) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _ratio(ours: float | None, theirs: float | None) -> str:
    return "-" if ours is None or not theirs else f"{ours / theirs:.2f}"


def _megabytes(size: float | None) -> str:
    return "-" if size is None else f"{size / 2**20:,.0f}"


def _table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table: names aligned to the left, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(heading, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return f"| {first[0]:<{first[1]}} | " + " | ".join(f"{cell:>{width}}" for cell, width in others) + " |"

    rule = f"|-{'-' * widths[0]}-|" + "".join(f"-{'-' * width}:|" for width in widths[1:])
    return "\n".join([line(heading), rule, *map(line, rows)])
