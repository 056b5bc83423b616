"""Compute a column with a Python function.

Input: any changelog mode. Output: the same, record for record.
State: none. Time: event times are passed on.
Source: Flink StreamExecPythonCalc, and for table functions, with Unnest above, StreamExecPythonCorrelate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from engine.aggregates.parameters import Argument
from engine.contract.batch_input import BatchInput
from engine.contract.derived import Derived
from engine.contract.operator import Analyzer, InputPlan, Operator, StepContext, Strategy
from engine.contract.parameters import parameter
from engine.contract.requirements import Offer, forwarded
from engine.contract.step import Native, Projection, Step
from engine.errors import PipelineError, unknown_name
from engine.model.changelog import ChangelogMode, UpdateKind
from engine.model.schema import Column, Schema
from engine.model.type_texts import type_from
from engine.model.types import STRING, Type, quote
from engine.python_functions.declared import Declared, Kind, Rejected, functions_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from engine.python_functions.calls import PythonCall


class Python(Operator):
    """A user-defined function: f(a, b) AS name."""

    operator: ClassVar[str] = "python_function"
    title: ClassVar[str] = "Python function"
    summary: ClassVar[str] = "Computes a column with a function (UDF) that you write in Python."
    also_called: ClassVar[tuple[str, ...]] = ("udf", "map", "scalar function", "table function")
    group: ClassVar[str] = "records"

    code: str = parameter(
        "Code",
        "Python that defines the function. It runs in Spark's workers and must be deterministic. "
        "PyFlink's @udf and @udtf are read as well.",
        min_length=1,
        code=True,
        start="def f(value):\n    return value\n",
    )
    function: str = parameter("Function", "The function of the code that is called. Empty: the last one.", default="")
    arguments: tuple[Argument, ...] = parameter("Arguments", "The arguments, in order; NULL is passed as None.")
    name: str = parameter("Name", "What the column of the results is called.", default="result", min_length=1)
    type: str = parameter(
        "Type",
        "Of the results: BIGINT, STRING, ARRAY<INT>, ... Empty: as result_type in the code says. Unnest "
        "makes records of an array.",
        default="",
        start="STRING",
        is_type=True,
    )

    @property
    def foreign_code(self) -> str:
        """The code. It does not run until a user has allowed it."""
        return self.code

    def derive(self, node: str, inputs: Sequence[Derived], analyzer: Analyzer) -> Derived:
        """The input's columns and the result column. Raises PipelineError and ExpressionError."""
        (input_,) = inputs
        function = self.declared(node)
        type_ = self._type(node, function)
        for at, argument in enumerate(self.arguments):
            analyzer.type_of(argument.expression, input_.schema, node, f"arguments.{at}.expression")
        self._check_count(node, function)
        if self.name.lower() in {name.lower() for name in input_.schema.names}:
            message = f"name: the input has a column {self.name!r} already. Give the results another name."
            raise PipelineError(message, node, "name")
        schema = Schema((*input_.schema.columns, Column(self.name, type_)))
        return replace(input_, schema=schema, monotonic={**input_.moves_of(schema.names), **input_.monotonic})

    def offers(self, node: str, inputs: Sequence[Derived], wanted: UpdateKind) -> Sequence[Offer]:
        """The wanted kind is required from the input."""
        return forwarded(
            inputs, wanted, "it passes every record on, so its input must emit updates as its consumers need them"
        )

    def strategy(self, inputs: Sequence[InputPlan], output: ChangelogMode) -> Strategy:
        """There is only one strategy."""
        return Strategy("Python", "the function is called for each record, which keeps its kind")

    def step(self, context: StepContext) -> Step:
        """One projection with a call."""
        (input_,) = context.inputs
        values = tuple(map(quote, (*input_.schema.names, self.name)))
        return Native((Projection(values, call=self._call(context.node)),))

    def batch(self, context: StepContext, inputs: Sequence[BatchInput]) -> DataFrame:
        """The same function over the whole table."""
        from engine.python_functions.consent import require_consent
        from engine.python_functions.on_spark import with_call

        (input_,) = inputs
        require_consent([(context.node, self)])
        return with_call(input_.table, self._call(context.node))

    def late_rule(self) -> None:
        """No record is ever too late."""

    def flink_sql(self, inputs: Sequence[tuple[str, Schema]]) -> str:
        """SELECT ..., function(arguments) AS name."""
        ((table, schema),) = inputs
        columns = ", ".join(map(quote, schema.names))
        given = ", ".join(argument.expression for argument in self.arguments)
        called = f"{quote(self.declared('').name)}({given})"
        return f"SELECT {columns}, {called} AS {quote(self.name)} FROM {quote(table)}"

    def _call(self, node: str) -> PythonCall:
        from engine.python_functions.calls import PythonCall

        function = self.declared(node)
        arguments = tuple(argument.expression for argument in self.arguments)
        type_, is_table = self._type(node, function), function.kind is Kind.TABLE
        return PythonCall(self.code, function.name, type_, self.name, arguments, is_table)

    def declared(self, node: str) -> Declared:
        """The function that is called. Raises PipelineError."""
        try:
            functions = functions_in(self.code)
        except Rejected as error:
            message = f"code: {error}"
            raise PipelineError(message, node, "code") from error
        if not functions:
            message = "code: it defines no function. Write def f(a): return a."
            raise PipelineError(message, node, "code")
        if not self.function:
            return list(functions.values())[-1]
        if self.function not in functions:
            message = f"function: {unknown_name('function', self.function, functions)}."
            raise PipelineError(message, node, "function")
        return functions[self.function]

    def _type(self, node: str, function: Declared) -> Type:
        """The type of the results. Raises PipelineError."""
        if not self.type and function.type is None:
            message = f"type: the result type of {function.name} is not declared. Choose a type, such as STRING."
            raise PipelineError(message, node, "type")
        try:
            return type_from(self.type) if self.type else function.type or STRING
        except ValueError as error:
            message = f"type: {error}."
            raise PipelineError(message, node, "type") from error

    def _check_count(self, node: str, function: Declared) -> None:
        if wanted := function.taking(len(self.arguments)):
            message = f"arguments: the function {function.name} takes {wanted}, but {len(self.arguments)} are given."
            raise PipelineError(message, node, "arguments")


OPERATOR = Python
