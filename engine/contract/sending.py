"""How workers receive the studio's code, which need not be on their path: by value, pickled once for all tasks.

Each task is pickled with names in place of the studio's functions and classes, and the pickled definitions of these
names beside it. Pickling those again for each task took most of the CPU time of a small run's own process.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper as _Cached
from functools import cache
from operator import eq
from threading import Lock
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import pyarrow as pa

_KEPT: Final = 64
_GONE: Final = object()

Batches = Iterator["pa.RecordBatch"]


def sent(task: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """A function for `mapInArrow` that is cheap to pickle, however often Spark is asked about its frame."""
    code, made_of = packed(task)

    def call(batches: Batches) -> Batches:
        return _unpacked(code, made_of)(batches)  # type: ignore[no-any-return]

    return call


def packed(task: Callable[..., Any]) -> tuple[bytes, bytes]:
    """The code that a task uses, and the rest of it. Raises PicklingError, TypeError."""
    with _LOCK:
        return _CODE.packed(task)


def check_sendable(task: Callable[..., Any]) -> None:
    """Raise PicklingError or TypeError if a worker could not receive the task."""
    with _LOCK:
        _CODE.check(task)


def _unpacked(code: bytes, made_of: bytes) -> Any:
    """The task. Its code is made once in a worker: that takes as long as some thousand records."""
    import io
    import pickle
    import sys
    from types import ModuleType

    name = "changelog_studio_code"
    cache: dict[bytes, Any] = sys.modules.setdefault(name, ModuleType(name)).__dict__.setdefault("made", {})
    # The most recently used one is evicted last.
    loaded = cache.pop(code, None) or pickle.loads(code)
    cache[code] = loaded
    if len(cache) > 16:
        del cache[next(iter(cache))]

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: str) -> Any:
            return loaded[name]

    return Unpickler(io.BytesIO(made_of)).load()


@dataclass
class _Code:
    """The studio's code in pickled parts, by content.

    seen: the contents of the modules when the parts were made. If a name has been rebound, as by a test or at a prompt,
    all parts are made again.
    """

    modules: dict[str, ModuleType] = field(default_factory=dict)
    count: int = 0
    now: list[Any] = field(default_factory=list)
    seen: list[Any] = field(default_factory=list)
    names: dict[int, str] = field(default_factory=dict)
    parts: dict[tuple[str, ...], bytes] = field(default_factory=dict)
    sendable: set[str] = field(default_factory=set)

    def packed(self, task: Callable[..., Any]) -> tuple[bytes, bytes]:
        self._look()
        made_of, used = self._named(task)
        part = tuple(sorted(used))
        code = self.parts.pop(part, None)
        if code is None:
            with submodules_listed():
                code = _by_value({name: used[name] for name in part})
        # The most recently used one is evicted last.
        self.parts[part] = code
        if len(self.parts) > _KEPT:
            del self.parts[next(iter(self.parts))]
        return code, made_of

    def check(self, task: Callable[..., Any]) -> None:
        """Pickle the task, and of the studio's code only what no task has used before."""
        if len(sys.modules) != self.count:
            self._look()
        _, used = self._named(task)
        new = {name: value for name, value in used.items() if name not in self.sendable}
        if new:
            with submodules_listed():
                _by_value(new)
            self.sendable.update(new)

    def _named(self, task: Callable[..., Any]) -> tuple[bytes, dict[str, Any]]:
        """The task, pickled with names in place of the studio's code, and that code by name."""
        names = self.names
        used: dict[str, Any] = {}

        class Named(_pickler()):  # type: ignore[misc]
            def persistent_id(self, value: Any) -> str | None:
                name = names.get(id(value))
                if name is not None:
                    used[name] = value
                return name

        made_of = io.BytesIO()
        Named(made_of).dump(task)
        return made_of.getvalue(), used

    def _look(self) -> None:
        """Note the current contents. Additions do not change existing entries.

        This runs for every task; Python itself compares whether all entries are unchanged.
        """
        is_loaded = all(sys.modules.get(name) is module for name, module in self.modules.items())
        if is_loaded and len(sys.modules) == self.count and all(map(eq, self.now, self.seen)):
            return
        if not is_loaded or not all(map(_goes_on, self.now, self.seen)):
            self.parts.clear()
            self.sendable.clear()
        self.modules, self.count = _modules(), len(sys.modules)
        self.now = [namespace for module in self.modules.values() for namespace in _namespaces(module)]
        self.seen = [namespace.copy() for namespace in self.now]
        self.names = {id(value): name for module in self.modules.values() for name, value in _named(module)}


