"""What an error of PySpark's client, or of gRPC below it, says of the engine that was called.

Told by class, gRPC status and error condition: messages may quote data, or come from a source's own server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# Error conditions for a server that has forgotten the session or the operation. The last two are the client's own:
# for a session that it knows to be forgotten, and for an operation that was forgotten before all results arrived.
_FORGOTTEN: Final = "INVALID_HANDLE."
_CLIENT_LOST: Final = ("NO_ACTIVE_SESSION", "RESPONSE_ALREADY_RECEIVED")
# The start of Spark's message if its context has been stopped, or is stopped meanwhile.
_STOPPED: Final = re.compile(
    r"\s*(?:\[\w+\] )?(?:\([\w.]+\) )?(?:Cannot call methods on a stopped SparkContext|"
    r"Job \d+ cancelled because SparkContext was shut down)"
)
# The start of gRPC's ValueError for a session that was closed here.
_CLOSED: Final = "Cannot invoke RPC"


def lost_connection(error: BaseException, *, is_ours: bool) -> BaseException | None:
    """The error of PySpark's client that reports a lost server or session, among an error and its causes.

    On a dead connection through a network, a call can wait until its deadline; a server of our own that lives is busy.
    """
    import grpc
    from pyspark.errors import PySparkException
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    codes = {grpc.StatusCode.UNAVAILABLE} | (set() if is_ours else {grpc.StatusCode.DEADLINE_EXCEEDED})

    def is_lost(link: BaseException) -> bool:
        match link:
            case SparkConnectGrpcException() if link.getGrpcStatusCode() in codes:
                return True
            case PySparkException():
                condition = link.getCondition() or ""
                return condition.startswith(_FORGOTTEN) or condition in _CLIENT_LOST
            case grpc.RpcError():
                # Raw where the client sends files.
                return isinstance(link, grpc.Call) and link.code() in codes
            case ValueError():
                return str(link).startswith(_CLOSED)
        return False

    return next(filter(is_lost, _with_causes(error)), None)


def broke_off(error: BaseException) -> bool:
    """Whether gRPC itself reports a call that broke off, in an error or its causes; not an answer of Spark."""
    import grpc
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    codes = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL, grpc.StatusCode.CANCELLED}
    for link in _with_causes(error):
        # Spark's answers have a class of their own, or a condition.
        if type(link) is SparkConnectGrpcException and not link.getCondition():
            return True
        if isinstance(link, grpc.RpcError) and isinstance(link, grpc.Call) and link.code() in codes:
            return True
    return says_stopped(error)


def found_nobody(error: BaseException) -> bool:
    """Whether nothing listened any more, in an error or its causes: no engine that lives has answered so."""
    import grpc
    from pyspark.errors.exceptions.connect import SparkConnectGrpcException

    nobody = grpc.StatusCode.UNAVAILABLE
    return any(
        (isinstance(link, SparkConnectGrpcException) and link.getGrpcStatusCode() == nobody)
        or (isinstance(link, grpc.RpcError) and isinstance(link, grpc.Call) and link.code() == nobody)
        for link in _with_causes(error)
    )


def says_stopped(error: BaseException) -> bool:
    """Whether Spark says that it has been stopped: at the start of its message, as data may be quoted further on."""
    from pyspark.errors import PySparkException

    return any(isinstance(link, PySparkException) and _STOPPED.match(str(link)) for link in _with_causes(error))


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__
