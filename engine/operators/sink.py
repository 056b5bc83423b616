"""Write the result: as a changelog, as upserts by key, or as appended rows.

Input: any changelog mode; insert-only for an append sink. Output: what the sink receives. A changelog sink
receives -U and +U; an upsert sink +U alone, unless a -U below it can stand without its +U (below a
filter, or where an update can change the sink's key): there it receives -U, and deletes by it, as in Flink.
If several rows of the input can share the sink's key, a materialising stage orders them first.
Target: a live run can write the result to a place outside of the studio (`engine.writing`); off by default.
State: none, or that of the stage (`engine.deduplication.upsert_materialize`).
Source: Flink FlinkChangelogModeInferenceProgram.inferSinkRequiredTraits, analyzeUpsertMaterializeStrategy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, assert_never

from engine.contract.batch_input import BatchInput
from engine.contract.batch_rows import first_of
from engine.contract.declared_table import DeclaredTable
from engine.contract.derived import Derived
from engine.contract.expiry import Expiry, expiring
from engine.contract.frames import PLACED
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import Columns, parameter
from engine.contract.requirements import Offer, require_insert_only
from engine.contract.step import Keyed, KeyedInput, Native, Projection, Step
from engine.contract.target import EpochWriter, SinkMode, Writing
from engine.deduplication.upsert_materialize import UpsertMaterializeKernel
from engine.errors import PipelineError, PlanRejected
from engine.model.changelog import ALL_CHANGES, DELETE, INSERT, INSERT_UPDATE, UPDATE_AFTER, ChangelogMode, UpdateKind
from engine.model.options import state_ttl_ms
from engine.model.schema import Schema
from engine.model.types import quote
from engine.reading.kafka.fields import Property
from engine.reading.servers.address import Address
from engine.writing.targets import KafkaTopic, ParquetFolder, PostgresTable, Target, WriteTo

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_POSTGRES: Final = ("postgres",)
# The formats of changes.
_OF_CHANGES: Final = ("debezium-json", "debezium-avro-confluent", "canal-json", "maxwell-json", "ogg-json")


class Sink(Operator):
    """The end of a pipeline."""

    operator: ClassVar[str] = "sink"
    title: ClassVar[str] = "Sink"
    summary: ClassVar[str] = "The end of a pipeline: a changelog, a table updated by key, or rows that are only added."
    also_called: ClassVar[tuple[str, ...]] = ("insert into", "output", "write", "target", "destination")
    group: ClassVar[str] = "sinks"
    role: ClassVar[str] = "sink"
    only_written: ClassVar[Mapping[str, str | None]] = {
        "print": "print-identifier standard-error",
        "blackhole": "",
        "collect": None,
        "values": None,
    }
    """The connectors of Flink that are never read, with their options, None if nobody knows them all."""

    mode: SinkMode = parameter(
        "Mode",
        "changelog takes +I, -U, +U and -D; upsert takes no -U and replaces by key; append takes only +I.",
        default=SinkMode.CHANGELOG,
    )
    keys: Columns = parameter(
        "Key columns",
        "The columns that identify a row. Empty: the upsert key of its input.",
        default=(),
        only=("upsert",),
    )
    write_to: WriteTo = parameter(
        "Write to",
        "A place outside of the studio to which live runs write as they go, each epoch once. All other runs, previews "
        "and comparisons write nothing there.",
        default=WriteTo.NOTHING,
        titles={"nothing": "None", "parquet": "Parquet", "postgres": "PostgreSQL", "kafka": "Kafka"},
    )
    folder: str = parameter(
        "Folder",
        "Relative to the pipeline's, or in a bucket: s3://BUCKET/FOLDER, gs://, abfss://. A run needs an empty one, "
        "except for rows that are only added.",
        default="",
        only=("parquet",),
    )
    partition_by: Columns = parameter(
        "Partition by",
        "A folder for each value of these columns, as in Hive: day=2026-11-28.",
        default=(),
        only=("parquet",),
    )
    host: str = parameter("Host", "The name or address of the server.", default="localhost", only=_POSTGRES)
    port: int = parameter("Port", default=5432, ge=1, le=65_535, only=_POSTGRES, beside=True)
    database: str = parameter("Database", default="", only=_POSTGRES)
    schema_name: str = parameter("Schema", "The schema of the table.", default="public", only=_POSTGRES, beside=True)
    table_name: str = parameter(
        "Table",
        "It is created if it is missing. A run needs an empty one, except for rows that are only added.",
        default="",
        only=_POSTGRES,
    )
    user: str = parameter("User", "A user who may write the table.", default="", only=_POSTGRES)
    password: str = parameter(
        "Password",
        "The name of an environment variable that holds it: ${env:DATABASE_PASSWORD}.",
        default="",
        only=_POSTGRES,
        beside=True,
    )
    servers: str = parameter(
        "Bootstrap servers",
        "Brokers as host:port, separated by commas: localhost:9092.",
        default="",
        only=("kafka",),
    )
    topic: str = parameter(
        "Topic",
        "It is created if it is missing. A changelog is written as debezium-json, upserts as by upsert-kafka, added "
        "rows as json.",
        default="",
        only=("kafka",),
    )
    properties: tuple[Property, ...] = parameter(
        "Options of the client",
        "Such as security.protocol, sasl.mechanism and sasl.username. For secrets, name an environment variable: "
        "${env:KAFKA_PASSWORD}.",
        default=(),
        only=("kafka",),
        last=True,
    )
    writes: bool = parameter(
        "Live runs write there",
        "While this is off, nothing is written: it is off for tables of a script.",
        default=False,
        only=("parquet", "postgres", "kafka"),
    )

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input unchanged. Raises PlanRejected if this sink does not accept it."""
        (input_,) = inputs
        derived = self._derived(node, input_)
        if self.writes and (target := self._target) is not None:
            target.check(self._writing(node, input_, "", Path()))
        return derived

    def _derived(self, node: str, input_: Derived) -> Derived:
        match self.mode:
            case SinkMode.CHANGELOG:
                self._require_no_keys(node)
                return input_
            case SinkMode.APPEND:
                self._require_no_keys(node)
                advice = "Choose the mode changelog or upsert."
                require_insert_only(node, "an append sink", input_, advice)
                return input_
            case SinkMode.UPSERT:
                key = self._key(node, input_)
                if _materializes(key, input_):
                    modify = INSERT_UPDATE if input_.is_insert_only else ALL_CHANGES
                    return replace(input_, modify=modify, upsert_keys=frozenset({key}), lone_updates=False)
                return replace(input_, upsert_keys=frozenset({key}), lone_updates=self._needs_before(key, input_))
            case _:
                assert_never(self.mode)

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """A changelog sink requires -U; an upsert sink prefers an input without -U."""
        (input_,) = inputs
        if wanted is UpdateKind.NONE:
            return (Offer((UpdateKind.NONE,), ("its input never updates a row",)),)
        both = UpdateKind.BEFORE_AND_AFTER
        if self.mode is SinkMode.UPSERT and _materializes(self._key(node, input_), input_):
            if wanted is both:
                return ()
            if not input_.has_updates:
                return (Offer((UpdateKind.NONE,), ("its input never updates a row",)),)
            reason = "an update may move its row to another key of the sink, so the old row must be deleted"
            return (Offer((both,), (reason,)),)
        if self.mode is SinkMode.UPSERT and not self._needs_before(self._key(node, input_), input_):
            if wanted is both:
                return ()
            return (
                Offer((UpdateKind.ONLY_UPDATE_AFTER,), ("an upsert sink replaces by key and needs no -U",)),
                Offer((both,), ("an upsert sink needs no -U, but its input cannot leave it out: it is dropped here",)),
            )
        if wanted is not both:
            return ()
        if self.mode is SinkMode.UPSERT:
            return (Offer((both,), ("a -U may come without a +U of the same key, so the sink has to see it",)),)
        return (Offer((both,), ("a changelog sink records retractions",)),)

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """The mode, and the treatment of -U."""
        (input_,) = inputs
        match self.mode:
            case SinkMode.CHANGELOG:
                return Strategy("changelog", "every record is written with its kind")
            case SinkMode.APPEND:
                return Strategy("append", "its input only ever adds rows")
            case SinkMode.UPSERT if _materializes(self._key(input_.node, input_.derived), input_.derived):
                return Strategy(
                    "upsert, materialised",
                    f"several rows of {input_.node} can share the sink's key, so the last one that still exists is "
                    "written",
                    "per key of the sink: the rows that still exist",
                )
            case SinkMode.UPSERT if output.has_update_before:
                return Strategy("upsert", "-U is kept, as a delete by key: it may come without a +U of the same key")
            case SinkMode.UPSERT if input_.mode.has_update_before:
                return Strategy("upsert", "rows are replaced by key, so -U is dropped before it is written")
            case SinkMode.UPSERT:
                return Strategy("upsert", "rows are replaced by key")
            case _:
                assert_never(self.mode)

    def step(self, context: StepContext) -> Step:
        """All columns, at the positions of the input; or the materialising stage per key of the sink."""
        (input_,) = context.inputs
        columns = tuple(map(quote, context.schema.names))
        if self.mode is SinkMode.UPSERT and _materializes(
            key := self._key(context.node, input_.derived), input_.derived
        ):
            names = context.schema.names
            own = input_.derived.shortest_key or frozenset[str]()
            places = [names.index(name) for name in names if name in own]
            keys = tuple(quote(name) for name in names if name in key)
            kernel = expiring(partial(UpsertMaterializeKernel, places), state_ttl_ms(context.options))
            return Keyed((KeyedInput(keys, columns),), kernel)
        drops = input_.mode.has_update_before and not context.mode.has_update_before
        kinds = frozenset({INSERT, UPDATE_AFTER, DELETE}) if drops else None
        return Native((Projection(columns),), kinds=kinds, forward=True)

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The input; if several of its rows can share the sink's key, the last one per key."""
        from pyspark.sql import functions as f

        (input_,) = inputs
        planned = context.inputs[0].derived
        if self.mode is SinkMode.UPSERT and _materializes(key := self._key(context.node, planned), planned):
            return first_of(input_.table, [quote(name) for name in sorted(key)], [f.desc(name) for name in PLACED])
        return input_.table

    def expiry(self, inputs: Sequence[InputPlan]) -> Expiry:
        """The rows of a key expire together."""
        return Expiry.BY_TTL

    def late_rule(self) -> None:
        """No record is ever too late."""

    def epoch_writer(self, context: StepContext, run: str, folder: Path) -> EpochWriter | None:
        """The writer of its target, if there is one that is switched on. Raises TargetError."""
        if not self.writes or (target := self._target) is None:
            return None
        return target.writer(self._writing(context.node, context.inputs[0].derived, run, folder))

    def check_place(self, context: StepContext, folder: Path) -> None:
        """Of its target, if that is switched on."""
        if self.writes and (target := self._target) is not None:
            target.require(self._writing(context.node, context.inputs[0].derived, "", folder))

    @classmethod
    def from_table(cls, table: DeclaredTable) -> dict[str, Any]:
        """The parameters of a declared table: upserts by its key, a changelog, or added rows; and where it writes.

        Live runs do not write there until that is switched on. Raises StudioError.
        """
        # Sinks of Flink 1.10 take the key of the query.
        takes_all = table.connector in ("", *cls.only_written) or "connector" not in table.options
        mode = SinkMode.CHANGELOG if takes_all or table.options.get("format") in _OF_CHANGES else SinkMode.APPEND
        of_mode = {"mode": "upsert", "keys": table.primary_key} if table.primary_key else {"mode": mode.value}
        targets = (target.from_table(table) for target in (ParquetFolder, PostgresTable, KafkaTopic))
        return of_mode | next(filter(None, targets), {})

    def to_table(self) -> dict[str, str] | None:
        """The options of its target as a table of Flink; None if it has none, or none that takes its mode."""
        return None if (target := self._target) is None else target.to_table(self.mode)

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """The SELECT whose rows are inserted into the sink's table."""
        ((table, schema),) = inputs
        return f"SELECT {', '.join(map(quote, schema.names))} FROM {quote(table)}"

    @property
    def _target(self) -> Target | None:
        match self.write_to:
            case WriteTo.NOTHING:
                return None
            case WriteTo.PARQUET:
                return ParquetFolder(self.folder, self.partition_by)
            case WriteTo.POSTGRES:
                return PostgresTable(
                    Address(
                        self.host.strip(),
                        self.port,
                        self.database,
                        self.user,
                        self.password,
                        self.table_name,
                        self.schema_name,
                    )
                )
            case WriteTo.KAFKA:
                return KafkaTopic(self.servers, self.topic, self.properties)
            case _:
                assert_never(self.write_to)

    def _writing(self, node: str, input_: Derived, run: str, folder: Path) -> Writing:
        key = self._key(node, input_) if self.mode is SinkMode.UPSERT else frozenset[str]()
        in_order = tuple(name for name in input_.schema.names if name in key)
        return Writing(node, run, input_.schema, self.mode, in_order, folder)

    def _require_no_keys(self, node: str) -> None:
        if self.keys:
            message = (
                f"keys: a sink in mode {self.mode.value} has no key. Leave the key columns empty, or choose upsert."
            )
            raise PipelineError(message, node, "keys")

    def _key(self, node: str, input_: Derived) -> frozenset[str]:
        """The sink's key: its own, or the input's shortest. Raises PlanRejected if there is neither."""
        emitter = input_.node or "its input"
        keys = sorted(map(sorted, input_.upsert_keys), key=lambda key: (len(key), key))
        if not self.keys:
            if not keys:
                message = (
                    f"keys: an upsert sink needs a key, and {emitter} has none. Choose key columns from "
                    f"{', '.join(input_.schema.names)}, or choose the mode changelog."
                )
                raise PlanRejected(message, node, "keys")
            return frozenset(keys[0])
        own = frozenset(input_.schema.column(name, node, "keys").name for name in self.keys)
        return own

    def _needs_before(self, key: frozenset[str], input_: Derived) -> bool:
        """True if a -U may come without a +U of the same key, so that dropping it would leave a row behind."""
        return input_.has_updates and (input_.lone_updates or key not in input_.upsert_keys)


def _materializes(key: frozenset[str], input_: Derived) -> bool:
    """True if several rows of the input can share the sink's key."""
    return not any(key >= own for own in input_.upsert_keys)


OPERATOR = Sink
