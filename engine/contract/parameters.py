"""The base of all parameters, of operators and of sources, and how a parameter is declared:

    window_ms: Duration = parameter("Window", "How long a window is.", default=1000, last=True)

`parameter` is pydantic's Field with the marks for the form as arguments. Kinds of parameters with an input of their
own are types: Columns, ColumnOrNone, Duration, DurationOrNone, Sql, SqlOrNone. A parameter that is one of
several named objects, such as an aggregate function, is annotated with `engine.contract.named.Named`.

An expression of a document is marked with its language: {"flink": "a / b"} (`engine.expressions.flink_sql`). A text
without a mark is Spark SQL, as former versions wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Final, Self, TypedDict, Unpack, cast, dataclass_transform

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from engine.expressions.flink_sql import FlinkSql, flink, flink_in
from engine.functions.spark_text import written_here

MOST_CHARS: Final = 1_000_000
"""The most characters of an expression."""


class Marks(TypedDict, total=False):
    """What is special about a parameter. The form has a special input for it."""

    column: bool
    """One column of the input."""
    columns: bool
    """A list of columns."""
    expression: bool
    """Flink SQL if it is marked so, else Spark SQL; `engine.expressions.spellings` translates Flink's spellings."""
    port: str
    """The input whose columns are meant, if there are several."""
    duration: bool
    """A duration in ms."""
    instant: bool
    """An instant in ms since 1970."""
    file: bool
    """A path, or an upload."""
    offered: bool
    """One of the choices that only the source knows (`Source.offered`)."""
    code: bool
    """Python code."""
    is_type: bool
    """The text of a type, in Flink SQL."""
    text: bool
    """Values other than strings and numbers are entered as text and parsed by the model."""
    functions: bool
    """The aggregate functions of the node's code can be chosen too."""
    only: Sequence[str]
    """Shown only if one of these values is chosen in the field of the same model that offers them."""
    unless: str
    """Not shown if this other field is set."""
    nothing: str
    """What no choice of a column means; by default, none."""
    start: Any
    """The value in the form of a new node, if it is not the default."""
    usual: bool
    """The form of a new node has a guess, although the value may be left out."""
    titles: Mapping[str, str]
    """Of a choice, what the form calls values that are no words for people."""
    beside: bool
    """In one row with the field before it."""
    hidden: bool
    """Not in the form."""
    last: bool
    """Rarely used: in a folded part below the others."""


def parameter(
    title: str | None = None,
    description: str | None = None,
    *,
    default: Any = PydanticUndefined,
    default_factory: Callable[[], Any] | None = None,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    min_length: int | None = None,
    **marks: Unpack[Marks],
) -> Any:
    """A parameter with the label and the help text of its field in the form; without a default it is required.

    What is given here completes or replaces what its type is annotated with.
    """
    given = {
        "title": title,
        "description": description,
        "default_factory": default_factory,
        "ge": ge,
        "gt": gt,
        "le": le,
        "lt": lt,
        "min_length": min_length,
        "json_schema_extra": marks or None,
    }
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return Field(default, **options)


def marks_of(field: FieldInfo) -> Marks:
    """The marks of a declared parameter."""
    return cast(Marks, field.json_schema_extra) if isinstance(field.json_schema_extra, dict) else {}


Columns = Annotated[tuple[str, ...], parameter(columns=True)]
"""Columns of the input."""
ColumnOrNone = Annotated[str | None, parameter(default=None, column=True)]
"""A column of the input; None by default."""
Duration = Annotated[int, parameter(ge=0, duration=True)]
"""A duration in ms."""
DurationOrNone = Annotated[int | None, parameter(default=None, ge=0, duration=True)]
"""A duration in ms; None by default."""
Sql = Annotated[str, parameter(min_length=1, expression=True)]
"""A required expression."""
SqlOrNone = Annotated[str | None, parameter(default=None, min_length=1, expression=True)]
"""An expression; None by default."""


@dataclass_transform(kw_only_default=True, field_specifiers=(Field, parameter))
class Parameters(BaseModel):
    """The base of all parameter models: unknown fields are errors, values do not change, numbers fit a BIGINT.

    Expressions are Spark SQL, but those in Flink SQL are so only after they were bound (`engine.sql.typed`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _expression(cls, value: Any, handler: ValidatorFunctionWrapHandler, field: ValidationInfo) -> Any:
        if not marks_of(cls.model_fields[field.field_name or ""]).get("expression"):
            return handler(value)
        if isinstance(value, FlinkSql):
            return value
        typed = flink_in(value)
        text = handler(value if typed is None else typed)
        if not isinstance(text, str):
            return text
        if len(text) > MOST_CHARS:
            message = f"it has {len(text):,} characters, and {MOST_CHARS:,} are the most of an expression"
            raise ValueError(message)
        if typed is not None:
            return FlinkSql(text)
        if (written := written_here(text)) is not None:
            return written
        from engine.expressions.spellings import as_spark

        return as_spark(text)

    @model_serializer(mode="wrap")
    def _marked(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        marked = {name: flink(value.flink) for name, value in self if isinstance(value, FlinkSql)}
        return written | {name: value for name, value in marked.items() if name in written}

    def with_expressions(self, change: Callable[[str, str, Marks], str], path: str = "") -> Self:
        """The parameters with other expressions. change: of a text, its path and marks, the text instead of it."""
        changes: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value, marks, place = getattr(self, name), marks_of(field), f"{path}{name}"
            if isinstance(value, str) and marks.get("expression"):
                changes[name] = change(value, place, marks)
            elif isinstance(value, Parameters):
                changes[name] = value.with_expressions(change, f"{place}.")
            elif isinstance(value, tuple) and any(isinstance(entry, Parameters) for entry in value):
                changes[name] = tuple(
                    entry.with_expressions(change, f"{place}.{at}.") if isinstance(entry, Parameters) else entry
                    for at, entry in enumerate(value)
                )
        return self.model_copy(update=changes)

    @property
    def expressions(self) -> list[str]:
        """All expressions."""
        texts: list[str] = []

        def noted(text: str, path: str, marks: Marks) -> str:
            texts.append(text)
            return text

        self.with_expressions(noted)
        return texts

    @property
    def in_spark(self) -> Self:
        """Bound parameters with Spark SQL only: what was typed is no longer known."""
        return self.with_expressions(lambda text, path, marks: str(text))

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        for name, value in self:
            # Far below 2^63: sums of a few such numbers have to fit as well.
            if isinstance(value, int) and abs(value) >= 1 << 60:
                message = f"{name} is too large; the largest number is {(1 << 60) - 1}"
                raise ValueError(message)
        return self
