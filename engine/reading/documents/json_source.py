"""The base of sources of JSON Lines: their types are inferred from a sample.

A nested value is a ROW, an ARRAY or a MAP (`engine.reading.documents.shapes`) where a source says so; in documents of
before sources did, it is its JSON, as a STRING.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.contract.parameters import parameter
from engine.reading.documents.json_profile import json_profile
from engine.reading.documents.json_sample import Infer
from engine.reading.documents.shapes import infer_nested
from engine.reading.files.source import SampleRows, TextFiles
from engine.reading.typed.inference import infer_json
from engine.reading.typed.profile import ColumnProfile, TimeProposal


class SampledJson(TextFiles):
    """The base of sources of JSON Lines: their types are inferred from a sample."""

    sample_rows: SampleRows = 1000
    nested_types: bool = parameter(
        "Nested values have types",
        "An object is a ROW, whose fields can be chosen as customer.city, or a MAP, if its keys differ from row to "
        "row; a list is an ARRAY. Otherwise they are their JSON, as a STRING.",
        default=False,
        start=True,
        last=True,
    )

    @property
    def sampled(self) -> int:
        """The number of rows for type inference."""
        return self.sample_rows

    @classmethod
    def parameters_for(cls, path: str, first_line: str = "") -> Mapping[str, Any]:
        """The path, with types for nested values."""
        return {"path": path, "nested_types": True}

    @staticmethod
    def rows_of(value: dict[str, Any]) -> Sequence[Any]:
        """The rows of an object: by default, the one that it is."""
        return (value,)

    @property
    def infer(self) -> Infer:
        """How a column's type is inferred."""
        return infer_nested if self.nested_types else infer_json

    def profile(self, node: str, folder: Path) -> tuple[Sequence[ColumnProfile], Sequence[TimeProposal]]:
        """The profiles of the columns and the proposed event times, from the first rows."""
        return json_profile(self.files(node, folder), self.sample_rows, node, self.rows_of, self.infer)
