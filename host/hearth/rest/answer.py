"""Answers: JSON that is in time, and Kafka Connect's error body for whatever error, by one table."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import Future
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from hearth.herder.instance import TransitionFailed
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError

log = logging.getLogger(__name__)

T = TypeVar("T")

REQUEST_SECONDS = 90.0
"""How long a request may take, as in Kafka Connect."""

INTERNAL = 500
_DEFAULT_PORTS = (("http", 80), ("https", 443))


class NotReady(ConnectError):
    """This host has not read yet what it needs for an answer."""

    code = "host.not_ready"


class Forbidden(ConnectError):
    """The worker's configuration does not let users do this."""

    code = "rest.forbidden"


STATUSES: tuple[tuple[type[ConnectError], int], ...] = (
    (ConfigError, 400),
    (Forbidden, 403),
    (NotFoundError, 404),
    (ConflictError, 409),
    (NotReady, 503),
)
"""First match wins; every other error is the server's."""

_PHRASES = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    415: "Unsupported Media Type",
}


class JsonAnswer(JSONResponse):
    """Data as JSON in UTF-8.

    A text that UTF-8 cannot hold (half of a surrogate pair, in the trace of a plugin, say) is written as an escape, as
    Java does: one odd text is not to keep anybody from reading all the others.
    """

    def render(self, content: Any) -> bytes:
        """Return the body."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class TimedOut(ConnectError):
    """The herder did not answer in time."""

    code = "request.timeout"


class AnswerTimeout:
    """How long answers wait for what they ask of the herder."""

    def __init__(self, seconds: float = REQUEST_SECONDS) -> None:
        self._seconds = seconds

    async def wait(self, future: Future[T]) -> T:
        """Return the outcome; raises TimedOut when it takes too long, and what was asked for goes on."""
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self._seconds)
        except asyncio.TimeoutError as error:
            raise TimedOut("Request timed out") from error


class Unreadable(Exception):
    """A request whose body says something else than it should; Kafka Connect counts that as the server's error."""


class TooLong(Unreadable):
    """A request whose body is longer than what is read of it."""


def base_url(request: Request) -> str:
    """Return the address of this server as the client has it, without a slash at its end."""
    base = request.base_url
    if (base.scheme, base.port) in _DEFAULT_PORTS:
        base = base.replace(port=None)
    return str(base).rstrip("/")


def answer(status: int, message: str | None) -> JsonAnswer:
    """Return an error answer."""
    return JsonAnswer({"error_code": status, "message": message}, status)


def on_http_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer what the router refuses."""
    assert isinstance(error, HTTPException)
    phrase = _PHRASES.get(error.status_code, error.detail)
    response = answer(error.status_code, f"HTTP {error.status_code} {phrase}")
    response.headers.update(error.headers or {})
    return response


def on_connect_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer what the herder and plugins refuse."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), INTERNAL)
    if status == INTERNAL and not isinstance(error, TransitionFailed):  # which its instance has told
        log.error("%s %s: %s", request.method, request.url.path, error)
    return answer(status, str(error))


def on_unreadable(request: Request, error: Exception) -> JsonAnswer:
    """Answer a body that cannot be read."""
    response = answer(INTERNAL, str(error))
    if isinstance(error, TooLong):
        response.headers["connection"] = "close"  # the rest is not read
    return response


def on_other_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer what nobody expected; the server logs it with its traceback."""
    return answer(INTERNAL, str(error) or type(error).__name__)
