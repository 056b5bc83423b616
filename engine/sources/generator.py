"""A seeded generator: the same parameters give the same records on every engine and with every partitioning.

Every value is a hash of (seed, purpose, record number), so it does not depend on the process that computes it. The time
of record n is start + n * 1000 / rate ms. Disorder and spikes move the times of some records back, as if they had been
delayed. A duplicate repeats the previous record in every column.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from engine.contract.derived import Derived
from engine.contract.frames import ORDINAL
from engine.contract.parameters import Duration, parameter
from engine.contract.source import SourceFrames
from engine.model.schema import Column, Schema
from engine.model.types import BIGINT, STRING, TIMESTAMP
from engine.reading.flink_table import create_table
from engine.reading.paced import START_MS, MadeUp, Seed, Start
from engine.reading.typed.columns import derive_source

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import SparkSession

# Every eighth record is never a duplicate, so that the original is at most seven records back.
_BLOCK: Final = 8
_MOST_DUPLICATES: Final = (_BLOCK - 1) / _BLOCK


class Generator(MadeUp):
    """Generated records."""

    operator: ClassVar[str] = "generator"
    title: ClassVar[str] = "Generator"
    summary: ClassVar[str] = (
        "Generated records with skew, disorder, duplicates and late records; the same in every run."
    )

    event_time: str | None = parameter(
        "Event time", "The column with the time at which a record happened.", default="ts"
    )
    seed: Seed = 1
    start_ms: Start = START_MS
    keys: int = parameter("Keys", "The number of different keys, at most.", default=10, ge=1, le=1 << 40)
    skew: float = parameter(
        "Skew", "0: all keys equally often; 1: like words in a text (Zipf); higher: steeper.", default=0.0, ge=0, le=5
    )
    values: int = parameter("Values", "Values range from 0 up to, but not including, this number.", default=100, ge=1)
    disorder: float = parameter(
        "Disorder", "The share of records that arrive out of order, 0 to 1.", default=0.0, ge=0, le=1
    )
    disorder_ms: int = parameter(
        "Disorder up to",
        "How far the event time of such a record goes back, at most.",
        default=1000,
        ge=1,
        duration=True,
    )
    duplicates: float = parameter(
        "Duplicates", "The share of records that repeat the one before.", default=0.0, ge=0, le=_MOST_DUPLICATES
    )
    spike_every: int = parameter(
        "Late burst every", "After every so many records a few arrive very late. 0: never.", default=0, ge=0
    )
    spike_records: int = parameter("Records of a late burst", "How many records are late each time.", default=10, ge=1)
    spike_ms: Duration = parameter("Late burst by", "How late they are.", default=60_000)
    time_type: Literal["epoch_ms", "timestamp"] = parameter(
        "Type of the time", "ts as a number of ms since 1970, or as a timestamp.", default="epoch_ms"
    )

    @property
    def size(self) -> int | None:
        """The number of records."""
        return self.rows

    def derive(self, node: str, folder: Path) -> Derived:
        """id, key, value and ts."""
        time = Column("ts", BIGINT if self.time_type == "epoch_ms" else TIMESTAMP, nullable=False)
        plain = (
            Column("id", BIGINT, nullable=False),
            Column("key", STRING, nullable=False),
            Column("value", BIGINT, nullable=False),
        )
        return derive_source(self, node, (*plain, time))

    def read(
        self, spark: SparkSession, node: str, folder: Path, places: Mapping[str, str] | None = None
    ) -> SourceFrames:
        """All records; none is ever rejected."""
        from pyspark.sql import functions as F

        names = self.derive(node, folder).schema.names
        records = spark.range(*self.range).select("id", self._original(F.col("id")).alias("n"))
        ms = self._time(F.col("n"))
        return SourceFrames.of_records(
            records.select(
                F.col("id").alias(ORDINAL),
                (F.col("n") + 1).alias("id"),
                F.concat(F.lit("k"), self._key(F.col("n")).cast("string")).alias("key"),
                F.pmod(self._hash("value", F.col("n")), F.lit(self.values).cast("bigint")).alias("value"),
                (ms if self.time_type == "epoch_ms" else F.timestamp_millis(ms)).alias("ts"),
            ),
            names,
        )

    def flink_sql(self, node: str, schema: Schema) -> str:
        """Flink's datagen: the same number of rows, but other random values and no disorder."""
        options = self.pace_options | {
            "fields.id.kind": "sequence",
            "fields.id.start": "1",
            "fields.id.end": str(max(1, (1 << 62) if self.rows is None else self.rows)),
            "fields.key.length": "5",
            "fields.value.min": "0",
            "fields.value.max": str(self.values - 1),
        }
        return create_table(node, schema, self, options)

    def _original(self, number: SparkColumn) -> SparkColumn:
        """The number of the record that this one repeats: the last non-duplicate at or before it."""
        from pyspark.sql import functions as F

        if not self.duplicates:
            return number
        share = self.duplicates / _MOST_DUPLICATES
        candidates = [number - back for back in range(_BLOCK)]
        return F.coalesce(
            *(F.when((at % _BLOCK == 0) | (self._uniform("duplicate", at) >= share), at) for at in candidates)
        )

    def _key(self, number: SparkColumn) -> SparkColumn:
        """A key from 1 on; with skew, key k is about k ** -skew as frequent as key 1 (the continuous Zipf law)."""
        from pyspark.sql import functions as F

        if not self.skew:
            return F.pmod(self._hash("key", number), F.lit(self.keys).cast("bigint")) + 1
        share, top = self._uniform("key", number), F.lit(float(self.keys + 1))
        if self.skew == 1:
            place = F.pow(top, share)
        else:
            exponent = F.lit(1.0 - self.skew)
            place = F.pow((F.pow(top, exponent) - 1) * share + 1, F.lit(1.0) / exponent)
        return F.least(F.floor(place), F.lit(self.keys).cast("bigint"))

    def _time(self, number: SparkColumn) -> SparkColumn:
        from pyspark.sql import functions as F

        ms = F.lit(self.start_ms).cast("bigint") + F.floor(number * F.lit(1000.0 / self.rate))
        if self.disorder:
            back = F.pmod(self._hash("delay", number), F.lit(self.disorder_ms).cast("bigint")) + 1
            ms = ms - F.when(self._uniform("disorder", number) < self.disorder, back).otherwise(0)
        if self.spike_every:
            # The burst is at the end of each stretch of spike_every records, so that it is late.
            in_stretch = F.pmod(number, F.lit(self.spike_every).cast("bigint"))
            ms = ms - F.when(in_stretch >= self.spike_every - self.spike_records, self.spike_ms).otherwise(0)
        return ms

    def _hash(self, purpose: str, number: SparkColumn) -> SparkColumn:
        from pyspark.sql import functions as F

        return F.xxhash64(F.lit(self.seed).cast("bigint"), F.lit(purpose), number)

    def _uniform(self, purpose: str, number: SparkColumn) -> SparkColumn:
        """A number from 0 up to, not including, 1, of 53 bits."""
        from pyspark.sql import functions as F

        return F.shiftrightunsigned(self._hash(purpose, number), 11).cast("double") * 2.0**-53


SOURCE = Generator
