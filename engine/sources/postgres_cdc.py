"""A table of PostgreSQL: its rows, and then every change.

Input: a snapshot of the table, then logical replication (pgoutput) from its own slot. Output: rows are +I. Changes with
the old row are -U and +U, or -D. Changes by primary key are only +U and -D; the planner then adds a changelog
normalisation above the source. A run that is not live only reads the current rows. Exactly once
(`engine.reading.postgres.stream`). Types are declared; values are read in PostgreSQL's text format, instants in UTC.
Source: Flink CDC PostgresTableFactory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from engine.contract.declared_table import DeclaredTable, Filled, ReadTable
from engine.contract.derived import Derived
from engine.contract.parameters import parameter
from engine.contract.source import ColumnsToRead, PrimaryKey, TypedColumn
from engine.contract.stream import Json
from engine.errors import PipelineError, SourceError
from engine.model.changelog import UpdateKind
from engine.model.schema import Schema
from engine.reading.declared_options import DeclaredOptions, choices_of
from engine.reading.flink_table import create_table
from engine.reading.postgres.changes import ChangeReader, Rows
from engine.reading.postgres.client import OURS, Database, quoted
from engine.reading.postgres.server import PostgresServer
from engine.reading.postgres.stream import SNAPSHOT, PostgresStream
from engine.reading.servers.database_server import Gone, answering
from engine.reading.servers.secrets import NOTE, names_any
from engine.reading.servers.served import ColumnsThere, ReceivedSource
from engine.reading.typed.columns import derive_source
from engine.reading.typed.typed_rows import RowTypes

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONS: Final = {
    "hostname": "host",
    "port": "port",
    "username": "user",
    "password": "password",
    "database-name": "database",
    "schema-name": "schema_name",
    "table-name": "table_name",
    "slot.name": "slot",
}
_CHOICES: Final = {"changelog-mode": "changelog_mode", "scan.startup.mode": "start"}
_OF_NO_MATTER: Final = (
    r"debezium\.(snapshot|slot|plugin)\..*|scan\.(incremental|snapshot|newly-added).*|heartbeat\.interval\.ms|chunk-.*"
    r"|split-key\..*|connect\..*|connection\..*"
)
_PLUGIN: Final = "decoding.plugin.name"
_PLACES: Final = ("database_name", "schema_name", "table_name")
_CHANGED_AT: Final = "op_ts"
_SLOT: Final = "abcdefghijklmnopqrstuvwxyz0123456789_"
_LONGEST_SLOT: Final = 63


class PostgresCdc(PostgresServer, ReceivedSource):
    """The rows of a table, and their changes."""

    operator: ClassVar[str] = "postgres_cdc"
    title: ClassVar[str] = "Postgres CDC"
    summary: ClassVar[str] = "The rows of a PostgreSQL table, and in a live run every change of them."
    connector = "postgres-cdc"

    slot: str = parameter(
        "Replication slot",
        "A name of lower-case letters, digits and _ that no other run uses. A live run creates the slot "
        "and a publication of the same name, unless one exists; deleting the run drops what it created.",
        default="",
    )
    columns: ColumnsToRead = ()
    primary_key: PrimaryKey = parameter(description="Columns whose values identify a row.", last=True)
    changelog_mode: Literal["all", "upsert"] = parameter(
        "Changes",
        "all: updates and deletions carry the old row, which needs REPLICA IDENTITY FULL. upsert: they "
        "carry the key only.",
        default="all",
    )
    start: Literal["initial", "latest-offset"] = parameter(
        "Begin with",
        "initial: the rows of the table, then all changes. latest-offset: only changes from now on.",
        default="initial",
        last=True,
    )

    @property
    def update_kind(self) -> UpdateKind:
        """Only +U if changes are by key, else -U and +U."""
        return UpdateKind.ONLY_UPDATE_AFTER if self.changelog_mode == "upsert" else UpdateKind.BEFORE_AND_AFTER

    def derive(self, node: str, folder: Path) -> Derived:
        """The declared columns."""
        self.check_server(node)
        if not self.slot or not set(self.slot) <= set(_SLOT) or len(self.slot) > _LONGEST_SLOT:
            message = (
                f"slot: {self.slot[:80]!r} is no name of a replication slot. Use small letters, digits and _, at most "
                f"{_LONGEST_SLOT}, and another one for every run."
            )
            raise PipelineError(message, node, "slot")
        columns = self.declared(self.columns, node)
        if self.changelog_mode == "upsert":
            self._check_upserts(node)
        return derive_source(self, node, columns, self.primary_key, changelog=True)

    @property
    def origin(self) -> str:
        """The table."""
        return self.address.table_name

    def reader(self, node: str, folder: Path) -> ChangeReader:
        """The reader of its changes."""
        return ChangeReader(RowTypes(self.derive(node, folder).schema.columns))

    def columns_there(self, node: str, folder: Path) -> ColumnsThere:
        """The columns of the table on the server, and its primary key. Raises SourceError."""
        with answering(node), closing(Database(self.address, node)) as database:
            table_columns = database.described()
        columns = [TypedColumn(name=name, type=type_.flink) for name, type_, _ in table_columns]
        return ColumnsThere(columns, [name for name, _, is_key in table_columns if is_key])

    def rows_about(self, node: str, folder: Path) -> int | None:
        """As the server plans with it."""
        with answering(node), closing(Database(self.address, node)) as database:
            return database.count()

    def received(self, node: str, folder: Path, most: int | None) -> Iterator[pa.RecordBatch]:
        """The current rows. Raises SourceError."""
        rows = self._rows(node, folder)
        with answering(node), closing(Database(self.address, node)) as database:
            database.columns()
            number = 0
            for _, chunk in database.rows([column.name for column in rows.columns], most):
                number = rows.insert(SNAPSHOT, number, chunk)
                if chunk:
                    yield rows.taken()

    @property
    def goes_on(self) -> bool:
        """Always true: there may be more changes."""
        return True

    def stream(self, node: str, folder: Path, run: str) -> PostgresStream:
        """Its rows, then its changes."""
        return PostgresStream(
            self.address,
            self.slot,
            node,
            folder,
            run,
            self._rows(node, folder),
            self.reader(node, folder),
            self.start == "initial",
            self.changelog_mode == "all",
        )

    def let_go(self, node: str, folder: Path, run: str, position: Json) -> Sequence[str]:
        """Remove the stored changes, the slot, and its publication unless the user created it.

        Returns messages about what could not be removed.
        """
        super().let_go(node, folder, run, position)
        try:
            database = Database(self.address, node)
            if database.owner(self.slot) == self.kept_in(node, run, position):
                database.drop(self.slot)
            database.close()
        except (Gone, SourceError) as error:
            why = str(error).rstrip(".")
            return (
                f"The replication slot {self.slot} of {self.address.name} could not be dropped ({why}); the server "
                f"keeps its log for it. There: {self._removal(position)}",
            )
        return ()

    @classmethod
    def from_table(cls, table: DeclaredTable) -> ReadTable:
        """The table of the server. Its metadata says where its rows come from, which its options do."""
        options = DeclaredOptions(table)
        taking: dict[str, Callable[[str], Any]] = {"port": options.number, "password": options.password}
        given = [option for option in _OPTIONS if option in table.options]
        parameters = {
            "slot": "flink",
            **{_OPTIONS[option]: taking.get(option, options.take)(option) for option in given},
            "columns": table.column_parameters,
            **{field: options.choice(option, choices_of(cls, field)) for option, field in _CHOICES.items()},
        }
        if (plugin := options.take(_PLUGIN, "pgoutput")) != "pgoutput":
            options.note(f"changes are decoded with pgoutput, not with {plugin}.")
        return options.read(parameters, _OF_NO_MATTER, filled=tuple(_filled(options)))

    def flink_sql(self, node: str, schema: Schema) -> str:
        """The connector of Flink CDC."""
        options = {"connector": self.connector}
        options |= {option: str(getattr(self, field)) for option, field in _OPTIONS.items()} | {_PLUGIN: "pgoutput"}
        options |= {option: getattr(self, field) for option, field in _CHOICES.items()}
        table = create_table(node, schema, self, options, self.primary_key)
        return (NOTE if names_any([self.password]) else "") + table

    def _removal(self, position: Json) -> str:
        """What removes the slot and the publications that the run created, which are known from its position on."""
        slot = f"SELECT pg_drop_replication_slot('{self.slot}');"
        marks = None if position is None else position.get("marks")
        if marks is None:
            return f"{slot} A publication that the run created may remain, too: its comment begins with {OURS!r}."
        return " ".join([slot, *(f"DROP PUBLICATION {quoted(name)};" for name in marks)])

    def _rows(self, node: str, folder: Path) -> Rows:
        keys = self.primary_key if self.changelog_mode == "upsert" else ()
        return Rows(self.derive(node, folder).schema.columns, keys)

    def _check_upserts(self, node: str) -> None:
        if not self.primary_key:
            message = "primary_key: upsert changes need a primary key. Name its columns, or choose all changes."
            raise PipelineError(message, node, "primary_key")
        if self.event_time is not None and self.event_time not in self.primary_key:
            message = (
                f"event_time: deleted rows carry the key only, so {self.event_time} is missing. Choose all changes, or "
                " an event time in the key."
            )
            raise PipelineError(message, node, "event_time")


def _filled(options: DeclaredOptions) -> Iterator[Filled]:
    """The metadata columns of a table. Raises StudioError for unknown metadata."""
    table = options.table
    for column in table.metadata:
        if column.key == _CHANGED_AT:
            options.note(f"the metadata column {column.name} is NULL; the time of a change is not read.")
            yield Filled(column.name, column.type)
        elif column.key in _PLACES:
            text = table.options.get(column.key.replace("_", "-"), "public")
            yield Filled(column.name, column.type, text=text)
        else:
            available = ", ".join((*_PLACES, _CHANGED_AT))
            message = f"the metadata {column.key!r} of {column.name} is not supported. Available: {available}."
            raise table.rejected(message)


SOURCE = PostgresCdc
