"""Texts that mean kinds of change, as FROM_CHANGELOG reads and TO_CHANGELOG writes them: parameters and their SQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from engine.contract.operator import Operator
from engine.contract.parameters import parameter
from engine.contract.table_call import literal
from engine.model.changelog import RowKind
from engine.model.types import quote

FIELDS: Final = dict(zip(("inserts", "updates_before", "updates_after", "deletes"), RowKind, strict=True))
"""By parameter, the kind that its text stands for."""


class ChangeWords(Operator):
    """The base of the two operators: a text for each kind, those of Flink by default."""

    inserts: str = parameter("Text of +I", "What stands for an inserted row. Empty: there is none.", default="INSERT")
    updates_before: str = parameter(
        "Text of -U", "What stands for a row before its update. Empty: there is none.", default="UPDATE_BEFORE"
    )
    updates_after: str = parameter(
        "Text of +U", "What stands for a row after its update. Empty: there is none.", default="UPDATE_AFTER"
    )
    deletes: str = parameter("Text of -D", "What stands for a deleted row. Empty: there is none.", default="DELETE")

    @property
    def texts(self) -> Mapping[RowKind, str]:
        """By kind, its text, if it has one."""
        return {kind: text for name, kind in FIELDS.items() if (text := getattr(self, name).strip())}

    def call(self, input_: str, column: str, pairs: Mapping[str, str]) -> str:
        """SELECT * from the function, over an input as it stands there. pairs: of op_mapping, in this order."""
        arguments = [f"input => {input_}", f"op => DESCRIPTOR({quote(column)})"]
        if any(getattr(self, name) != kind.name for name, kind in FIELDS.items()):
            listed = ", ".join(f"{literal(key)}, {literal(value)}" for key, value in pairs.items())
            arguments.append(f"op_mapping => MAP[{listed}]")
        return f"SELECT * FROM {self.sql_function}({', '.join(arguments)})"
