"""From errors to answers: one table, and Kafka Connect's error body."""

from __future__ import annotations

import logging

from starlette.exceptions import HTTPException
from starlette.requests import Request

from hearth.rest.json_answer import JsonAnswer
from hearth_api import ConfigError, ConflictError, ConnectError, NotFoundError

log = logging.getLogger(__name__)

INTERNAL = 500
STATUSES: tuple[tuple[type[ConnectError], int], ...] = (
    (ConfigError, 400),
    (NotFoundError, 404),
    (ConflictError, 409),
)
"""First match wins; every other error is the server's."""

_PHRASES = {400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 415: "Unsupported Media Type"}


class Unreadable(Exception):
    """A request whose body says something else than it should; Kafka Connect counts that as the server's error."""


class TooLong(Unreadable):
    """A request whose body is longer than what is read of it."""


def answer(status: int, message: str | None) -> JsonAnswer:
    """Return an error answer."""
    return JsonAnswer({"error_code": status, "message": message}, status)


def on_http_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer what the router refuses."""
    assert isinstance(error, HTTPException)
    phrase = _PHRASES.get(error.status_code, error.detail)
    return answer(error.status_code, f"HTTP {error.status_code} {phrase}")


def on_connect_error(request: Request, error: Exception) -> JsonAnswer:
    """Answer what the herder and plugins refuse."""
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), INTERNAL)
    if status == INTERNAL:
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
