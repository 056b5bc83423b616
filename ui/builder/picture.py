"""The data that the canvas draws: the document, and the facts of the planner and of a run for each node and edge.

`ui/canvas/src/picture` draws the same data as a picture, which has nothing to click.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.contract.derived import Derived
from engine.contract.operator import OUT, Operator
from engine.contract.source import Source
from engine.contract.unread import Unread
from engine.errors import NotRead, StudioError
from engine.expressions.flink_sql import flink_in, text_in
from engine.joins.sides import seen
from engine.model.changelog import APPEND, SYMBOLS, ChangelogMode, RowKind
from engine.model.pipeline import Node, Pipeline, Place
from engine.model.schema import Schema
from engine.planner import Check, NodePlan
from engine.script.readable import flink_of
from engine.windows.parameters import BOUNDS
from storage.event_time.held_states import HeldPoint
from ui.builder.checking import checked, edge_reason, input_schemas, keys_in_words, modes
from ui.builder.editing import edge_key, operator_class, palette
from ui.builder.fixes import fixes
from ui.builder.problems import explained, is_to_do
from ui.components.held.held_table import held_in_words
from ui.forms.spec import Field, FieldKind, fields_of
from ui.runs.operator_lines import OperatorLine
from ui.runs.overlay import Overlay
from ui.shell.theme import DROPPED, KIND_COLORS, LATE_USED, ON_COLOR, PROBLEM, REJECTED, ROLE_COLORS
from ui.shell.words import count, duration, instant, size

Shape = dict[str, Any]
_KIND_LETTERS: Final = {
    RowKind.INSERT: "I",
    RowKind.UPDATE_BEFORE: "U",
    RowKind.UPDATE_AFTER: "V",
    RowKind.DELETE: "D",
}
_FUNCTION: Final = re.compile(r"^def\s+(\w+\([^)\n]*\))", re.MULTILINE)
_HINT_CHARS: Final = 26
_BRIEF_CHARS: Final = 32
_COLUMNS_SHOWN: Final = 12


def colors() -> Mapping[str, str]:
    """The studio's own colours, as CSS variables; all others are the page's."""
    return {
        **{f"--kind-{_KIND_LETTERS[kind]}": color for kind, color in KIND_COLORS.items()},
        **{f"--role-{role}": color for role, color in ROLE_COLORS.items()},
        "--problem": PROBLEM,
        "--dropped": DROPPED,
        "--late-but-used": LATE_USED,
        "--rejected": REJECTED,
        "--on-color": ON_COLOR,
    }


def catalog() -> list[Shape]:
    """Everything that can be added, in the palette's order, and what only a script makes, which no palette offers."""
    shown = [_entry(cls, group) for group, members in palette().items() for cls in members]
    return [*shown, {**_entry(Unread, Unread.group), "hidden": True}]


def drawing(pipeline: Pipeline, known: Mapping[str, ChangelogMode]) -> Shape:
    """What a picture needs of a pipeline. known: by node, the mode of its output."""
    facts: dict[str, Shape] = {}
    for node in pipeline.nodes:
        cls = operator_class(node.operator)
        outputs = list(cls.output_ports(node.parameters)) if cls is not None else [OUT]
        facts[node.id] = {"hint": hint(node), "outputs": outputs, "mode": _symbols(known.get(node.id, ()))}
    used = {node.operator for node in pipeline.nodes}
    drawn = document(pipeline)
    return {
        "name": pipeline.name,
        "colors": colors(),
        "document": {**drawn, "nodes": [{**node, "parameters": {}} for node in drawn["nodes"]]},
        "catalog": [entry for entry in catalog() if entry["operator"] in used],
        "nodes": facts,
        "edges": {},
    }


def _entry(cls: type[Operator] | type[Source], group: str) -> Shape:
    return {
        "operator": cls.operator,
        "title": cls.title,
        "summary": cls.summary,
        "alsoCalled": list(cls.also_called),
        "group": group,
        "role": cls.role,
        "ports": list(cls.ports),
        "many": bool(getattr(cls, "many_edges", False)),
    }


def document(pipeline: Pipeline) -> Shape:
    """Nodes, edges and groups; the place of a node that was never placed by hand is None."""
    return {
        "nodes": [
            {
                "id": node.id,
                "operator": node.operator,
                "parameters": node.parameters,
                "group": node.group,
                "place": _spot(node.place),
            }
            for node in pipeline.nodes
        ],
        "edges": [
            {"source": edge.source, "out": edge.source_port, "target": edge.target, "port": edge.target_port}
            for edge in pipeline.edges
        ],
        "groups": [
            {"name": group.name, "inside": group.inside, "isFolded": group.folded, "place": _spot(group.place)}
            for group in pipeline.groups
        ],
    }


