"""Answers that took a while and do not change: the latest few, under everything that they depend on."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T")
_MOST: Final = 32


class Remembered(Generic[T]):
    """Safe to ask from several threads. A key names all that the answer is made of, the number of records too."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._answers: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, find: Callable[[], T]) -> T:
        """The answer with this key, found where it is not known yet."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
                return self._answers[key]
        answer = find()
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > self._most:
                self._answers.popitem(last=False)
        return answer

    def forget(self) -> None:
        """Find everything anew."""
        with self._lock:
            self._answers.clear()
