"""What a run costs, beside plain Spark and Flink, both sides in turn: `python -m tests.bench.bench_engine`.

    python -m tests.bench.bench_engine [--events N] [--keys N] [--workloads NAME,NAME] [--repeat N] [--engine local[2]]
        [--flink PYTHON] [--cold-flink] [--epochs N] [--memory 4g] [--data FOLDER] [--stores FOLDER] [--units N]
        [--limit S] [--nodes] [--json FILE]

Wall and CPU seconds of whole process trees. Ours is a run with the changelogs of all edges kept in DuckDB, from the
script's text to its end. CPU is also told in units: one is what plain Spark needs to read the same CSV into Parquet.
Flink's is a job into a sink that keeps nothing, from submitting it to its end, in the interpreter that --flink names
(one with apache-flink), with as many slots as the engine has cores. Each measurement has a fresh process, which has run
the same over the first 2,000 events before; with --cold-flink Flink's has not, so that its figures hold its start.

Beside the workloads of `tests/bench/workloads.py`, --workloads takes
    ten_million_word_freq   10 M events with 1 M keys through the word frequency, in a heap of 4 GB
    example_01              the session's start, the first run of example 01, and later ones
    wide_csv                CSV files with 18 to 1,000 columns
    load                    the store's load, beside DuckDB reading the same Parquet files into plain tables
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Final

from tests.bench import figures, report, turns
from tests.bench.machine import described
from tests.bench.workloads import DEFAULT, QUERIES

TEN_MILLION: Final = "ten_million_word_freq"
KNOWN: Final = (*QUERIES, TEN_MILLION, *figures.FIGURES)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. Returns 1 if a measurement failed."""
    given = _given(arguments)
    given.data.mkdir(parents=True, exist_ok=True)
    setting = turns.Setting(
        engine=given.engine,
        folder=given.data,
        limit_s=given.limit,
        repeat=given.repeat,
        epochs=given.epochs,
        memory=given.memory,
        flink=given.flink,
        cold_flink=given.cold_flink,
        stores=given.stores,
        units=given.units,
    )
    machine = described(given.flink)
    cases = [_case(name, given) for name in given.workloads if name not in figures.FIGURES]
    turns.run(cases, setting)
    measures = [figures.FIGURES[name] for name in given.workloads if name in figures.FIGURES]
    found = [figure for measure in measures for figure in measure(setting, given.events, given.keys)]
    sys.stdout.write(f"{machine}\n{_described(given)}\n\n{report.text(cases, found, nodes=given.nodes)}")
    if given.json:
        whole = {"machine": machine, "arguments": vars(given), "cases": [*map(asdict, cases)]}
        whole["figures"] = [asdict(figure) for figure in found]
        given.json.write_text(json.dumps(whole, indent=1, default=str) + "\n")
    return int(report.has_failed(cases, found))


def _case(name: str, given: argparse.Namespace) -> turns.Case:
    if name == TEN_MILLION:
        return turns.Case(name, "word_freq", 10_000_000, 1_000_000, memory="4g")
    return turns.Case(name, name, given.events, given.keys)


def _described(given: argparse.Namespace) -> str:
    epochs = "as many epochs as the engine chooses" if given.epochs is None else f"{given.epochs} epochs"
    start = " Flink's figures hold its start." if given.flink and given.cold_flink else ""
    return f"{given.engine}, {epochs}, medians of {given.repeat} rounds.{start}"


def _given(arguments: Sequence[str] | None) -> argparse.Namespace:
    description, _, usage = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m tests.bench.bench_engine",
        description=description,
        epilog=usage.partition("\n\n")[2].partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    data = Path(tempfile.gettempdir()) / "changelog-studio-bench"
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    parser.add_argument("--workloads", type=_names, default=list(DEFAULT), help=f"of: {', '.join(KNOWN)}")
    parser.add_argument("--repeat", type=int, default=1, help="rounds, of which the medians are told")
    parser.add_argument(
        "--engine",
        default="local[2]",
        help="local[N], an engine by name, or `fetched`: a server beside, of which every file is sent",
    )
    parser.add_argument("--flink", default="", metavar="PYTHON", help="an interpreter that has apache-flink")
    parser.add_argument("--cold-flink", action="store_true", help="do not warm Flink up")
    parser.add_argument("--epochs", type=int, help="of our runs; without it as the engine chooses")
    parser.add_argument("--memory", default="", help="of Spark's heap, as 4g")
    parser.add_argument("--data", type=Path, default=data, help=f"for the input, used again ({data})")
    parser.add_argument("--stores", type=Path, metavar="FOLDER", help="keep the store of each workload there")
    parser.add_argument("--units", type=int, default=3, metavar="N", help="how often plain Spark runs, at least")
    parser.add_argument("--limit", type=float, default=3600, metavar="S", help="for one process")
    parser.add_argument("--nodes", action="store_true", help="tell each part, node and epoch")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything that was measured")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    if unknown := [name for name in names if name not in KNOWN]:
        message = f"{', '.join(unknown)}: there is no such workload; there are {', '.join(KNOWN)}"
        raise argparse.ArgumentTypeError(message)
    return names


if __name__ == "__main__":
    sys.exit(main())
