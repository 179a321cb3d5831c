"""JSON responses with a time limit, and Kafka Connect's error body for every error."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import Future
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from hearth.herder.busy import BusyError
from hearth.herder.instance import TransitionFailed
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError

log = logging.getLogger(__name__)

T = TypeVar("T")

REQUEST_SECONDS = 90.0
"""Time limit of a request, as in Kafka Connect."""

INTERNAL = 500
_DEFAULT_PORTS = (("http", 80), ("https", 443))


class NotReady(ConnectError):
    """This host has not yet read what it needs for the response."""

    code = "host.not_ready"


class Forbidden(ConnectError):
    """The worker's configuration does not allow this request."""

    code = "rest.forbidden"


STATUSES: tuple[tuple[type[ConnectError], int], ...] = (
    (ConfigError, 400),
    (Forbidden, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (BusyError, 429),
    (NotReady, 503),
)
"""The first match applies; every other error is an internal server error."""

_PHRASES = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    415: "Unsupported Media Type",
}


class JsonAnswer(JSONResponse):
    """A JSON response in UTF-8.

    Text that UTF-8 cannot encode, such as a lone surrogate in a plugin's stack trace, is escaped, as in Java: one such
    text must not make the whole response unreadable.
    """

    def render(self, content: Any) -> bytes:
        """Return the encoded body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class TimedOut(ConnectError):
    """The herder did not answer in time."""

    code = "request.timeout"


class AnswerTimeout:
    """The time limit for the herder's results."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds

    async def wait(self, future: Future[T]) -> T:
        """Return the result; raise TimedOut after the time limit, while the operation continues."""
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self._seconds)
        except asyncio.TimeoutError as error:
            raise TimedOut("Request timed out") from error


class Unreadable(Exception):
    """A request whose body has the wrong content; Kafka Connect reports it as a server error."""


class TooLong(Unreadable):
    """A request whose body exceeds the limit."""


def base_url(request: Request) -> str:
    """Return the URL of this server as the client uses it, without a trailing slash."""
    base = request.base_url
    if (base.scheme, base.port) in _DEFAULT_PORTS:
        base = base.replace(port=None)
    return str(base).rstrip("/")


def answer(status: int, message: str | None) -> JsonAnswer:
    """Return an error response."""
    return JsonAnswer({"error_code": status, "message": message}, status)


def on_http_error(request: Request, error: Exception) -> JsonAnswer:
    """Handle an error of the router."""
    assert isinstance(error, HTTPException)
    phrase = _PHRASES.get(error.status_code, error.detail)
    response = answer(error.status_code, f"HTTP {error.status_code} {phrase}")
    response.headers.update(error.headers or {})
    return response


def on_connect_error(request: Request, error: Exception) -> JsonAnswer:
    """Handle an error of the herder or a plugin."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), INTERNAL)
    if status == INTERNAL and not isinstance(error, TransitionFailed):  # already logged by the instance
        log.error("%s %s: %s", request.method, request.url.path, error)
    return answer(status, str(error))


def on_unreadable(request: Request, error: Exception) -> JsonAnswer:
    """Handle an unreadable body."""
    response = answer(INTERNAL, str(error))
    if isinstance(error, TooLong):
        response.headers["connection"] = "close"  # the rest of the body is not read
    return response


def on_other_error(request: Request, error: Exception) -> JsonAnswer:
    """Handle an unexpected error; the server logs its traceback."""
    return answer(INTERNAL, str(error) or type(error).__name__)
