"""How workers get our code, which they need not find on their path: by value, pickled once for all that uses it.

What a task is made of is pickled with each task, with names in place of our functions and classes, and what these
names mean beside it. To pickle that anew as well took most of the CPU of a small run's own process.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from operator import eq
from threading import Lock
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_KEPT: Final = 64
_GONE: Final = object()

Batches = Iterator["pa.RecordBatch"]


def sent(task: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow`, ready to be pickled however often Spark is asked about its frame."""
    code, made_of = packed(task)

    def call(batches: Batches) -> Batches:
        return _unpacked(code, made_of)(batches)  # type: ignore[no-any-return]

    return call


def packed(task: Callable[..., Any]) -> tuple[bytes, bytes]:
    """The code that a task uses, and what else it is made of. Raises PicklingError, TypeError."""
    with _LOCK:
        return _CODE.packed(task)


def _unpacked(code: bytes, made_of: bytes) -> Any:
    import io
    import pickle

    known = pickle.loads(code)

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: str) -> Any:
            return known[name]

    return Unpickler(io.BytesIO(made_of)).load()


@dataclass
class _Code:
    """Our code in pickled parts, by what they have.

    seen: what our modules had when the parts were made. Where a name has come to mean something else, as a test or
    somebody at a prompt may set it, all parts are made anew.
    """

    modules: dict[str, ModuleType] = field(default_factory=dict)
    count: int = 0
    now: list[Any] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    parts: dict[tuple[str, ...], bytes] = field(default_factory=dict)

    def packed(self, task: Callable[..., Any]) -> tuple[bytes, bytes]:
        from pyspark.cloudpickle import Pickler, dumps

        self._look()
        names = self.names
        used: dict[str, Any] = {}

        class Named(Pickler):
            def persistent_id(self, value: Any) -> str | None:
                name = names.get(id(value))
                if name is not None:
                    used[name] = value
                return name

        made_of = io.BytesIO()
        Named(made_of).dump(task)  # type: ignore[no-untyped-call]
        part = tuple(sorted(used))
        code = self.parts.pop(part, None)
        if code is None:
            code = dumps({name: used[name] for name in part})  # type: ignore[no-untyped-call]
        # The last one that was used is the last one to go.
        self.parts[part] = code
        if len(self.parts) > _KEPT:
            del self.parts[next(iter(self.parts))]
        return code, made_of.getvalue()

    def _look(self) -> None:
        """Note what there is now. What is new changes nothing of what is there.

        This is asked for every task: whether all is as it was, Python compares by itself.
        """
        is_loaded = all(sys.modules.get(name) is module for name, module in self.modules.items())
        if is_loaded and len(sys.modules) == self.count and all(map(eq, self.now, self.seen)):
            return
        if not is_loaded or not all(map(_goes_on, self.now, self.seen)):
            self.parts.clear()
        self.modules, self.count = _modules(), len(sys.modules)
        self.now = [one for module in self.modules.values() for one in _namespaces(module)]
        self.seen = [one.copy() for one in self.now]
        self.names = {id(value): name for module in self.modules.values() for name, value in _named(module)}


def _modules() -> dict[str, ModuleType]:
    """Those that travel by value."""
    from pyspark.cloudpickle.cloudpickle import list_registry_pickle_by_value

    roots: set[str] = list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    loaded = list(sys.modules.items())
    return {name: module for name, module in loaded if module is not None and name.partition(".")[0] in roots}


def _namespaces(module: ModuleType) -> Iterator[Any]:
    """What a module has, and what its classes and containers have."""
    yield vars(module)
    for name, value in list(vars(module).items()):
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                yield vars(value)
        elif type(value) in (dict, list, set) and name != "__builtins__":
            yield value


def _goes_on(now: Any, seen: Any) -> bool:
    """Whether all that was there is there still."""
    if not isinstance(seen, dict):
        return bool(now == seen)
    return all(now.get(name, _GONE) is value for name, value in seen.items())


def _named(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """A module's own functions and classes, and objects that are what they are."""
    for name, value in list(vars(module).items()):
        made_by = value if isinstance(value, type | FunctionType) else type(value)
        if made_by is object or made_by.__module__ == module.__name__:
            yield f"{module.__name__}:{name}", value


_LOCK: Final = Lock()
_CODE: Final = _Code()
