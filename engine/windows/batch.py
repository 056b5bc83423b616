"""The windows of a table's rows in Spark SQL, without those for which a row is late."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.contract.frames import END_MS, PLACED, SEQ, START_MS, WATERMARK_MS
from engine.model.windowing import Windowing, WindowKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WINDOW = (START_MS, END_MS)


def in_windows(records: DataFrame, late: DataFrame | None, time_ms: str, windowing: Windowing) -> DataFrame:
    """Each record once per window [START_MS, END_MS) for which it is not late; not for sessions."""
    size, slide, offset = windowing.size_ms, windowing.slide_ms, windowing.offset_ms
    timed = records.selectExpr("*", f"{time_ms} AS __t")
    start = f"__t - pmod(__t - ({offset}), {size})"
    match windowing.kind:
        case WindowKind.HOP:
            last = f"(__t - pmod(__t - ({offset}), {slide}))"
            starts = f"explode(sequence({last} - {(size - 1) // slide * slide}, {last}, CAST({slide} AS BIGINT)))"
            bound = timed.selectExpr("*", f"{starts} AS {START_MS}").selectExpr("*", f"{START_MS} + {size} AS {END_MS}")
            bound = bound.where(f"__t < {END_MS}")
        case WindowKind.CUMULATE:
            ends = f"__t - pmod(__t - {START_MS}, {slide}) + {slide}, {START_MS} + {size}, CAST({slide} AS BIGINT)"
            whole = timed.selectExpr("*", f"{start} AS {START_MS}")
            bound = whole.selectExpr("*", f"explode(sequence({ends})) AS {END_MS}")
        case _:
            bound = timed.selectExpr("*", f"{start} AS {START_MS}").selectExpr("*", f"{START_MS} + {size} AS {END_MS}")
    return not_late(bound.drop("__t"), late, by_window=True)


def in_their_windows(records: DataFrame, late: DataFrame | None, bounds_ms: tuple[str, ...]) -> DataFrame:
    """Each record that has an attached window, with its bounds in ms, unless the record is late for it."""
    start, end = bounds_ms
    bound = records.selectExpr("*", f"{start} AS {START_MS}", f"{end} AS {END_MS}")
    return not_late(bound.where(f"{START_MS} IS NOT NULL AND {END_MS} IS NOT NULL"), late, by_window=True)


def not_late(records: DataFrame, late: DataFrame | None, *, by_window: bool = False) -> DataFrame:
    """The records without those of the late ledger. by_window: late records are removed from missed windows only."""
    if late is None:
        return records
    places = [*PLACED, *(WINDOW if by_window else ())]
    return records.join(late.select(*places).distinct(), places, "left_anti")


def bounds(*, with_time: bool) -> tuple[str, ...]:
    """A window's start, end and, with_time, last millisecond, as timestamps."""
    times = (f"timestamp_millis({START_MS})", f"timestamp_millis({END_MS})")
    return (*times, f"timestamp_millis({END_MS} - 1)") if with_time else times


def in_sessions(
    records: DataFrame,
    late: DataFrame | None,
    watermarks: DataFrame,
    time_ms: str,
    windowing: Windowing,
    keys: Sequence[str],
    allowed_lateness_ms: int,
) -> DataFrame:
    """Each record that is not late, with the session [START_MS, END_MS) of its key. keys: as SQL.

    A session ends if no record follows within the gap. A record that arrives after the session was removed begins a
    new one. A record that is retracted later still extends its session.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    gap_ms = windowing.size_ms
    timed = not_late(records, late).join(watermarks, SEQ, "left")
    timed = timed.selectExpr("*", f"{time_ms} AS __t", *(f"{key} AS __s{at}" for at, key in enumerate(keys)))
    group = [f.col(f"__s{at}") for at in range(len(keys))]
    in_time = Window.partitionBy(*group).orderBy("__t", *PLACED)
    before, after = f.lag("__t").over(in_time), f.lead("__t").over(in_time)
    own = f.struct(*PLACED)
    is_first = f.lag(own).over(in_time) > own
    gone = f.coalesce(f.col(WATERMARK_MS) >= before + gap_ms - 1 + allowed_lateness_ms, f.lit(False))
    # The neighbours of the record in time were within one gap already, which kept the session open.
    bridged = f.coalesce((f.lead(own).over(in_time) < own) & (after - before <= gap_ms), f.lit(False))
    joins = (f.col("__t") - before <= gap_ms) & (is_first | ~gone | bridged)
    begins = (~f.coalesce(joins, f.lit(False))).cast("int")
    numbered = timed.withColumn("__begins", begins).withColumn("__session", f.sum("__begins").over(in_time))
    session = Window.partitionBy(*group, f.col("__session"))
    return (
        numbered.withColumn(START_MS, f.min("__t").over(session))
        .withColumn(END_MS, f.max("__t").over(session) + gap_ms)
        .drop("__t", "__begins", "__session", WATERMARK_MS, *(f"__s{at}" for at in range(len(keys))))
    )
