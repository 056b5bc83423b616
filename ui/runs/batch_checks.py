"""Batch checks in the background: one at a time, independent of any session; their results are kept in the store."""

from __future__ import annotations

import json
import logging
import tempfile
import threading
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from engine.batch_check.result import Checked, Difference, NodeCheck
from engine.errors import EngineUnavailable, StudioError
from engine.model.pipeline import Pipeline
from engine.spark.failures import reason_of
from storage import Store, default_path
from storage.errors import StoreError
from storage.model import Run
from ui.engines.far_files import far_files_of
from ui.engines.known import engine_of, home, master_of
from ui.runs.leftovers import work_folder
from ui.shell import words, workspace

SMALL: Final = 20_000
_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class CheckResult:
    """The result of a check, with rows as texts. error: why the check failed, or empty."""

    checked: Checked
    error: str = ""

    @classmethod
    def from_json(cls, document: str) -> CheckResult:
        """The result that the store keeps."""
        raw = json.loads(document)
        nodes = (
            NodeCheck(
                node["node"],
                tuple(node["columns"]),
                node["is_sink"],
                node["same"],
                node["missing"],
                node["extra"],
                tuple(Difference(tuple(cells), batch, stream) for cells, batch, stream in node["rows"]),
                # Not in the results of earlier versions.
                *node.get("let_go", ()),
            )
            for node in raw.get("nodes", ())
        )
        return cls(Checked(tuple(nodes)), raw.get("error", ""))

    @property
    def is_equal(self) -> bool:
        """True if every operator's batch answer equals its changelog."""
        return not self.error and self.checked.is_equal

    def of(self, node: str) -> NodeCheck | None:
        """The result of one operator."""
        return next((result for result in self.checked.nodes if result.node == node), None)


@dataclass
class Checker:
    """Checks runs. going_on: by run, the operator that is being checked; also has the runs that wait."""

    store: Store
    folder: Path
    waiting: list[int] = field(default_factory=list)
    going_on: dict[int, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def start(self, run: Run) -> None:
        """Queue the check of a run, unless it is queued or running already."""
        with self._lock:
            if run.run_id in self.going_on:
                return
            self.going_on[run.run_id] = "starting"
            self.waiting.append(run.run_id)
            if len(self.going_on) > 1:
                return
        threading.Thread(target=self._work_off, name="changelog-studio-checks", daemon=True).start()

    def result_of(self, run_id: int) -> CheckResult | None:
        """The result of the last check of a run; None if there was none."""
        document = self.store.batch_checks.load(run_id)
        return None if document is None else CheckResult.from_json(document)

    def _work_off(self) -> None:
        while True:
            with self._lock:
                if not self.waiting:
                    return
                run_id = self.waiting.pop(0)
            try:
                self.store.batch_checks.save(run_id, json.dumps(self._check(run_id), ensure_ascii=False))
            except Exception:  # noqa: BLE001 - a thread has nobody above it
                _LOG.exception("run %s could not be checked", run_id)
            with self._lock:
                del self.going_on[run_id]

    def _check(self, run_id: int, *, is_again: bool = False) -> dict[str, Any]:
        from engine.batch_check.check import Recorded, check
        from engine.contract.operator import OUT
        from engine.contract.recorder import EdgeFile
        from engine.expressions.analyzer import TypeRules
        from engine.planner import plan
        from engine.reading.files.storage import looking_at
        from engine.runtime.edges.records import EdgeRecords
        from engine.spark.session import get_spark, server_of

        server = None
        try:
            run = self.store.runs.get(run_id)
            spark = get_spark(engine_for(run))
            server = server_of(spark)
            with looking_at(far_files_of(run.engine)):
                planned = plan(Pipeline.from_json(run.document), TypeRules(), self.folder)
            # Beside the store, where workers that share this machine's files can read them.
            place = work_folder(self.store.path)
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="run_check-", dir=place) as work:
                run_files = self.store.batch_checks.export(run_id, Path(work))
                schemas = {(node.id, OUT): node.schema for node in planned.nodes}
                schemas |= {(node.id, port): out.schema for node in planned.nodes for port, out in node.second.items()}
                recorded = Recorded(
                    {
                        edge: [EdgeRecords(schemas[edge], (EdgeFile(str(file)),), 0)]
                        for edge, file in run_files.edges.items()
                    },
                    [str(run_files.late)] if run_files.late else [],
                    watermarks=[str(run_files.watermarks)],
                    idle=run_files.idle,
                )
                result = check(planned, spark, recorded, lambda node: self.going_on.__setitem__(run_id, node))
        except (StudioError, StoreError) as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - whatever Spark raises is said on the page
            _LOG.exception("the check of run %s failed", run_id)
            if server is not None and server.was_given_up() and not is_again:
                # Because of somebody's run, which ended the engine.
                return self._check(run_id, is_again=True)
            return {"error": reason_of(error)}
        return {
            "nodes": [
                {
                    "node": node.node,
                    "columns": node.columns,
                    "is_sink": node.is_sink,
                    "same": node.same,
                    "missing": node.missing,
                    "extra": node.extra,
                    "let_go": (node.let_go, node.passed_ms),
                    "rows": [
                        ([words.value(value) for value in row.row], row.in_batch, row.in_stream)
                        for row in node.differences
                    ],
                }
                for node in result.nodes
            ],
        }


def engine_for(run: Run) -> str:
    """The engine of the run if it can read the exported files, else that of the pages."""
    master = master_of(run.engine)
    try:
        return home() if not run.engine or engine_of(master).workspace else master
    except EngineUnavailable:
        # The engine was removed meanwhile; the records are on this machine.
        return home()


def checker() -> Checker:
    """The checker of this process."""
    return _checker(default_path())


@cache
def _checker(path: Path) -> Checker:
    return Checker(workspace.store(), workspace.folder())