def _spot(place: Place) -> list[float] | None:
    return None if place == Place() else [place.x, place.y]


def node_facts(pipeline: Pipeline, verdict: Check, run: Overlay | None) -> dict[str, Shape]:
    """By node: strategy, state, mode, problems with their fixes, and its figures in the run."""
    plans = {plan.id: plan for plan in _plans(pipeline, verdict)}
    node_modes = modes(verdict)
    facts: dict[str, Shape] = {}
    for node in pipeline.nodes:
        cls = operator_class(node.operator)
        outputs = list(cls.output_ports(node.parameters)) if cls is not None else [OUT]
        shape: Shape = {
            "hint": hint(node, _seen(pipeline, node, verdict)),
            "outputs": outputs,
            **_planned(plans.get(node.id)),
        }
        if node.id in node_modes:
            shape["mode"] = _symbols(node_modes[node.id])
        wrong = [problem for problem in verdict.problems if problem.node == node.id]
        if wrong:
            is_open = all(is_to_do(pipeline, problem) for problem in wrong)
            number = f"{len(wrong)} to do" if is_open else count(len(wrong), "problem")
            shape["problems"] = [
                {
                    "sentence": sentence,
                    "brief": _brief(node, problem, sentence, number),
                    "field": problem.field,
                    "toDo": is_to_do(pipeline, problem),
                    "fixes": [fix.label for fix in fixes(pipeline, problem, verdict)],
                }
                for problem in wrong
                for sentence in (_sentence(explained(pipeline, problem)),)
            ]
        if run is not None:
            if node.id in run.lines:
                shape |= _ran(run.lines[node.id], run.marks_ms.get(node.id))
            if node.id in run.changed:
                what = "changed since" if node.id in run.lines else "not in"
                shape["since"] = f"{what} run {run.run.run_id}"
        facts[node.id] = shape
    return facts


def _brief(node: Node, problem: StudioError, sentence: str, number: str) -> str:
    """A problem in the few words that fit on a node; its form has the whole sentences. number: of all, in words."""
    if isinstance(problem, NotRead) and problem.line:
        return f"Line {problem.line} could not be read"
    first = sentence.split(". ")[0].rstrip(".")
    if len(first) <= _BRIEF_CHARS:
        return first
    cls = operator_class(node.operator)
    name = problem.field.partition(".")[0]
    titles = [field.title for field in fields_of(cls) if field.name == name] if cls is not None else []
    return f"Check: {titles[0]}" if titles else number


def edge_facts(pipeline: Pipeline, verdict: Check, run: Overlay | None) -> dict[str, Shape]:
    """By edge: its mode with the reason, columns, keys, and the number of its records of each kind in the run."""
    node_modes = modes(verdict)
    facts: dict[str, Shape] = {}
    for edge in pipeline.edges:
        is_first = edge.source_port == OUT
        derived = verdict.output(edge.source, edge.source_port)
        if derived is None:
            continue
        reason = edge_reason(verdict, edge.source, edge.target, edge.target_port)
        if derived.is_insert_only:
            because = f"{edge.source} emits only inserts, so there are no retractions."
        else:
            because = f"{edge.target} requires this: {reason}." if reason else f"{edge.source} updates rows."
        facts[edge_key(edge)] = {
            "mode": _symbols(node_modes[edge.source] if is_first else APPEND),
            "because": because,
            "keys": keys_in_words(derived),
            "columns": _columns(derived),
            "output": edge.source if is_first else f"{edge.source}.{edge.source_port}",
        }
        if run is not None and (edge.source, edge.source_port) in run.counts:
            facts[edge_key(edge)]["counts"] = dict(run.counts[edge.source, edge.source_port])
    return facts


def _seen(pipeline: Pipeline, node: Node, verdict: Check) -> Schema | None:
    """The columns that a node's expressions see; None if an input is not known."""
    inputs = input_schemas(pipeline, node.id, verdict)
    schemas = [schema for schema in inputs.values() if schema is not None]
    return seen(schemas) if inputs and len(schemas) == len(inputs) else None


