"""The planner: before a run, it determines the schema, keys and changelog mode of every edge, and each node's strategy.

derive         from the sources down: the output that each node can produce
normalise      between them: upsert sources whose consumers need -U get a normaliser
update_kinds   from the sinks up: the needs of each consumer, and so the nodes that produce -U
plan           the decisions, as values; `engine.contract.explanation` has them in words
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.contract.bundling import mini_batch
from engine.contract.expiry import Expiry
from engine.contract.operator import OUT, Analyzer, InputPlan, Operator, Strategy
from engine.errors import NotRead, PipelineError, StudioError, TooDeep
from engine.model.changelog import APPEND, ChangelogMode, RowKind, UpdateKind
from engine.model.options import RETRACTION, check_options, goes_by_arrival, is_on
from engine.model.pipeline import Edge, Pipeline
from engine.planner.arrival import check_arrival
from engine.planner.derive import DerivedNode, derive
from engine.planner.normalise import normalised, without_idle
from engine.planner.plan import Check, InputNeed, NodePlan, Plan
from engine.planner.update_kinds import Chosen, choose_update_kinds

__all__ = ["Check", "InputNeed", "NodePlan", "Plan", "check", "plan"]


def plan(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Plan:
    """The plan of a valid pipeline, without statements that could not be read. folder: the base of relative file names.

    Raises the first PipelineError or PlanRejected of an invalid one.
    """
    checked = check(pipeline, analyzer, folder)
    if checked.plan is None:
        raise checked.problems[0]
    return checked.plan


def check(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Check:
    """All findings about a pipeline, valid or not, for editors."""
    try:
        return _check(pipeline, analyzer, folder)
    except RecursionError:
        return Check(None, {}, (TooDeep("the pipeline, or an expression in it,"),))


def _check(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Check:
    try:
        pipeline.check()
        check_options(pipeline.options)
        mini_batch(pipeline.options)
        nodes, problems = derive(pipeline, analyzer, folder)
    except StudioError as error:
        return Check(None, {}, (error,))
    derived = {name: node.derived for name, node in nodes.items()}
    second = {(name, port): output for name, node in nodes.items() for port, output in node.second.items()}
    if not pipeline.nodes:
        message = "the pipeline is empty. Add a source."
        problems = (PipelineError(message),)
    if not nodes or not all(isinstance(problem, NotRead) for problem in problems):
        return Check(None, derived, problems, second)
    if problems:
        pipeline = pipeline.part(nodes)
    try:
        check_arrival(pipeline, nodes)
        return Check(_decide(pipeline, nodes, analyzer, folder), derived, problems, second)
    except StudioError as error:
        return Check(None, derived, (*problems, error), second)


def _decide(pipeline: Pipeline, nodes: Mapping[str, DerivedNode], analyzer: Analyzer, folder: Path) -> Plan:
    complete = normalised(pipeline, nodes)
    if complete is pipeline:
        return _assemble(pipeline, nodes, choose_update_kinds(nodes))
    nodes = _derived(complete, analyzer, folder)
    chosen = choose_update_kinds(nodes)
    needed = without_idle(complete, pipeline, chosen)
    if needed is not complete:
        nodes = _derived(needed, analyzer, folder)
        chosen = choose_update_kinds(nodes)
    return _assemble(needed, nodes, chosen)


def _derived(pipeline: Pipeline, analyzer: Analyzer, folder: Path) -> Mapping[str, DerivedNode]:
    nodes, problems = derive(pipeline, analyzer, folder)
    if problems:
        raise problems[0]
    return nodes


def _assemble(pipeline: Pipeline, nodes: Mapping[str, DerivedNode], chosen: Mapping[str, Chosen]) -> Plan:
    modes = {name: ChangelogMode.of(node.derived.modify, chosen[name].update_kind) for name, node in nodes.items()}
    if not is_on(pipeline.options, RETRACTION):
        modes = {name: mode.without_retraction for name, mode in modes.items()}
    return Plan(
        pipeline,
        tuple(
            _node_plan(name, rank, node, nodes, chosen[name], modes, pipeline.options)
            for rank, (name, node) in enumerate(nodes.items())
        ),
    )


def _node_plan(
    name: str,
    rank: int,
    node: DerivedNode,
    nodes: Mapping[str, DerivedNode],
    chosen: Chosen,
    modes: Mapping[str, ChangelogMode],
    options: Mapping[str, str],
) -> NodePlan:
    inputs = tuple(
        _input_plan(edge, need, nodes[edge.source], modes[edge.source])
        for edge, need in zip(node.edges, chosen.offer.needs, strict=True)
    )
    needs = tuple(
        InputNeed(
            edge.source,
            edge.target_port,
            need if input_plan.derived.has_updates else UpdateKind.NONE,
            need is UpdateKind.BEFORE_AND_AFTER,
            reason,
        )
        for edge, input_plan, need, reason in zip(
            node.edges, inputs, chosen.offer.needs, chosen.offer.reasons, strict=True
        )
    )
    mode = modes[name]
    if isinstance(node.operator, Operator):
        strategy = node.operator.strategy(inputs, mode)
        expiry = node.operator.expiry(inputs)
        if expiry is Expiry.BY_TTL:
            expiry = _by_clock(nodes, options)
        strategy = replace(strategy, state=expiry.of(strategy.state, node.operator.state_ttls_ms(options)))
    else:
        strategy = Strategy("scan", "it reads its rows in order of arrival")
    return NodePlan(
        id=name,
        rank=rank,
        operator=node.operator,
        derived=node.derived,
        mode=mode,
        inputs=inputs,
        needs=needs,
        strategy=strategy,
        table_type="Append" if node.derived.is_insert_only else "Replace",
        accumulate_mode="AccRetract" if mode.retracts else "Acc",
        second=node.second,
    )


def _by_clock(nodes: Mapping[str, DerivedNode], options: Mapping[str, str]) -> Expiry:
    """What lets an entry with a TTL go: the arrival columns, or event times if a source has them."""
    if goes_by_arrival(options):
        return Expiry.BY_ARRIVAL
    sources = (node for node in nodes.values() if not isinstance(node.operator, Operator))
    is_timed = any(source.derived.schema.event_time is not None for source in sources)
    return Expiry.BY_TTL if is_timed else Expiry.NO_CLOCK


def _given(source: DerivedNode, mode: ChangelogMode, need: UpdateKind) -> ChangelogMode:
    """The mode that a consumer receives: as emitted, or from a source of -U and +U, without -U if it needs none."""
    if isinstance(source.operator, Operator) or need is not UpdateKind.ONLY_UPDATE_AFTER:
        return mode
    return ChangelogMode(mode - {RowKind.UPDATE_BEFORE})


def _input_plan(edge: Edge, need: UpdateKind, source: DerivedNode, mode: ChangelogMode) -> InputPlan:
    if edge.source_port == OUT:
        return InputPlan(edge.source, source.derived, _given(source, mode, need))
    return InputPlan(edge.source, source.output(edge.source_port), APPEND, edge.source_port)
