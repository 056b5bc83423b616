"""The endpoint that rows are posted to: `POST /rows/NAME`, for the source HTTP.

The answer is 200 with the number of rows once they are on the disk. Errors are 400, 413, 415 and 507 with a sentence;
then no row is kept. A page of another site cannot post: without a preflight request it cannot send JSON, and
`ui.access.front_door` refuses its origin.
"""

from __future__ import annotations

import asyncio
from typing import Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from engine.reading.files.received import NotReceived, is_address, receive, rows_in
from ui.shell import workspace

MOST_BYTES: Final = 64 << 20
_TYPES: Final = ("application/json", "application/x-ndjson", "application/jsonl")


async def _post(request: Request) -> Response:
    name = request.path_params["name"]
    if not is_address(name):
        return _refused(400, f"{name[:80]!r} is not an address; use letters, digits, _ and -.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() not in _TYPES:
        return _refused(415, f"Send it with the header Content-Type: {_TYPES[0]}.")
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return _refused(413, f"That is more than {MOST_BYTES >> 20} MB; post fewer rows at once.")
    except ClientDisconnect:
        return _refused(400, "The body is not complete.")
    try:
        rows = await asyncio.to_thread(rows_in, bytes(body))
        await asyncio.to_thread(receive, workspace.folder(), name, rows)
    except NotReceived as error:
        return _refused(400, str(error))
    except OSError as error:
        return _refused(507, f"The rows cannot be kept: {error.strerror or error}.")
    return JSONResponse({"rows": len(rows)})


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


ROUTE: Final = Route("/rows/{name}", _post, methods=["POST"])