def hint(node: Node, schema: Schema | None = None) -> str:
    """The most important parameters, as many as fit in a line: `word · COUNT`, `10 s · key`.

    schema: of the columns that its expressions see, if they are known.
    """
    cls = operator_class(node.operator)
    line = ""
    for field in fields_of(cls) if cls is not None else ():
        if field.name in BOUNDS:
            # The node that assigns the windows shows them.
            continue
        text = _word(field, node.parameters.get(field.name), schema)
        if not text:
            continue
        longer = f"{line} · {text}" if line else text
        if line and len(longer) > _HINT_CHARS:
            break
        line = longer
    return line


def _listed(names: list[str], title: str) -> str:
    """The names if they fit in a line, else their number."""
    line = ", ".join(names)
    return line if len(line) <= _HINT_CHARS else f"{len(names)} × {title.lower()}"


def _word(field: Field, value: Any, schema: Schema | None) -> str:
    match field.kind, value:
        case _, None | "" | [] | ():
            return ""
        case FieldKind.DURATION, 0:
            return ""
        case FieldKind.DURATION, int():
            return duration(value)
        case FieldKind.FILE, str():
            return value.rpartition("/")[2]
        case FieldKind.CHOICE, str():
            return value.replace("_", " ")
        case FieldKind.COLUMN | FieldKind.EXPRESSION, _:
            return _expression(value, schema)
        case FieldKind.CODE, str():
            return next(reversed(_FUNCTION.findall(value)), "")
        case FieldKind.COLUMNS, list() | tuple():
            return _listed(list(map(str, value)), field.title)
        case FieldKind.ITEMS, list() | tuple():
            return _listed([name for entry in value if entry and (name := _item(entry, schema))], field.title)
        case FieldKind.GRID, list() | tuple():
            return f"{len(value)} rows"
        case _:
            return ""


def _expression(value: Any, schema: Schema | None) -> str:
    """An expression in Flink SQL, if it has any."""
    text = text_in(value)
    flink_text = flink_of(text, schema) if flink_in(value) is None and schema is not None else None
    return (flink_text or text).strip()


def _item(item: Mapping[str, Any], schema: Schema | None) -> str:
    """An item of a list: SUM(amount), or its name."""
    if "function" in item:
        argument = item.get("argument")
        return f"{item['function']}({_expression(argument, schema)})" if argument else str(item["function"])
    return str(item.get("name") or item.get("column") or "")


def _plans(pipeline: Pipeline, verdict: Check) -> Iterable[NodePlan]:
    """The plan; if the pipeline has problems, the plan of its valid part."""
    if verdict.plan is not None:
        return verdict.plan.nodes
    if not verdict.derived:
        return ()
    partial = checked(pipeline.part(verdict.derived))
    return partial.plan.nodes if partial.plan is not None else ()


def _planned(plan: NodePlan | None) -> Shape:
    if plan is None or plan.role == "source":
        return {}
    return {"strategy": plan.strategy.name, "reason": plan.strategy.reason, "state": plan.strategy.state}


def _ran(line: OperatorLine, mark_ms: int | None) -> Shape:
    shape: Shape = {
        "state": line.state,
        "in": line.records_in,
        "out": line.records_out,
        "dropped": line.dropped,
        "used": line.used,
        "rejected": line.rejected,
    }
    if mark_ms is not None:
        shape["watermark"] = instant(mark_ms)
    if line.records_in and line.records_out is not None:
        shape["amplification"] = f"{line.records_out / line.records_in:.2f}".rstrip("0").rstrip(".")
    if line.held is not None and (line.held.total or line.held.expired):
        shape["held"] = _held(line.held)
    return {"run": shape, **({"error": line.error} if line.error else {})}


def _held(held: HeldPoint) -> Shape:
    """The badge of a state: its size, what has expired, and a sentence with both."""
    told = f"State: {held_in_words(held.entries)} of {count(held.keys, 'key')}, {size(held.size)}"
    expired = f"; {count(held.expired, 'entry', 'entries')} expired so far" if held.expired else ""
    return {"size": size(held.size), "expired": held.expired, "told": f"{told}{expired}"}


def _symbols(mode: Iterable[RowKind]) -> list[str]:
    return [SYMBOLS[kind] for kind in sorted(mode)]


def _columns(derived: Derived) -> list[list[str]]:
    in_keys = {name for key in derived.upsert_keys for name in key}
    rows = []
    for column in derived.schema:
        roles = ["key"] * (column.name in in_keys) + ["event time"] * (column.time is not None)
        rows.append([column.name, column.type.flink, ", ".join(roles)])
    rest = len(rows) - _COLUMNS_SHOWN
    return rows if rest <= 0 else [*rows[:_COLUMNS_SHOWN], [f"and {rest} more", "", ""]]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
