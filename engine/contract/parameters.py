"""The base of all parameters, of operators and of sources.

`json_schema_extra` says what is special about a parameter, and the form has a special input for it:

    {"column": True}      one column of the input
    {"columns": True}     a list of columns
    {"expression": True}  Spark SQL; `engine.expressions.spellings` translates Flink's spellings
    {"port": NAME}        the input whose columns are meant, if there are several
    {"duration": True}    a duration in ms
    {"text": True}        values other than strings and numbers are entered as text and parsed by the model
    {"functions": True}   the aggregate functions of the node's code can be chosen too
    {"only": ["hop"]}     shown only if one of these values is chosen in the field of the same model that offers them
    {"last": True}        rarely used: in a folded part below the others

A parameter that is one of several named objects, such as an aggregate function, is annotated with
`engine.contract.named.Named`.
"""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator, model_validator


class Parameters(BaseModel):
    """The base of all parameter models: unknown fields are errors, values do not change, numbers fit a BIGINT.

    Expressions are converted to Spark SQL.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _is_spark_sql(cls, value: Any, field: ValidationInfo) -> Any:
        extra = cls.model_fields[field.field_name or ""].json_schema_extra
        if not (isinstance(value, str) and isinstance(extra, dict) and extra.get("expression")):
            return value
        from engine.expressions.spellings import as_spark

        return as_spark(value)

    @model_validator(mode="after")
    def _numbers_fit(self) -> Self:
        for name, value in self:
            # Far below 2^63: sums of a few such numbers have to fit as well.
            if isinstance(value, int) and abs(value) >= 1 << 60:
                message = f"{name} is too large; the largest number is {(1 << 60) - 1}"
                raise ValueError(message)
        return self
