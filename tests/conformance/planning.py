"""The comparison of a plan with Flink's: columns, changelog modes and strategies of the nodes that both have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from engine.planner import NodePlan
from tests.conformance.running import Planned

_NODES = {
    "aggregate": ("GroupAggregate", "GlobalGroupAggregate"),
    "topn": ("Rank", "SortLimit"),
    "join": ("Join",),
    "interval_join": ("IntervalJoin",),
    "window_join": ("WindowJoin",),
    "temporal_join": ("TemporalJoin",),
    "lookup_join": ("LookupJoin",),
    "window_aggregate": ("GlobalWindowAggregate", "WindowAggregate", "GroupWindowAggregate"),
    "changelog_normalize": ("ChangelogNormalize",),
    "window_assign": ("WindowTableFunction",),
    "window_topn": ("WindowRank", "WindowDeduplicate"),
    "union": ("Union",),
}
_MODE = re.compile(r"changelogMode=\[([^\]]*)\]")
_STRATEGY = re.compile(r"strategy=\[(\w+?)Strategy")
_SIDES = re.compile(r"^Join\(.*leftInputSpec=\[(\w+)\], rightInputSpec=\[(\w+)\]")
_OUR_SIDES = re.compile(r"\[(\w+), (\w+)\]")


def plan_difference(job: Planned) -> str:
    """The first difference as a text; empty if there is none."""
    return _columns(job) or _root(job) or _modes(job) or _strategies(job) or _join_sides(job)


def _columns(job: Planned) -> str:
    schema = job.plan.node(job.sink).schema
    expected = [(name, _bare(type_)) for name, type_ in job.case.expected["columns"]]
    got = [(column.name, _bare(column.type.flink)) for column in schema]
    return "" if expected == got else f"columns: expected {_listed(expected)}, got {_listed(got)}"


def _root(job: Planned) -> str:
    """The mode of the sink's input. For a deduplication, Flink shows all kinds, although it emits fewer."""
    lines = [line for line in job.case.expected["plan"] if "Exchange(" not in line]
    expected = _mode_of(lines[1])
    sink = job.plan.node(job.sink)
    # Flink drops -U in a separate node; here the sink does it.
    mode = sink.mode if _node_of(lines[1]) == "DropUpdateBefore" else sink.inputs[0].mode
    got = str(mode)[1:-1]
    if expected == got or (_is_deduplicated(job) and set(got.split(",")) <= set(expected.split(","))):
        return ""
    return f"changelog mode of the result: expected [{expected}], got [{got}]"


def _modes(job: Planned) -> str:
    lines = job.case.expected["plan"]
    deduplicated = _is_deduplicated(job)
    for operator, names in _NODES.items():
        ours = [node for node in job.plan.nodes if node.operator.operator == operator]
        theirs = [line for line in lines if _node_of(line) in names]
        if deduplicated and operator == "topn":
            continue
        expected, got = sorted(map(_mode_of, theirs)), sorted(str(node.mode)[1:-1] for node in ours)
        if len(expected) == len(got) and expected != got and not deduplicated:
            return f"changelog modes of {operator}: expected {expected}, got {got}"
    return ""


def _strategies(job: Planned) -> str:
    if _is_deduplicated(job):
        return ""
    found = (_STRATEGY.search(line) for line in job.case.expected["plan"])
    expected = sorted(match[1] for match in found if match)
    ranked = (node for node in job.plan.nodes if node.operator.operator == "topn")
    # Flink's Limit is a separate node without a strategy.
    got = sorted(name for node in ranked if (name := _strategy(node)) != "Limit")
    return "" if expected == got else f"strategies: expected {expected}, got {got}"


def _join_sides(job: Planned) -> str:
    """The state types of a regular join's inputs."""
    found = (_SIDES.search(_bare_line(line)) for line in job.case.expected["plan"])
    expected = sorted(match.groups() for match in found if match)
    ours = (_OUR_SIDES.search(node.strategy.name) for node in job.plan.nodes if node.operator.operator == "join")
    got = sorted(match.groups() for match in ours if match)
    return "" if expected == got or len(expected) != len(got) else f"states of joins: expected {expected}, got {got}"


def _bare_line(line: str) -> str:
    return line.lstrip(" :+-")


def _strategy(node: NodePlan) -> str:
    return node.strategy.name.partition("[")[0]


def _is_deduplicated(job: Planned) -> bool:
    """Whether Flink executes a Deduplicate; its physical plan shows a Rank for it."""
    return any("Deduplicate(" in line for line in job.case.expected.get("exec_plan", ()))


def _node_of(line: str) -> str:
    return _bare_line(line).partition("(")[0]


def _mode_of(line: str) -> str:
    match = _MODE.search(line)
    return match[1] if match else ""


def _bare(type_: str) -> str:
    """A type without NOT NULL, time attribute, length of texts and precision of times.

    In UTC a TIMESTAMP and a TIMESTAMP_LTZ are the same instant; a MULTISET is a MAP of counts.
    """
    bare = re.sub(r" NOT NULL| \*(ROW|PROC)TIME\*", "", type_).strip()
    bare = re.sub(r"TIMESTAMP(_LTZ)?\(\d\)", "TIMESTAMP(3)", bare)
    bare = re.sub(r"(VAR)?CHAR\(\d+\)", "STRING", bare)
    return re.sub(r"MULTISET<(.*)>", r"MAP<\1, INT>", bare)


def _listed(columns: Iterable[Sequence[str]]) -> str:
    return ", ".join(f"{name} {type_}" for name, type_ in columns)
