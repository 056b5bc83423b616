"""An engine counts as lost for what its client reports, never for a word in the data or in another server's error."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import grpc
import pytest
from pyspark.errors import PySparkRuntimeError
from pyspark.errors.exceptions.connect import SparkConnectException, SparkConnectGrpcException

from engine.errors import EngineLost, EngineUnavailable, RunFailed, SourceError
from engine.reading.servers.database_server import Gone
from engine.spark import session
from engine.spark.engines import Engine
from engine.spark.failures import reason_of, unexpected_sentence
from engine.spark.session import loss_of
from tests.engine.planning import pipeline_of
from tests.golden.trace import run_pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The session on an engine of the user, which has no process here."""
    here: Any = object()
    monkeypatch.setitem(
        session._connections, "theirs", session._Connection(Engine("theirs", "sc://host:1"), here, None)
    )
    return here


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


def with_status(code: grpc.StatusCode) -> SparkConnectGrpcException:
    return SparkConnectGrpcException("failed to connect to all addresses", grpc_status_code=code)


def with_condition(condition: str, quoted: str = "") -> SparkConnectGrpcException:
    return SparkConnectGrpcException(f"[{condition}] {quoted}", errorClass=condition, messageParameters={})


LOST = {
    "no server at the address": with_status(grpc.StatusCode.UNAVAILABLE),
    "no answer by the deadline": with_status(grpc.StatusCode.DEADLINE_EXCEEDED),
    "the session is forgotten": with_condition("INVALID_HANDLE.SESSION_NOT_FOUND"),
    "the client knows that it is": SparkConnectException(errorClass="NO_ACTIVE_SESSION", messageParameters={}),
    "the operation is forgotten": PySparkRuntimeError(
        errorClass="RESPONSE_ALREADY_RECEIVED", messageParameters={"error_type": "INVALID_HANDLE.OPERATION_NOT_FOUND"}
    ),
    "the session was closed": ValueError("Cannot invoke RPC on closed channel!"),
    "the same, of a stream": ValueError("Cannot invoke RPC: Channel closed!"),
    "a source could not be read": caused(SourceError("it cannot be read"), with_status(grpc.StatusCode.UNAVAILABLE)),
    "nor a file of the engine": caused(
        SourceError("it cannot be read"), caused(OSError("no answer"), with_status(grpc.StatusCode.UNAVAILABLE))
    ),
}
WORKS = {
    "a value": with_condition("CAST_INVALID_INPUT", "The value 'UNAVAILABLE' cannot be cast to INT"),
    "an expression": with_condition(
        "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE", "(status = 'INVALID_HANDLE.') AND amount"
    ),
    "a text of another condition": with_status(grpc.StatusCode.INTERNAL),
    "another server": caused(
        SourceError("PostgreSQL does not answer", "orders"),
        Gone("Connection reset by peer, Socket closed, UNAVAILABLE"),
    ),
    "a file": OSError("RETRIES_EXCEEDED, NO_ACTIVE_SESSION, closed channel"),
}


@pytest.mark.parametrize("error", LOST.values(), ids=LOST)
def test_what_the_client_reports_is_a_loss(theirs: Any, error: Exception) -> None:
    told = loss_of(theirs, error)
    assert told is not None
    assert told.startswith("the connection to the engine theirs at sc://host:1 broke: ")


@pytest.mark.parametrize("error", WORKS.values(), ids=WORKS)
def test_a_word_in_another_error_is_none(theirs: Any, error: Exception) -> None:
    assert loss_of(theirs, error) is None


def test_a_server_of_our_own_that_is_alive_is_not_lost_at_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    ours: Any = object()
    alive: Any = SimpleNamespace(is_alive=lambda: True, ends_within=lambda _: False)
    connection = session._Connection(Engine("ours", "local[2]"), ours, alive)
    # The only one: what a connection of another test is told would count as well.
    monkeypatch.setattr(session, "_connections", {"ours": connection})
    assert loss_of(ours, with_status(grpc.StatusCode.DEADLINE_EXCEEDED)) is None
    said = "<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.DEADLINE_EXCEEDED\n\tdetails"
    late = SparkConnectGrpcException(said, grpc_status_code=grpc.StatusCode.DEADLINE_EXCEEDED)
    assert reason_of(late).startswith("the engine did not answer in time.")
    assert loss_of(ours, with_status(grpc.StatusCode.UNAVAILABLE)) is not None


class Dying:
    """A server of our own whose process goes on for a moment after its connections broke, or until it is killed."""

    def __init__(self, *, by_itself: bool) -> None:
        self.by_itself = by_itself
        self.is_killed = False

    def is_alive(self) -> bool:
        return not self.is_killed

    def ends_within(self, seconds: float) -> bool:
        return self.by_itself

    def kill(self) -> None:
        self.is_killed = True

    def last_words(self) -> str:
        return ""


