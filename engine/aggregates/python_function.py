"""Aggregate functions in Python: an operator's code declares them, and its calls name them like Flink's own.

A function sees NULLs, and takes any number of arguments. It supports retraction if it has `retract`, and merging of
accumulators if it has `merge`.

Source: Flink PythonAggregateFunction, pyflink.fn_execution.table.aggregate_slow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import model_validator

from engine.aggregates.accumulator_parts import Acc, AccumulatorPart, Slots
from engine.aggregates.batch_sql import BatchCall, values_by_arrival
from engine.aggregates.function import AggregateFunction, Reader, Values
from engine.aggregates.registry import functions
from engine.aggregates.state import SlotWords
from engine.contract.operator import Operator
from engine.contract.parameters import parameter
from engine.errors import PipelineError
from engine.model.types import BIGINT, Type
from engine.python_functions.aggregates import PythonAggregate, taken_up
from engine.python_functions.declared import Declared, Rejected, functions_in

if TYPE_CHECKING:
    from engine.aggregates.parameters import Aggregate


@dataclass(frozen=True)
class PythonFunction(AggregateFunction):
    """One function of some code. declared: None if the code lacks it or cannot be read, as `problem` says."""

    name: str
    code: str
    declared: Declared | None = None
    problem: str = ""
    can_retract: bool = True
    can_merge: bool = True

    sees_nulls = True
    goes_by_arrival = True
    is_python = True

    def require(self, node: str, field: str, count: int) -> None:
        """Raise PipelineError for code that cannot be read, or a wrong number of arguments."""
        if self.declared is None or self.declared.type is None:
            why = self.problem or (
                f"the result type of {self.name} is not declared. Write udaf(..., result_type='BIGINT'), or "
                "get_result_type."
            )
            message = f"code: {why}"
            raise PipelineError(message, node, "code")
        if wanted := self.declared.taking(count):
            message = f"{field}: the function {self.name} takes {wanted} arguments, but {count} are given."
            raise PipelineError(message, node, f"{field}.argument")

    def result_type(self, type_: Type) -> Type:
        """The type that its code declares."""
        return (self.declared and self.declared.type) or BIGINT

    def kept_type(self, argument: Type | None, result: Type) -> Type | None:
        """The type of the argument."""
        return argument

    def keeps(self, values: Values) -> Slots:
        """The slot of its accumulator; None before the first value."""
        called = self.called(values.arguments)
        return Slots(
            f"python {self.name}",
            (None,),
            partial(_keeping, called=called),
            (SlotWords(f"accumulator of {self.name}", read=taken_up),),
        )

    def reader(self, values: Values, slot: int) -> Reader:
        """get_value."""
        called = self.called(values.arguments)
        return Reader(lambda acc: called.value(acc[slot]))

    def batch(self, call: BatchCall) -> str:
        """The values in order of arrival; the function computes the result from them."""
        return values_by_arrival(call, with_nulls=True)

    def called(self, arguments: Sequence[Type]) -> PythonAggregate:
        """The function ready to run. arguments: the types of its arguments."""
        return PythonAggregate(self.code, self.name, self.result_type(BIGINT), tuple(arguments))


def _keeping(slot: int, called: PythonAggregate) -> AccumulatorPart:
    def accumulate(acc: Acc, value: Any) -> None:
        acc[slot] = called.accumulate(acc[slot], value)

    def retract(acc: Acc, value: Any) -> None:
        acc[slot] = called.retract(acc[slot], value)

    def merge(acc: Acc, other: Acc) -> None:
        acc[slot] = called.merge(acc[slot], other[slot])

    return AccumulatorPart(accumulate, retract, merge)


def functions_of(code: str) -> Mapping[str, PythonFunction]:
    """The aggregate functions of some code by name. Raises Rejected."""
    declarations = functions_in(code, aggregate=True)
    if not declarations:
        message = "it defines no aggregate function. Write class F(AggregateFunction) with accumulate and get_value."
        raise Rejected(message)
    for name, declared in declarations.items():
        if name.upper() in functions():
            message = f"there is an aggregate function {name.upper()} already. Give yours another name."
            raise Rejected(message, declared.line)
    return {
        name: PythonFunction(name, code, declared, can_retract=declared.has("retract"), can_merge=declared.has("merge"))
        for name, declared in declarations.items()
    }


class WithFunctions(Operator):
    """An operator whose calls can name functions of its code."""

    code: str = parameter(
        "Code",
        "Python that defines aggregate functions of your own: classes with create_accumulator, accumulate, "
        "get_value, and retract and merge where they are needed, as in PyFlink. They run in Spark's workers.",
        default="",
        code=True,
        last=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _functions_of_its_code(cls, given: Any) -> Any:
        if not isinstance(given, Mapping):
            return given
        code, calls = given.get("code"), given.get("aggregates")
        if not isinstance(code, str) or not code.strip() or not isinstance(calls, list | tuple):
            return given
        try:
            own_functions, problem = functions_of(code), ""
        except Rejected as error:
            own_functions, problem = {}, str(error)

        def named(call: Any) -> Any:
            name = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(name, str) or name in functions():
                return call
            return {**call, "function": own_functions.get(name) or PythonFunction(name, code, problem=problem)}

        return {**given, "aggregates": [named(call) for call in calls]}

    @property
    def python_calls(self) -> Sequence[Aggregate]:
        """The calls of functions of its code."""
        calls: Sequence[Aggregate] = getattr(self, "aggregates", ())
        return [call for call in calls if call.function.is_python]

    @property
    def foreign_code(self) -> str:
        """Its code, if a call needs it: it runs only after it has been allowed."""
        return self.code if self.python_calls else ""

    def require_consent(self, node: str) -> None:
        """Raise CodeNotAllowed if its code must not run."""
        from engine.python_functions.consent import require_consent

        require_consent([(node, self)])