@cache
def _pickler() -> Any:
    """Cloudpickle's, which pickles functions with a cache by their names, for all that travels by value."""
    from pyspark.cloudpickle import Pickler
    from pyspark.cloudpickle.cloudpickle import list_registry_pickle_by_value

    class ByValue(Pickler):
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, _Cached):
                root = value.__module__.partition(".")[0]
                if root in list_registry_pickle_by_value():  # type: ignore[no-untyped-call]
                    return _with_cache, (value.__wrapped__, value.cache_parameters())
            return super().reducer_override(value)  # type: ignore[no-untyped-call]

    return ByValue


def _with_cache(function: Callable[..., Any], parameters: dict[str, Any]) -> Any:
    from functools import lru_cache

    return lru_cache(**parameters)(function)


def _by_value(value: Any) -> bytes:
    file = io.BytesIO()
    _pickler()(file).dump(value)
    return file.getvalue()


@contextmanager
def submodules_listed() -> Iterator[None]:
    """Inside this block, cloudpickle looks through the loaded modules once per package.

    By itself it does so for each package that a function mentions, for every function: half of the CPU time of pickling
    our code in a process with 2,000 modules. Pickles of other threads stay the same.
    """
    from pyspark.cloudpickle import cloudpickle

    loaded = sys.modules.copy()
    listed: dict[str, list[tuple[set[str], ModuleType]]] = {}

    def submodules(package: ModuleType) -> list[tuple[set[str], ModuleType]]:
        prefix = f"{package.__name__}."
        if prefix not in listed:
            below = [(name, module) for name, module in loaded.items() if name.startswith(prefix)]
            listed[prefix] = [(set(name[len(prefix) :].split(".")), module) for name, module in below]
        return listed[prefix]

    def find(code: CodeType, dependencies: Iterable[Any]) -> list[ModuleType]:
        packages = [package for package in dependencies if isinstance(package, ModuleType) and package.__package__]
        names = set(code.co_names)
        return [module for package in packages for parts, module in submodules(package) if parts <= names]

    original = cloudpickle._find_imported_submodules
    cloudpickle._find_imported_submodules = find
    try:
        yield
    finally:
        cloudpickle._find_imported_submodules = original


def _modules() -> dict[str, ModuleType]:
    """The modules that travel by value."""
    from pyspark.cloudpickle.cloudpickle import list_registry_pickle_by_value

    roots: set[str] = list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    # A copy: another thread may import while this one looks, and even `list(items())` can let it in.
    loaded = sys.modules.copy().items()
    return {name: module for name, module in loaded if module is not None and name.partition(".")[0] in roots}


def _namespaces(module: ModuleType) -> Iterator[Any]:
    """The contents of a module, and of its classes and containers."""
    yield vars(module)
    for name, value in vars(module).copy().items():
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                yield vars(value)
        elif type(value) in (dict, list, set) and name != "__builtins__":
            yield value


def _goes_on(now: Any, seen: Any) -> bool:
    """Whether all former entries still exist unchanged."""
    if not isinstance(seen, dict):
        return bool(now == seen)
    return all(now.get(name, _GONE) is value for name, value in seen.items())


def _named(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """A module's own functions and classes, and immutable objects."""
    for name, value in vars(module).copy().items():
        made_by = value if isinstance(value, type | FunctionType) else type(value)
        if made_by is object or made_by.__module__ == module.__name__:
            yield f"{module.__name__}:{name}", value


_LOCK: Final = Lock()
_CODE: Final = _Code()
