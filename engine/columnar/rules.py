"""Rules that are loops, told once: interpreted for few records, compiled by Numba for many.

    @rule
    def sessions(groups: Longs, times: Longs, gap: int) -> tuple[Longs, ...]: ...

A rule takes arrays of 64-bit integers and integers, and returns arrays that it makes from lists; it knows nothing else
but `np`, numbers, and its parts: plain functions of its module, and named tuples of lists. The same text is interpreted
over lists, which Python reads faster than arrays. Without Numba, or where compilation fails, every call is interpreted,
with the same result. So is a call with functions as its last argument, which is None otherwise.

A list that becomes an array begins as `list(...)`, not as a comprehension: of `np.array` of a comprehension Numba 0.68
makes an array without what was appended later.

Compiled code is kept outside of the checkout, by the text of the rule. Numba writes its files under another name and
renames them, so several processes may share them. A process that finds none goes on interpreting while a thread
compiles: no record waits for the compiler.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, TypeVar, cast

import numpy as np

from engine.caches import cache_folders
from engine.contract.columnar_kernel import Longs

F = TypeVar("F", bound=Callable[..., Any])

MANY: Final = 50_000
"""Loading compiled code costs as much as interpreting about this many records."""


class Rule:
    """A function that may be compiled, and is called like the function."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        self._stamp = ""

    @property
    def stamp(self) -> str:
        """Names the text of the rule and its parts, which stand behind it."""
        self._stamp = self._stamp or hashlib.sha256(b"".join(_texts(self.function))).hexdigest()
        return self._stamp

    def __call__(self, *arguments: Any) -> Any:
        """The rule's result, from compiled code if this process has it or it pays to load it."""
        if not isinstance(arguments[-1], np.ndarray | int | None):
            return self.interpreted(*arguments)
        size = max((len(value) for value in arguments if isinstance(value, np.ndarray)), default=0)
        compiled = self.compiled(is_wanted=size >= MANY)
        return self.interpreted(*arguments) if compiled is None else compiled(*map(_writable, arguments))

    def interpreted(self, *arguments: Any) -> Any:
        """The result without the compiler."""
        return self.function(*(value.tolist() if isinstance(value, np.ndarray) else value for value in arguments))

    def compiled(self, *, is_wanted: bool = True, waits: bool = False) -> Callable[..., Any] | None:
        """The compiled function, if this process has it by now. is_wanted: load it, or begin to compile it."""
        compilations: dict[str, _Compilation] = _of_process().__dict__.setdefault("rules", {})
        if is_wanted and self.stamp not in compilations:
            compilations[self.stamp] = _Compilation()
            compilations[self.stamp].begin(self)
        compilation = compilations.get(self.stamp)
        if compilation is None:
            return None
        if waits:
            compilation.done.wait()
        return compilation.function if compilation.done.is_set() else None


def rule(function: F) -> F:
    """Makes a function a rule."""
    return cast(F, Rule(cast(FunctionType, function)))


def rule_of(function: Callable[..., Any]) -> Rule:
    """The rule that a function was made."""
    assert isinstance(function, Rule)
    return function


def compiler() -> str | None:
    """The compiler of this process by name and version, if it can compile a rule; else None."""
    try:
        from numba import __version__
    except (ImportError, OSError):
        return None
    return f"Numba {__version__}" if rule_of(_largest).compiled(waits=True) else None


@rule
def _largest(values: Longs) -> int:
    most = values[0]
    for value in values:
        most = max(most, value)
    return int(most)