STOPPED = "(java.lang.IllegalStateException) Cannot call methods on a stopped SparkContext.\nThis stopped SparkContext"


@pytest.mark.parametrize(
    ("error", "by_itself"),
    [
        (with_status(grpc.StatusCode.UNKNOWN), True),
        (with_status(grpc.StatusCode.INTERNAL), True),
        (with_status(grpc.StatusCode.CANCELLED), True),
        (with_status(grpc.StatusCode.UNAVAILABLE), True),
        (SparkConnectGrpcException(STOPPED), False),
        (SparkConnectGrpcException("Job 7 cancelled because SparkContext was shut down"), False),
        (caused(RunFailed("it failed"), SparkConnectGrpcException(STOPPED)), False),
    ],
)
def test_a_killed_engine_is_a_sentence_whatever_its_last_error_was(
    error: Exception, by_itself: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours: Any = object()
    dying: Any = Dying(by_itself=by_itself)
    monkeypatch.setattr(session, "_connections", {})
    monkeypatch.setitem(session._connections, "ours", session._Connection(Engine("ours", "local[2]"), ours, dying))
    told = "the engine ours ended during the run. Run again: another one is started."
    assert (loss_of(ours, error), reason_of(error), unexpected_sentence(error)) == (told, told, told)
    # The next caller gets another one: what only answers, but runs nothing, is gone.
    assert dying.is_killed is not by_itself


def test_an_engine_that_ended_earlier_is_not_blamed_for_an_error_beside_one_that_works(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone, works = Dying(by_itself=True), Dying(by_itself=False)
    gone.kill()
    servers: Any = {"gone": gone, "works": works}
    monkeypatch.setattr(
        session,
        "_connections",
        {name: session._Connection(Engine(name, "local[2]"), Any, server) for name, server in servers.items()},
    )
    error = SparkConnectGrpcException("<_InactiveRpcError of RPC that terminated with:\n\tstatus = StatusCode.UNKNOWN")
    assert "Spark could not plan it" in reason_of(error)
    assert "the engine gone ended" in reason_of(with_status(grpc.StatusCode.UNAVAILABLE))


def test_data_that_quotes_a_stopped_engine_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    ours: Any = object()
    dying: Any = Dying(by_itself=False)
    monkeypatch.setitem(session._connections, "ours", session._Connection(Engine("ours", "local[2]"), ours, dying))
    quoted = with_condition("CAST_INVALID_INPUT", "The value 'Cannot call methods on a stopped SparkContext' cannot be")
    assert loss_of(ours, quoted) is None
    assert not dying.is_killed


def test_a_session_that_was_given_up_is_not_taken_for_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    client = SimpleNamespace(_session_id="1", _channel=SimpleNamespace(close=lambda: None))
    given: Any = Mock(client=client)
    connection = session._Connection(Engine("theirs", "sc://host:1"), given, None)
    monkeypatch.setitem(session._connections, "theirs", connection)
    monkeypatch.setitem(session._left, "sc://host:1", [])
    asked: list[Engine] = []

    def gone(engine: Engine) -> None:
        asked.append(engine)
        message = "nobody is there"
        raise EngineUnavailable(message)

    monkeypatch.setattr(session, "_knock", gone)
    assert connection.is_alive(), "it has just answered"
    session.give_up(given)
    assert not connection.is_alive()
    assert asked == [connection.engine]


def test_a_session_that_another_run_gave_up_is_lost_for_all_that_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, server = Mock(), Mock(last_words=lambda: "", **{"is_alive.return_value": False})
    monkeypatch.setitem(session._connections, "ours", session._Connection(Engine("ours", "local[2]"), ours, server))
    session.give_up(ours)
    server.give_up.assert_called_once_with()
    del session._connections["ours"]
    told = loss_of(ours, LOST["the client knows that it is"])
    assert told == "the engine ours ended during the run. Run again: another one is started."


def test_a_value_that_is_no_number_fails_its_node_and_not_the_engine(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = pipeline_of(
        "orders -> numbers",
        orders=("rows", {"columns": [{"name": "status", "type": "string"}], "rows": [["UNAVAILABLE"]]}),
        numbers=("project", {"columns": [{"name": "n", "expression": "CAST(status AS INT)"}]}),
    )
    with pytest.raises(RunFailed, match="UNAVAILABLE") as caught:
        run_pipeline(pipeline, spark, tmp_path, tmp_path)
    assert not isinstance(caught.value, EngineLost)
    assert caught.value.node == "numbers"
