"""A network that can be cut: a port of this machine behind which a server is, or is not."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Final

_READ: Final = 1 << 16


class CutNetwork:
    """Passes on what comes to `port`, until it is cut; counts the bytes of answers."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listening.getsockname()[1])
        self.answered = 0
        self.was_cut = threading.Event()
        self._is_cut = False
        self._cut_at: int | None = None
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_after(self, answered: int) -> None:
        """Cut it once, after so many bytes of answers more."""
        self._cut_at = self.answered + answered

    def cut(self) -> None:
        """Break every connection, and let none in."""
        self._is_cut = True
        self.was_cut.set()
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def mend(self) -> None:
        """Let connections in again."""
        self._is_cut = False

    def close(self) -> None:
        """Be gone."""
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            if self._is_cut:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._server_port))
            self._open += [client, server]
            threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(server, client, True), daemon=True).start()

    def _pass_on(self, source: socket.socket, target: socket.socket, is_answer: bool) -> None:
        with contextlib.suppress(OSError):
            while read := source.recv(_READ):
                target.sendall(read)
                self.answered += len(read) * is_answer
                if self._cut_at is not None and self.answered >= self._cut_at:
                    self._cut_at = None
                    self.cut()
        for one in (source, target):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
