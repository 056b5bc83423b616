"""Sessions, one for each engine, with any number of engines at once. All use Spark Connect.

local[2], local[*], spark://host:port      a server of our own              (engine.spark.servers)
sc://host:port/;token=...;use_ssl=true     the user's; no Java needed here
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import engine
from engine.errors import EngineUnavailable
from engine.spark.broken_calls import broke_off, found_nobody, lost_connection, says_stopped
from engine.spark.engines import Engine, engine_called
from engine.spark.server_command import SETTINGS
from engine.spark.servers import Server, server_for

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_MASTER: Final = "local[*]"
# A server that answered this recently is assumed to be alive.
_TRUSTED_S: Final = 5.0
_KNOCK_S: Final = 5.0
# A killed process may still be there for a moment after its connections broke.
_ENDING_S: Final = 3.0


@dataclass
class _Connection:
    """A session, and its server if it is one of the studio's own."""

    engine: Engine
    session: SparkSession
    server: Server | None
    answered: float = field(default_factory=time.monotonic)
    # Tags of failed jobs that may still run there: after a network failure the server knows nothing of it.
    left: list[str] = field(default_factory=list)

    def is_alive(self) -> bool:
        """Whether it still answers."""
        if self.server is not None and not self.server.is_alive():
            return False
        if time.monotonic() - self.answered < _TRUSTED_S:
            return True
        from pyspark.errors import PySparkException

        try:
            if self.server is None:
                _knock(self.engine)
            self.session.conf.get("spark.sql.session.timeZone")
        except (EngineUnavailable, PySparkException):
            # For example, the server has forgotten this session: a new one is needed.
            return False
        self.answered = time.monotonic()
        return True

    def interrupt_left(self) -> None:
        """End what the server still does for failed jobs: new jobs would wait for minutes behind them."""
        while self.left:
            # A job that ended by itself needs nothing.
            with contextlib.suppress(Exception):
                self.session.interruptTag(self.left.pop())

    def drop(self) -> None:
        """End the session, so that pending calls get an error."""
        if self.server is None:
            client: Any = self.session.client
            _left[self.engine.address].append(client._session_id)
        _dropped[self.session] = self.engine, self.server
        close(self.session)


_locks: Final[dict[str, threading.Lock]] = defaultdict(threading.Lock)
_connections: Final[dict[str, _Connection]] = {}
# What sessions were on that a run may still have, which learns of it with its next call.
_dropped: Final[WeakKeyDictionary[SparkSession, tuple[Engine, Server | None]]] = WeakKeyDictionary()
# By address, abandoned sessions on the users' servers, which may still work for them.
_left: Final[dict[str, list[str]]] = defaultdict(list)


def get_spark(engine: str = DEFAULT_MASTER) -> SparkSession:
    """The session on an engine, by name or address; opened on the first call, and then shared.

    If its server has died, or was given up, a new session is opened.
    Raises EngineUnavailable with a sentence: no Java, nothing at that address, a wrong token.
    """
    wanted = engine_called(engine)
    with _locks[wanted.name]:
        connection = _connections.get(wanted.name)
        if connection is not None and (connection.engine != wanted or not connection.is_alive()):
            del _connections[wanted.name]
            connection.drop()
            connection = None
        if connection is None:
            _silence()
            connection = _connections[wanted.name] = _open(wanted)
        connection.interrupt_left()
        if connection.server is not None:
            connection.server.use()
        return connection.session


def disconnect(engine: str) -> None:
    """End the session on an engine, if there is one. One of the studio's own servers stays for others."""
    with _locks[engine]:
        connection = _connections.pop(engine, None)
    if connection is not None:
        connection.drop()


def give_up(spark: SparkSession) -> None:
    """End a session that no longer answers: pending calls get an error, the next caller a new session.

    This is the only way to end Spark's planning, which cannot be cancelled. The JVM of the studio's own server is
    killed; a server of the user continues, but nobody waits for its result.
    """
    connection = _connection_of(spark)
    if connection is not None:
        # A recent answer no longer counts.
        connection.answered = float("-inf")
        if connection.server is not None:
            connection.server.give_up()
        connection.drop()


def leave(spark: SparkSession, tag: str) -> None:
    """Note that jobs with this tag failed, and that the user's server may not know it."""
    connection = _connection_of(spark)
    if connection is not None and connection.server is None:
        connection.left.append(tag)


def keep_alive(spark: SparkSession) -> None:
    """Note that the session's server is in use."""
    connection = _connection_of(spark)
    if connection is not None and connection.server is not None:
        connection.server.use()


def server_of(spark: SparkSession) -> Server | None:
    """The server of a session, if it is one of the studio's own."""
    connection = _connection_of(spark)
    return connection.server if connection is not None else None


def engine_of(spark: SparkSession) -> Engine:
    """The engine of a session. Raises LookupError for a session that was not opened here."""
    connection = _connection_of(spark)
    if connection is None:
        message = "this session was not opened here"
        raise LookupError(message)
    return connection.engine


