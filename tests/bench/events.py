"""The input files, created once per folder and reused: the same parameters give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

WARM_UP_EVENTS: Final = 2000


def events(folder: Path, count: int, keys: int) -> Path:
    """A CSV of `seq,k,v,ts` without a header, with event times up to 6 s out of order."""

    def write(file: Path) -> None:
        random = np.random.default_rng(7)
        seq = np.arange(1, count + 1)
        times = 1_700_000_000_000 + seq // 4
        columns = {"seq": seq, "k": random.integers(0, keys, count), "v": random.integers(0, 1_000_000, count)}
        table = pa.table(columns | {"ts": times + random.integers(-6000, 1, count)})
        pa.csv.write_csv(table, file, pa.csv.WriteOptions(include_header=False))

    return _made(folder / f"events-{count}-{keys}.csv", write)


def first_events(file: Path) -> Path:
    """The beginning of a file of events, for the warm-up."""

    def write(small: Path) -> None:
        with file.open() as lines, small.open("w") as out:
            out.writelines(line for _, line in zip(range(WARM_UP_EVENTS), lines, strict=False))

    return _made(file.with_name(f"{file.stem}-first.csv"), write)


def wide(folder: Path, columns: int, rows: int, *, texts: bool = False) -> Path:
    """A CSV with a header and many columns of integers or of texts."""

    def write(file: Path) -> None:
        numbers = np.random.default_rng(7).integers(0, 1_000_000, (rows, columns))
        table = pd.DataFrame(numbers, columns=[f"c{n}" for n in range(columns)])
        (table.map(lambda number: f"text {number}") if texts else table).to_csv(file, index=False)

    return _made(folder / f"{'texts' if texts else 'integers'}-{columns}-{rows}.csv", write)


def _made(file: Path, write: Callable[[Path], None]) -> Path:
    """The file, written under another name and then renamed, so that an existing file is always complete."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.with_suffix(".part")
        write(draft)
        draft.replace(file)
    return file
