"""An object in a process of its own, whose methods this process calls: a library's client that may end its process.

The process has the limits of those that read files (`engine.reading.apart`), and ends with the object or this process.
"""

from __future__ import annotations

import os
import pickle
import socket
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final

from engine.errors import SourceError
from engine.reading.apart import Foreign, process_for, told
from engine.reading.apart.frames import framed, receive, send
from engine.scratch import scratch

# Beyond the time that the object takes: a busy machine may not run its process for a while.
_ANSWER_S: Final = 30.0


class Talking:
    """The base of such an object. Arguments and answers of its methods are picklable; errors are StudioErrors."""


class Apart:
    """The object that `make` returns in the other process.

    Raises what it raises, and SourceError with `ended` as its sentence if its process ends, or if it gives no answer
    in time.
    """

    def __init__(self, about: Foreign, ended: str, make: Callable[..., Talking], *arguments: Any) -> None:
        self._about, self._ended = about, ended
        self._lock = threading.Lock()
        stack = ExitStack()
        self.close: Final = weakref.finalize(self, stack.close)
        temporary = stack.enter_context(scratch("reading"))
        self._process = stack.enter_context(process_for(about))
        head = pickle.dumps((dict(os.environ), str(temporary)), pickle.HIGHEST_PROTOCOL)
        request = pickle.dumps((make, arguments), pickle.HIGHEST_PROTOCOL)
        self._asked(lambda process: process.sendall(framed(head) + framed(request)), _ANSWER_S)

    def call(self, method: str, *arguments: Any, seconds: float) -> Any:
        """The answer of a method. seconds: what it takes at most."""
        return self._asked(lambda process: send(process, (method, arguments)), seconds + _ANSWER_S)

    def _asked(self, ask: Callable[[socket.socket], None], seconds: float) -> Any:
        try:
            with self._lock:
                self._process.settimeout(seconds)
                ask(self._process)
                match receive(self._process):
                    case ("answer", answer):
                        return answer
                    case ("studio", name, facts):
                        raise told(name, facts)
        except (EOFError, OSError, pickle.UnpicklingError) as error:
            self.close()
            raise SourceError(self._ended, self._about.node) from error
        self.close()
        raise SourceError(self._ended, self._about.node)
