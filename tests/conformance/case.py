"""A case: sources as rows in order of arrival, a query in Flink SQL, and Flink's output and plan.

NAME.json             sources, sql; optionally views, arrival, config, sink, functions in Python by name
NAME.expected.json    changelog, columns, plan with changelog modes, order, warnings
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from engine.contract.operator import Analyzer
from engine.model.pipeline import Arrival, Node, Pipeline
from engine.sql import Table, pipeline_of, table_of
from engine.sql.clauses.python_calls import PythonFunction

MINI_BATCH = "table.exec.mini-batch.enabled"
DUPLICATES = "table.exec.source.cdc-events-duplicate"


@dataclass(frozen=True)
class Record:
    """One record of a changelog. after: the number of the arrival that caused it, "end", or None if unknown."""

    kind: str
    row: tuple[Any, ...]
    after: int | str | None

    def __str__(self) -> str:
        when = "" if self.after is None else f" after {self.after}"
        return f"{self.kind}({', '.join(json.dumps(value, ensure_ascii=False) for value in self.row)}){when}"


@dataclass(frozen=True)
class Case:
    """A case, with the content of its two files."""

    name: str
    job: Mapping[str, Any]
    expected: Mapping[str, Any]

    @classmethod
    def read(cls, path: Path) -> Case:
        """The case of NAME.json, with NAME.expected.json beside it."""
        expected = path.with_suffix(".expected.json")
        return cls(path.stem, json.loads(path.read_text()), json.loads(expected.read_text()))

    @property
    def changelog(self) -> list[Record]:
        """Flink's changelog."""
        return records(self.expected["changelog"])

    @property
    def is_mini_batch(self) -> bool:
        """Whether mini-batch is enabled."""
        return str(self.job.get("config", {}).get(MINI_BATCH, "false")).lower() == "true"

    @cached_property
    def arrival(self) -> Sequence[str]:
        """The source of every event, in order: as listed, else all events of the first source, then of the second."""
        sources = self.job["sources"]
        return self.job.get("arrival") or [name for name, source in sources.items() for _ in source["rows"]]

    def pipeline(self, analyzer: Analyzer) -> Pipeline:
        """The query as a pipeline over sources of typed rows. Raises SqlRejected for unsupported SQL."""
        sink = self.job.get("sink")
        tables = [self._table(name, source) for name, source in self.job["sources"].items()]
        made = pipeline_of(
            self.job["sql"],
            tables,
            analyzer,
            Path(),
            views=_views(self.job.get("views")),
            sink={"mode": sink["mode"], "keys": _sink_keys(sink)} if sink else None,
            options={name: str(value) for name, value in (self.job.get("config") or {}).items()},
            name=self.name,
            functions={
                name.upper(): PythonFunction(name, code) for name, code in self.job.get("functions", {}).items()
            },
        )
        used = {node.id for node in made.nodes}
        order = (*self._constants(made), *(name for name in self.arrival if name in used))
        return made.model_copy(update={"arrival": Arrival(mode="listed", order=order, ends="together")})

    def after(self, seq: int, pipeline: Pipeline) -> int | str:
        """The arrival of an event of the run, whose numbers skip sources that the query does not use."""
        used = {node.id for node in pipeline.nodes}
        arrivals = [0 for _ in self._constants(pipeline)]
        arrivals += [at for at, name in enumerate(self.arrival, start=1) if name in used]
        return arrivals[seq - 1] if seq <= len(arrivals) else "end"

    def _constants(self, pipeline: Pipeline) -> Sequence[str]:
        """The source of each row of VALUES in the query. These rows precede the first arrival."""
        return [
            node.id
            for node in pipeline.nodes
            if node.operator == "rows" and node.id not in self.job["sources"]
            for _ in node.parameters["rows"]
        ]

    def _table(self, name: str, source: Mapping[str, Any]) -> Table:
        is_changelog = bool(source.get("changelog"))
        parameters = {
            "columns": [{"name": column, "type": type_} for column, type_ in source["columns"]],
            "rows": source["rows"],
            "changelog": is_changelog,
            "primary_key": source.get("primary_key") or (),
            "event_time": source.get("rowtime"),
            "watermark_delay_ms": source.get("watermark_delay_ms"),
        }
        if "arrived" in source:
            # The processing time of Flink's run.
            parameters |= {"event_time": source["arrived"], "processing_time": True, "watermark_delay_ms": 1}
        if is_changelog and source.get("changelog_mode") == "upsert":
            parameters["updates_by_key"] = True
        node = Node(id=name, operator="rows", parameters=parameters)
        proctime = source.get("proctime")
        return table_of(node, Path(), [proctime] if proctime else ())


def _sink_keys(sink: Mapping[str, Any]) -> Sequence[str]:
    """The key of an upsert sink; none for other sinks, which ignore their primary key."""
    return (sink.get("primary_key") or ()) if sink["mode"] == "upsert" else ()


def records(items: Sequence[Mapping[str, Any]]) -> list[Record]:
    """A changelog from a file."""
    return [Record(item["kind"], tuple(item["row"]), item.get("after")) for item in items]


def cases_in(folder: Path) -> list[Path]:
    """The files of all cases of a folder, sorted by name."""
    return sorted(path for path in folder.glob("*.json") if not path.name.endswith(".expected.json"))


def _views(views: Any) -> Mapping[str, str]:
    if isinstance(views, list):
        return {view["name"]: view["sql"] if "sql" in view else view["query"] for view in views}
    return views or {}
