"""The contract of a source: one file in `engine/sources/` defines all of it.

It is like an operator's (`engine.contract.operator`), with `scan` or `read` instead of inputs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import model_validator

from engine.contract.declared_table import Declared, DeclaredTable, ReadTable
from engine.contract.derived import Derived
from engine.contract.frames import FILE, KIND, LINE, ORDINAL, RAW, REASON, REJECTED_COLUMNS, WATERMARK
from engine.contract.operator import OUT
from engine.contract.parameters import ColumnOrNone, Columns, DurationOrNone, Parameters, Sql, parameter
from engine.contract.scan import Scan, rows_of
from engine.contract.stream import Json, Stream, Whole
from engine.errors import PipelineError
from engine.model.changelog import UpdateKind
from engine.model.schema import Column, Schema, TimeUnit
from engine.model.types import INTEGERS, STRING, Timestamp, quote

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Endless:
    """How a source that ends by itself would go on in a live run: what that is called, and the parameters."""

    label: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class SourceFrames:
    """A source as read by Spark, in one pass: records and rejected rows in one frame.

    rows: ORDINAL BIGINT (any ascending numbers in order of arrival within the source), KIND TINYINT (0..3; null for a
    watermark event), WATERMARK BIGINT (epoch ms for a watermark event, else null), the schema's columns, typed; FILE
    STRING and LINE BIGINT, which records may also have, RAW STRING and REASON STRING of a rejected row, null in
    records. A record's event time is not null. A row with a REASON and without RAW is neither: it says how
    many values (LINE) of a column (REASON) lost digits beyond microseconds.
    """

    rows: DataFrame

    @classmethod
    def of_records(cls, records: DataFrame, names: Sequence[str]) -> SourceFrames:
        """The frames of a source without rejected rows, from ORDINAL and the schema's columns. All records are +I.

        names: of these columns; to ask the frame is a call of the server.
        """
        from pyspark.sql import functions as f

        types = {FILE: "string", LINE: "bigint", RAW: "string", REASON: "string"}
        nothing = {name: f.lit(None).cast(type_).alias(name) for name, type_ in types.items()}
        kind = (f.lit(0).cast("tinyint").alias(KIND), f.lit(None).cast("bigint").alias(WATERMARK))
        return cls(records.select(ORDINAL, *kind, *(f.col(quote(name)) for name in names), *nothing.values()))

    @property
    def records(self) -> DataFrame:
        """Only the records."""
        return self.rows.where(f"{REASON} IS NULL").drop(*REJECTED_COLUMNS)

    @property
    def rejected(self) -> DataFrame:
        """Only the rejected rows: file, line, raw, reason."""
        from pyspark.sql import functions as f

        names = [f.col(name).alias(name.strip("_")) for name in REJECTED_COLUMNS]
        return self.rows.where(f"{REASON} IS NOT NULL").select(*names)


class TypedColumn(Parameters):
    """A declared column."""

    name: str = parameter("Name")
    type: str = parameter(
        "Type", "A type of Flink SQL, such as BIGINT or DECIMAL(10, 2).", default="STRING", is_type=True
    )


class ComputedColumn(Parameters):
    """One column that an expression computes."""

    name: str = parameter("Name", "The name of the column.", min_length=1)
    expression: Sql = parameter("Expression", "A Flink SQL expression over the input's columns, such as amount * 2.")


PrimaryKey = Annotated[
    Columns,
    parameter("Primary key", "Columns whose values identify a row. Empty: only the whole row does.", default=()),
]
ColumnsToRead = Annotated[
    tuple[TypedColumn, ...], parameter("Columns", "The columns to read, and their types.", default=())
]


class Source(Parameters):
    """A source with its parameters. The common parameters of all sources are here, at the end of each form."""

    operator: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str]
    also_called: ClassVar[tuple[str, ...]] = ()
    """Words of SQL and of other tools by which a search finds it."""
    group: ClassVar[str] = "sources"
    ports: ClassVar[tuple[str, ...]] = ()
    role: ClassVar[str] = "source"
    computes: ClassVar[str] = "computed"
    """The parameter with the expressions of columns that it adds."""

    opens: ClassVar[tuple[str, ...]] = ()
    """The file endings for which it is the default source."""

    connector: ClassVar[str] = ""
    """Flink's connector whose tables it reads; empty if there is none."""
    table_format: ClassVar[str] = ""
    """The format of these tables, if the connector has several."""
    table_options: ClassVar[str | None] = None
    """The options of the connector, * for any ending; None: nobody knows them all."""
    is_looked_up: ClassVar[bool] = False
    """Whether Flink can look up rows in a table of the connector."""
    arrival_told: ClassVar[str] = ""
    """What tells when its rows arrive, as a part of a sentence; empty if nothing does."""
    other_metadata: ClassVar[str] = "; its connector has no metadata here"
    """What becomes of metadata columns that it does not have."""

    @property
    def server(self) -> str:
        """The address of the server that has its rows; empty for files and generated rows."""
        return ""

    @property
    def variables(self) -> tuple[str, ...]:
        """The environment variables whose values are sent to the server."""
        return ()

    @classmethod
    def begins_with(cls, first_line: str) -> bool:
        """Whether a file with one of its endings and this first line is one of its files, and not of another source."""
        return True

    @classmethod
    def parameters_for(cls, path: str, first_line: str = "") -> Mapping[str, Any]:
        """The parameters to read a file with one of its endings."""
        return {"path": path}

    @classmethod
    def output_ports(cls, parameters: Mapping[str, Any]) -> tuple[str, ...]:
        """A source has one output."""
        return (OUT,)

    event_time: ColumnOrNone = parameter("Event time", "The column with the time at which a record happened.")
    event_time_unit: TimeUnit | None = parameter(
        "Unit of time", "Empty: inferred from the type; numbers are epoch ms.", default=None
    )
    watermark_delay_ms: int | None = parameter(
        "Watermark delay",
        "How far out of order records may arrive; empty: only explicit watermarks advance event time.",
        default=0,
        ge=0,
        duration=True,
    )
    watermark_every: int = parameter("Watermark every", "Emit the watermark after this many records.", default=1, ge=1)
    processing_time: bool = parameter(
        "Processing time",
        "The event time is the clock time at which a record arrived, which is what windows over "
        "PROCTIME() use. The watermark stays 1 ms behind, so that records of the same millisecond are not "
        "late.",
        default=False,
        last=True,
    )
    arrival_column: ColumnOrNone = parameter(
        "Arrival column",
        "The column that says when a record arrived: sources can be merged by it, and the clock can go by it.",
    )
    idle_timeout_ms: DurationOrNone = parameter(
        "Idle after",
        "In a live run, a source without records for this long no longer holds back the watermark, until "
        "its next record. Empty: the idle timeout of the pipeline; 0: never.",
        last=True,
    )
    alignment_group: str | None = parameter(
        "Alignment group",
        "In a live run, sources of one group wait for each other's watermarks.",
        default=None,
        last=True,
    )
    alignment_drift_ms: DurationOrNone = parameter(
        "Alignment drift",
        "How far the watermark of this source may be ahead of the lowest in its group. Beyond that it is not read.",
        last=True,
    )
    alignment_interval_ms: int = parameter(
        "Alignment interval",
        "How often the lowest watermark of the group is updated.",
        default=1000,
        ge=1,
        duration=True,
        last=True,
    )
    computed: tuple[ComputedColumn, ...] = parameter(
        "Computed columns",
        "Columns computed from the columns that are read. One of them can be the event time.",
        default=(),
        last=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _clock_is_behind(cls, given: Any) -> Any:
        """Set the delay to 1 ms for a processing time: more records of the current millisecond may come."""
        if isinstance(given, dict) and given.get("processing_time") and "watermark_delay_ms" not in given:
            return {**given, "watermark_delay_ms": 1}
        return given

    @model_validator(mode="after")
    def _has_arrival_times(self) -> Self:
        if self.processing_time and self.event_time is None:
            message = "processing_time needs a column with the times at which records arrived; set it as the event time"
            raise ValueError(message)
        return self

    @property
    def recorded_run(self) -> str | None:
        """The folder that identifies the recorded run; None for any other source."""
        return None

    @property
    def instead_of(self) -> Mapping[str, str] | None:
        """The options of the table of a script for which its rows stand; None if they are its own."""
        return None

    @property
    def metadata_keys(self) -> Mapping[str, str]:
        """By metadata column, its key in Flink's connector."""
        return {}

    @property
    def is_known_steady(self) -> bool:
        """Whether Flink's plan knows that inserted rows never change."""
        return True

    @property
    def update_kind(self) -> UpdateKind:
        """How the source writes updates if its rows are a changelog; consumers cannot change this."""
        return UpdateKind.BEFORE_AND_AFTER

    @property
    def arrives_by(self) -> str | None:
        """The column that says when its records arrived, if there is one."""
        return self.arrival_column or (self.event_time if self.processing_time else None)

    def clock_in(self, schema: Schema, node: str) -> Column | None:
        """The column of times of arrival with its unit, if there is one. Raises PipelineError for other types."""
        if self.arrives_by is None:
            return None
        column = schema.column(self.arrives_by, node, "arrival_column")
        if isinstance(column.type, Timestamp):
            return replace(column, time=TimeUnit.TIMESTAMP)
        if column.type in INTEGERS:
            return replace(column, time=column.time or TimeUnit.EPOCH_MS)
        message = (
            f"the arrival column {column.name} is {column.type.flink}, but the clock goes by it. "
            "Choose a TIMESTAMP, a TIMESTAMP_LTZ or an integer that counts ms since 1970; a computed column can be one."
        )
        raise PipelineError(message, node, "arrival_column")

    def arrival_in(self, schema: Schema, node: str) -> Column:
        """The column by which the source is merged with the others. Raises PipelineError if it is not set."""
        if self.arrival_column is None:
            message = "the sources are merged by a column, but this one has no arrival column. Set its arrival column."
            raise PipelineError(message, node, "arrival_column")
        return schema.column(self.arrival_column, node, "arrival_column")

    @abstractmethod
    def derive(self, node: str, folder: Path) -> Derived:
        """The columns that are read, declared or inferred without Spark. folder: the base of relative paths.

        Columns of files (`file_columns`) and computed columns are added later (`engine.reading.typed.computed`).
        """

    def file_columns(self, folder: Path) -> Mapping[str, Callable[[str], str]]:
        """Columns that say which file a record is from: by name, its value for a file as `ReadPart` names it."""
        return {}

    def read_schema(self, node: str, folder: Path) -> Schema:
        """The columns of `derive`, then those of files: what computed columns are computed from."""
        return self.with_file_columns(self.derive(node, folder).schema, folder)

    def with_file_columns(self, read: Schema, folder: Path) -> Schema:
        """The columns that are read, then those of files."""
        of_files = self.file_columns(folder)
        return Schema((*read, *(Column(name, STRING) for name in of_files))) if of_files else read

    def offered(self, field: str, node: str, folder: Path) -> tuple[str, ...]:
        """The current choices for a field that is marked `offered`. Raises SourceError."""
        return ()

    def scan(self, node: str, folder: Path) -> Scan | None:
        """How workers read it; None if Spark reads it. Raises SourceError."""
        return None

    def inputs(self, node: str, folder: Path) -> tuple[Path, ...]:
        """The local files that workers read for `scan` or `read`. Raises SourceError."""
        return ()

    def read(
        self, spark: SparkSession, node: str, folder: Path, places: Mapping[str, str] | None = None
    ) -> SourceFrames:
        """All rows in Spark, in order of arrival; computed columns are added later. Raises SourceError.

        places: by path of the `inputs`, the path for workers; None if the paths are the same.
        """
        scan = self.scan(node, folder)
        assert scan is not None, "a source that workers cannot read says how Spark does"
        return SourceFrames(
            rows_of(
                scan if places is None else scan.at(places),
                spark,
                self.read_schema(node, folder),
                with_lines=bool(self.computed),
                of_files=self.file_columns(folder),
            )
        )

    def stream(self, node: str, folder: Path, run: str) -> Stream[Source]:
        """How a live run reads it; by default as a whole. run: its name. Raises SourceError."""
        return Whole(self, self.scan(node, folder))

    @property
    def goes_on(self) -> bool:
        """Whether a live run reads it until somebody stops the run."""
        return False

    @property
    def endless(self) -> Endless | None:
        """How to make a source that ends go on; None if there is no such way."""
        return None

    def let_go(self, node: str, folder: Path, run: str, position: Json) -> Sequence[str]:
        """Remove the resources of a live run that is deleted. run: its name. position: its last one, or None.

        Returns what users have to remove themselves, as sentences.
        """
        return ()

    def rows_about(self, node: str, folder: Path) -> int | None:
        """About how many rows it has, from a look at some of them; None if that is unknown. Raises SourceError."""
        return None

    @abstractmethod
    def head(self, rows: int, node: str, folder: Path, into: Path) -> Self:
        """A source with the same columns and at most its first `rows` rows, stored in the folder `into`."""

    @classmethod
    def addresses(cls) -> tuple[str, ...]:
        """How the 'url' of its tables is written, if they have one."""
        return ()

    @classmethod
    def takes(cls, table: DeclaredTable, folder: Path) -> bool:
        """Whether a table of its connector and its format is one that it reads."""
        return True

    @classmethod
    def with_arrival(cls, table: Declared, name: str) -> Declared:
        """A table of its connector with a column of this name for the time at which a row arrives."""
        raise NotImplementedError

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """A table of its connector as this source, besides what all tables have. Raises StudioError."""
        raise NotImplementedError

    @abstractmethod
    def flink_sql(self, node: str, schema: Schema) -> str:
        """CREATE TABLE with its WATERMARK."""
