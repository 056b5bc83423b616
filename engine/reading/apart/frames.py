"""Messages between a process and the ones that read for it: pickles with their length in front, over a socket.

    the request     (environment, scratch folder), then (ask, arguments)
    to the asker    ("answer", value) ("end",) ("studio", class, facts) ("system", text) ("memory",) ("other", text)
                    ("read", file, start, size), answered by bytes, or an error's text
    to an object    (method, arguments), answered by ("answer", value), or an error as above
    the starter's   ("ended", status), if a process ended by itself

Pickles, since this guards against crashes and greed, not against code: a reading process has all rights of the user.
"""

from __future__ import annotations

import pickle
import socket
import struct
from typing import Any, Final

_LENGTH: Final = struct.Struct("!Q")


def framed(message: bytes) -> bytes:
    """A message with its length."""
    return _LENGTH.pack(len(message)) + message


def send(to: socket.socket, message: Any) -> None:
    """Send a message. Raises OSError."""
    to.sendall(framed(pickle.dumps(message, pickle.HIGHEST_PROTOCOL)))


def receive_bytes(of: socket.socket) -> bytearray:
    """The next message, pickled. Raises EOFError, OSError; TimeoutError if the socket has a timeout."""
    (size,) = _LENGTH.unpack(_exactly(of, _LENGTH.size))
    return _exactly(of, size)


def receive(of: socket.socket) -> Any:
    """The next message. Raises EOFError, OSError."""
    return pickle.loads(receive_bytes(of))


def _exactly(of: socket.socket, size: int) -> bytearray:
    read = bytearray(size)
    left = memoryview(read)
    while left:
        count = of.recv_into(left)
        if not count:
            raise EOFError
        left = left[count:]
    return read
