"""What no request may be, whatever it asks for: the limits and refusals of Kafka Connect's web server."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.rest.error import answer

HEADER_BYTES = 8 << 10
"""Longest request line and header."""
VERSIONS = ("1.0", "1.1")

Headers = Iterable["tuple[bytes, bytes]"]


class RequestLimits:
    """Refuses requests that a server in front of this one may have understood otherwise, and oversized ones.

    The connection is closed with the answer: where the next request would begin is not known for certain.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        refusal = refused(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        response = answer(*refusal)
        response.headers["connection"] = "close"
        await response(scope, receive, send)


def refused(scope: Scope) -> tuple[int, str] | None:
    """Return status and message of a refusal, None for a request that may be served."""
    headers = list(scope["headers"])
    names = [name for name, _ in headers]
    if scope["http_version"] not in VERSIONS:
        return 505, "Unknown Version"
    if b"content-length" in names and b"transfer-encoding" in names:
        return 400, "Transfer-Encoding and Content-Length"
    if len(scope["raw_path"]) + len(scope["query_string"]) > HEADER_BYTES:
        return 414, "URI Too Long"
    if sum(len(name) + len(value) + 4 for name, value in headers) > HEADER_BYTES:
        return 431, "Request Header Fields Too Large"
    if b"%2f" in scope["raw_path"].lower():
        return 400, "Ambiguous URI path separator"
    return None