class _Compilation:
    """The compilation of a rule in this process. function: None if it failed."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None
        self.done = threading.Event()

    def begin(self, of: Rule) -> None:
        """Load the code if it was compiled before, else compile it in a thread."""
        folder = _cache_folder()
        if folder is not None and any(folder.glob(f"*{_name(of.stamp)}*.nbi")):
            self._run(of, folder)
        else:
            threading.Thread(target=self._run_alone, args=(of, folder), name="compiler", daemon=True).start()

    def _run_alone(self, of: Rule, folder: Path | None) -> None:
        with _alone(folder):
            self._run(of, folder)

    def _run(self, of: Rule, folder: Path | None) -> None:
        try:
            self.function = _compiled(of, folder)
        finally:
            self.done.set()


@contextmanager
def _alone(folder: Path | None) -> Iterator[None]:
    """Of several processes one compiles, and the others wait for its code. The lock ends with its process."""
    if folder is None:
        yield
        return
    with folder.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _compiled(of: Rule, folder: Path | None) -> Callable[..., Any] | None:
    """The rule compiled for arrays and integers; None if that fails."""
    try:
        import numba
        from numba.core.errors import NumbaError
    except (ImportError, OSError):
        return None
    code = of.function.__code__
    parameters = (of.function.__annotations__[name] for name in code.co_varnames[: code.co_argcount])
    numba_types = {"Longs": numba.int64[::1], "int": numba.int64}
    # What else a rule may be given are functions, and it is not compiled with these.
    types = tuple(numba_types.get(annotation, numba.none) for annotation in parameters)
    try:
        # Only the rule itself is called from Python.
        part_of_it: Any = numba.njit
        function = _with_parts(of.function, part_of_it(no_cpython_wrapper=True, no_cfunc_wrapper=True))
        dispatcher: Any = numba.njit(function)
        if folder is not None:
            function.__dict__["kept_in"] = folder, of.stamp
            _keep_by_text()
            dispatcher.enable_caching()
        dispatcher.compile(types)
    except (NumbaError, ImportError, OSError, RuntimeError) as error:
        sys.stderr.write(f"{code.co_name} is interpreted: {error}\n")
        return None
    return cast(Callable[..., Any], dispatcher)


def _with_parts(function: FunctionType, compiled: Callable[[FunctionType], Any]) -> FunctionType:
    """The function with its parts compiled. Compiled code names a module, and workers cannot import that of a rule."""
    namespace: dict[str, Any] = {"np": np, "__name__": _of_process().__name__}
    for name, part in _parts(function):
        namespace[name] = compiled(_with_parts(part, compiled)) if isinstance(part, FunctionType) else part
    return FunctionType(function.__code__, namespace, function.__name__)


def _parts(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The functions, named tuples and numbers of its module that a function uses, by name."""
    for name in function.__code__.co_names:
        part = function.__globals__.get(name)
        is_tuple = isinstance(part, type) and issubclass(part, tuple)
        if isinstance(part, FunctionType | int) or is_tuple:
            yield name, part


def _texts(function: FunctionType) -> Iterator[bytes]:
    """The code of a function and its parts."""
    yield repr(_told(function.__code__)).encode()
    for name, part in _parts(function):
        if isinstance(part, FunctionType):
            yield from _texts(part)
        else:
            yield f"{name} {getattr(part, '_fields', part)}".encode()


def _told(code: CodeType) -> tuple[Any, ...]:
    """What a function does, the same in every process.

    The bytes of `marshal` are not: they tell which constants something else holds, too, so that each way to a worker
    would have its own code in the cache.
    """
    constants = [_told(constant) if isinstance(constant, CodeType) else constant for constant in code.co_consts]
    return code.co_argcount, code.co_varnames, code.co_names, constants, code.co_code, code.co_exceptiontable


def _keep_by_text() -> None:
    """Have Numba keep the code of rules by their text and in our folder: in workers they have no file.

    Numba asks a list of locators in turn.
    """
    from numba.core import caching

    if _of_process().__dict__.setdefault("locator", None) is not None:
        return

    class ByText(caching._CacheLocator):
        def __init__(self, folder: Path, stamp: str) -> None:
            self._folder, self._stamp = folder, stamp

        def get_cache_path(self) -> str:
            return str(self._folder)

        def get_source_stamp(self) -> str:
            return self._stamp

        def get_disambiguator(self) -> str:
            return _name(self._stamp)

        @classmethod
        def from_function(cls, function: Callable[..., Any], file: str) -> ByText | None:
            kept_in = function.__dict__.get("kept_in")
            return None if kept_in is None else cls(*kept_in)

    _of_process().__dict__["locator"] = ByText
    caching.CacheImpl._locator_classes.insert(0, ByText)


def _name(stamp: str) -> str:
    return stamp[:16]


def _cache_folder() -> Path | None:
    """The first cache folder that can be written; None if there is none."""
    for cache in cache_folders(os.environ):
        folder = cache / "changelog-studio" / "compiled"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None


def _of_process() -> ModuleType:
    """What this process knows: workers get the classes and functions of `engine` anew with each task, by value."""
    name = "changelog_studio_compiled"
    return sys.modules.setdefault(name, ModuleType(name))


def _writable(argument: Any) -> Any:
    """Arrays of one type, for which there is one compiled function: Arrow's are read-only."""
    return np.require(argument, np.int64, ["C", "W"]) if isinstance(argument, np.ndarray) else argument