def connect(to: Engine, server: Server | None = None) -> SparkSession:
    """A new session on an engine. server: the studio's own one, if any. Raises EngineUnavailable."""
    from pyspark.cloudpickle import register_pickle_by_value
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    from engine.spark.retrying import patient

    # Workers need not have the studio's code on their path: it is sent with the functions.
    register_pickle_by_value(engine)  # type: ignore[no-untyped-call]

    if server is None:
        _knock(to)
    session: SparkSession | None = None
    try:
        session = SparkSession.builder.remote(server.url if server is not None else to.url).create()
        client: Any = session.client
        client.set_retry_policies([patient(server)])
        if server is None:
            _release_left(to, client)
            for name, value in SETTINGS.items():
                session.conf.set(name, value)
        if not to.address.startswith("local"):
            # One task for each core, as far as the number is known. Spark's own default is 200.
            cores = session.range(0, 1 << 20).selectExpr("spark_partition_id() AS p").distinct().count()
            session.conf.set("spark.sql.shuffle.partitions", str(cores))
    except (PySparkException, OSError, RuntimeError) as error:
        if session is not None:
            close(session)
        raise EngineUnavailable(sentence_of_engine(to, error)) from error
    return session


def loss_of(spark: SparkSession, error: Exception) -> str | None:
    """The state of the engine, if it caused a job's failure; None if the engine still works.

    The next caller gets a new session.
    """
    connection = _connection_of(spark)
    if connection is None and spark in _dropped:
        connection = _Connection(_dropped[spark][0], spark, _dropped[spark][1])
    return None if connection is None else _loss(connection, error)


def loss_of_any(error: Exception) -> str | None:
    """The same for an error of which the session is not known."""
    if not broke_off(error) and lost_connection(error, is_ours=False) is None:
        return None
    links = list(_connections.values())
    # One that ended earlier has nothing to do with an error beside which others work.
    able = [link for link in links if link.server is None or link.server.is_alive()] if not found_nobody(error) else []
    return next(filter(None, (_loss(connection, error) for connection in able or links)), None)


def _loss(connection: _Connection, error: Exception) -> str | None:
    engine, server = connection.engine, connection.server
    if server is not None:
        if says_stopped(error):
            # What is left of it answers, but runs nothing, and would never end.
            server.kill()
        if not server.is_alive() or (broke_off(error) and server.ends_within(_ENDING_S)):
            said = server.last_words()
            return f"the engine {engine.name} ended during the run{said}. Run again: another one is started."
    lost = lost_connection(error, is_ours=server is not None)
    if lost is None:
        return None
    connection.answered = float("-inf")
    return (
        f"the connection to the engine {engine.name} at {engine.address} broke: {' '.join(str(lost).split())[:200]}. "
        "Check the server and the network, then run again."
    )


def older_than_ours(spark: SparkSession) -> str | None:
    """Advice about a server that is older than the client; None for other servers."""
    from pyspark import __version__

    theirs = str(spark.version)
    if release(theirs) >= release(__version__):
        return None
    return (
        f"its server runs Spark {theirs}, older than our {__version__}. "
        f"Update Spark on the server to {__version__}, or newer."
    )


def release(version: str) -> tuple[int, ...]:
    """Major and minor version."""
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:2])


def sentence_of_engine(engine: Engine, error: Exception) -> str:
    """The problem with an engine, and what to do."""
    text = str(error)
    if "UNAUTHENTICATED" in text or "PERMISSION_DENIED" in text:
        return f"the Spark Connect server at {engine.address} refuses the token. Check the token of this engine."
    if "SSL" in text or "CERTIFICATE" in text:
        return f"the connection to {engine.address} cannot be encrypted as asked: check use_ssl of this engine."
    first = " ".join(text.split())[:300]
    return f"there is no Spark Connect server at {engine.address}: {first}. Start one, or choose another engine."


def _open(engine: Engine) -> _Connection:
    server = server_for(engine.address) if engine.is_ours else None
    session = connect(engine, server)
    if server is None and (older := older_than_ours(session)):
        close(session)
        message = f"the engine {engine.name} cannot be used: {older}"
        raise EngineUnavailable(message)
    return _Connection(engine, session, server)


def close(session: SparkSession) -> None:
    """Abandon a session: pending calls get an error."""
    client: Any = session.client
    # Not `client.close`, which waits; marked, so that PySpark does not use it as the active session.
    client._closed = True
    with contextlib.suppress(Exception):
        client._channel.close()


def _release_left(to: Engine, client: Any) -> None:
    """Tell a server to end the abandoned sessions, with the work that it still does for them."""
    from pyspark.sql.connect.proto import ReleaseSessionRequest, UserContext

    while sessions := _left[to.address]:
        left = sessions.pop()
        request = ReleaseSessionRequest(
            session_id=left, user_context=UserContext(user_id=client._user_id), client_type=client._builder.userAgent
        )
        # Sessions that the server has forgotten count as released.
        with contextlib.suppress(Exception):
            client._stub.ReleaseSession(request, metadata=client._builder.metadata(), timeout=_KNOCK_S)


def _connection_of(spark: SparkSession) -> _Connection | None:
    return next((connection for connection in list(_connections.values()) if connection.session is spark), None)


def _silence() -> None:
    """PySpark logs analyzer errors and retries to stderr; the studio reports them to the caller as sentences."""
    import warnings

    from pyspark.logger import PySparkLogger

    for message in (".*RETRIES_EXCEEDED", "WARN WindowExpression"):
        warnings.filterwarnings("ignore", message=message)

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
    logging.getLogger("pyspark.sql.connect").setLevel(logging.CRITICAL + 1)


def _knock(engine: Engine) -> None:
    """Raise EngineUnavailable if nothing listens at the address: the client itself would keep retrying."""
    url = urlsplit(engine.address)
    try:
        socket.create_connection((url.hostname or "", url.port or 15002), timeout=_KNOCK_S).close()
    except (OSError, ValueError) as error:
        message = f"there is no Spark Connect server at {engine.address}: {error}. Start one, or use local[*]."
        raise EngineUnavailable(message) from error
