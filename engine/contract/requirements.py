"""What an operator requires of its inputs: rows that are only inserted, or updates of a certain kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.contract.derived import Derived
from engine.errors import PlanRejected
from engine.model.changelog import ChangelogMode, UpdateKind


@dataclass(frozen=True)
class Offer:
    """One way to satisfy the consumers: the required update kind of each input, and the reasons."""

    needs: tuple[UpdateKind, ...]
    reasons: tuple[str, ...]


def require_insert_only(node: str, what: str, input_: Derived, advice: str) -> None:
    """Raise PlanRejected, with advice, if the input of `what` retracts."""
    if not input_.is_insert_only:
        mode = ChangelogMode.of(input_.modify, UpdateKind.BEFORE_AND_AFTER)
        message = f"{what} needs an insert-only input, but {input_.node or 'its input'} emits {mode}. {advice}"
        raise PlanRejected(message, node)


def forwarded(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of an operator that passes kinds on: it requires the wanted kind from its inputs."""
    return (Offer((wanted,) * len(inputs), (reason,) * len(inputs)),)


def forwarded_with_update_before(inputs: Sequence[Derived], wanted: UpdateKind, reason: str) -> Sequence[Offer]:
    """The offer of a forwarding operator that needs -U: +U alone does not tell what it replaces in the output."""
    return () if wanted is UpdateKind.ONLY_UPDATE_AFTER else forwarded(inputs, wanted, reason)
