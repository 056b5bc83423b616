"""What operators require: inputs that are only inserted or have updates of a certain kind, names that differ."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from engine.contract.derived import Derived
from engine.errors import PipelineError, PlanRejected
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Column


@dataclass(frozen=True)
class Offer:
    """One way to satisfy the consumers: the required update kind of each input, and the reasons."""

    needs: tuple[UpdateKind, ...]
    reasons: tuple[str, ...]


def require_insert_only(node: str, what: str, input_: Derived, advice: str) -> None:
    """Raise PlanRejected, with advice, if the input of `what` retracts."""
    if not input_.is_insert_only:
        mode = ChangelogMode.of(input_.modify, UpdateKind.BEFORE_AND_AFTER)
        message = f"{what} needs an insert-only input, but {input_.node or 'its input'} emits {mode.signs}. {advice}"
        raise PlanRejected(message, node)


def require_event_time(node: str, what: str, input_: Derived, *, field: str = "", advice: str = "") -> Column:
    """The event time of the input of `what`. Raises PlanRejected, with the place where it was lost and advice."""
    if (time := input_.schema.event_time) is None:
        side = f"{field} " if field in ("left", "right") else ""
        message = f"{what} needs an event time, but its {side}input has none. {input_.timeless}"
        raise PlanRejected(f"{message} {advice}".rstrip(), node, field)
    return time


def require_different_names(node: str, field: str, columns: Iterable[Column]) -> None:
    """Raise PipelineError if two output columns have the same name. field: the parameter with the names."""
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            message = f"{field}: two output columns are called {column.name!r}. Give one of them another name."
            raise PipelineError(message, node, field)
        seen.add(column.name.lower())


def forwarded(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of an operator that passes kinds on: it requires the wanted kind from its inputs."""
    return (Offer((wanted,) * len(inputs), (reason,) * len(inputs)),)


def forwarded_with_update_before(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of a forwarding operator that needs -U: +U alone does not tell what it replaces in the output."""
    return () if wanted is UpdateKind.ONLY_UPDATE_AFTER else forwarded(inputs, wanted, reason)
