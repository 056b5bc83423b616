"""Stateless steps that share a job: those whose inputs are there already, and those that follow what a job writes.

    left  -> some ---+-> both -> result        one job writes some, more, both and result: what follows several edges
    right -> more ---+                         is written in parts, by the tasks of each

A step shares a job if it is available in Arrow (`engine.runtime.edges.arrow_native`) and no view.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

from engine.contract.operator import OUT, InputPlan, Operator
from engine.contract.recorder import EdgeFile, EdgeView
from engine.contract.step import Native
from engine.planner import NodePlan, Plan
from engine.runtime.edges.arrow_native import Branch, branches_of
from engine.runtime.edges.edge_files import EdgeFiles, Follower
from engine.runtime.edges.records import EdgeRecords
from engine.runtime.reports import Report, run_each, task_name
from engine.runtime.steps import step_of
from engine.spark.failures import NodeFailed
from engine.spark.workspace import Workspace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Edge = tuple[str, str]


@dataclass(frozen=True)
class SharedJobs:
    """The jobs of a plan's stateless steps. are_alone: they share none, and call no function of a user."""

    plan: Plan
    views: Mapping[Edge, EdgeView]
    workspace: Workspace
    are_alone: bool = False

    def edge_files(self, node: NodePlan, port: str, epoch: int) -> EdgeFiles:
        """The files of an edge that a job of its own writes, and of the steps that follow it."""
        if port != OUT:
            folder = ("edges", node.id, port, f"epoch={epoch}")
            return EdgeFiles(self.workspace, node.id, folder, node.second[port].schema)
        (files,) = self._files([node], epoch)
        return files

    def run(
        self,
        spark: SparkSession | None,
        node: NodePlan,
        there: Mapping[Edge, EdgeRecords],
        done: frozenset[str],
        epoch: int,
        are_few: Callable[[int], bool],
    ) -> dict[str, EdgeRecords] | None:
        """Run a stateless step with all others whose inputs are there. None if it is not available in Arrow.

        there: the records of edges. done: nodes that have run. are_few: whether so many are no job for Spark. Returns
        the records of all steps of the job, by node.
        """
        own = self._branches_on(node, there)
        if own is None:
            return None
        branches = {node.id: own}
        for other in self._stateless:
            if (
                other.id != node.id
                and other.id not in done
                and all(self._stored(input_) in there for input_ in other.inputs)
            ):
                other_branches = self._branches_on(other, there)
                branches |= {} if other_branches is None else {other.id: other_branches}
        nodes = [self.plan.node(name) for name in branches]
        files = dict(zip(branches, self._files(nodes, epoch), strict=True))
        work = [
            (replace(branch, records=replace(branch.records, files=())), file, files[name])
            for name, of_node in branches.items()
            for branch in of_node
            for file in branch.records.files
        ]
        here = are_few(sum(branch.records.rows for of_node in branches.values() for branch in of_node))
        reports = run_each(spark, [partial(_write, *job, place) for place, job in enumerate(work)], here=here)
        written: dict[str, EdgeRecords] = {}
        for edge_files in files.values():
            written |= edge_files.written(reports)
        return written

    @cached_property
    def _stateless(self) -> tuple[NodePlan, ...]:
        """The steps that process records one at a time and may share a job, without views."""
        if self.are_alone:
            return ()
        return tuple(
            node
            for node in self.plan.nodes
            if isinstance(node.operator, Operator)
            and (node.id, OUT) not in self.views
            and isinstance(step_of(self.plan, node), Native)
        )

    def _files(self, nodes: Sequence[NodePlan], epoch: int) -> list[EdgeFiles]:
        """The files of edges that one job writes, each with those of the steps that follow it."""
        job_ids = {node.id for node in nodes}
        following: dict[str, list[tuple[NodePlan, Branch]]] = {}
        for other in self._stateless:
            stored = [self._stored(input_) for input_ in other.inputs]
            if other.id in job_ids or not all(port == OUT and name in job_ids for name, port in stored):
                continue
            nothing = {edge: EdgeRecords(self.plan.node(edge[0]).schema, (), 0) for edge in stored}
            branches = self._branches_on(other, nothing)
            if branches is not None:
                job_ids.add(other.id)
                for (name, _), branch in zip(stored, branches, strict=True):
                    following.setdefault(name, []).append((other, branch))

        def of(node: NodePlan) -> EdgeFiles:
            followers = tuple(Follower(branch, of(other)) for other, branch in following.get(node.id, ()))
            folder = ("edges", node.id, OUT, f"epoch={epoch}")
            return EdgeFiles(self.workspace, node.id, folder, node.schema, followers)

        return [of(node) for node in nodes]

    def _branches_on(self, node: NodePlan, there: Mapping[Edge, EdgeRecords]) -> tuple[Branch, ...] | None:
        """The step on the records of its inputs."""
        step = step_of(self.plan, node)
        assert isinstance(step, Native)
        if self.are_alone and any(projection.call is not None for projection in step.projections):
            return None
        inputs = []
        for input_ in node.inputs:
            view, records = self.views.get((input_.node, input_.port)), there[self._stored(input_)]
            inputs.append(records if view is None else records.seen_as(view, input_.schema))
        allowed = node.mode if self.plan.drops_retractions else None
        return branches_of(node, step, inputs, [self.plan.passing(input_, allowed) for input_ in node.inputs])

    def _stored(self, input_: InputPlan) -> Edge:
        """The edge with the files of an input."""
        view = self.views.get((input_.node, input_.port))
        return (input_.node, input_.port) if view is None else (view.node, view.port)


def _write(branch: Branch, file: EdgeFile, files: EdgeFiles, place: int) -> Iterator[Report]:
    """Write what a step makes of one file."""
    writer = files.begin(f"{place:06d}-{task_name()}")
    batches = branch.batches(files.workspace, file)
    while True:
        try:
            batch = next(batches, None)
        except Exception as error:
            raise NodeFailed(files.node, error) from error
        if batch is None:
            break
        writer.write(batch)
    yield from writer.close()
