"""Middleware: request limits, normalized paths and configured headers."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from email.utils import formatdate
from urllib.parse import unquote, unquote_to_bytes

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.config import WorkerConfig
from hearth.config.rest_key import HeaderRule, parse_header_rules
from hearth.rest import named_path
from hearth.rest.answer import answer
from hearth.rest.same_origin import SameOrigin, own_names

HEADER_BYTES = 8 << 10
"""Maximum length of the request line and of a header."""
VERSIONS = ("1.0", "1.1")


class RequestTarget:
    """Accepts a request with a whole URI (RFC 9112, absolute form) like one with a path, as Java does.

    The authority must match the `Host` header, if there is one, because a proxy may have used either. A fragment,
    which no client should send, is ignored.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            target, host = scope["raw_path"].partition(b"#")[0], Headers(scope=scope).get("host")
            path, reason = _target(scope["method"], target, host)
            if reason is not None:
                await _refuse(scope, receive, send, 400, reason)
                return
            scope = {**scope, "raw_path": path}
        await self._app(scope, receive, send)


def _target(method: str, path: bytes, host: str | None) -> tuple[bytes, str | None]:
    """Return the path of a request target, and the reason if the target is rejected."""
    if host is not None and (reason := _wrong_host(host)):
        return path, reason
    if path.startswith(b"/") or (path == b"*" and method == "OPTIONS"):
        return path, None
    found = _ABSOLUTE.fullmatch(path)
    if found is None:
        return path, "Bad Request"
    authority = (found["authority"] or b"").decode("latin-1").lower()
    if "@" in authority:
        return path, "Deprecated User Info"
    if host is not None and authority != host.lower():
        return path, "Authority!=Host"
    return found["path"] or b"/", None


def _wrong_host(host: str) -> str | None:
    """Return the error in a `Host` header, None if it is a host with an optional port."""
    if not host:
        return "Blank Host"
    found = _HOST.fullmatch(host)
    return None if found and int(found["port"] or 0) < 1 << 16 else "Bad HostPort"


_HOST = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s/:\[\]]+)(:(?P<port>[0-9]{1,5}))?")
_ABSOLUTE = re.compile(rb"[a-z][a-z0-9+.-]*:(//(?P<authority>[^/]*))?(?P<path>.*)", re.IGNORECASE)


class RequestLimits:
    """Rejects oversized requests, and those that a proxy may have interpreted differently."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        refusal = refused(scope) if scope["type"] == "http" else None
        if refusal is None:
            await self._app(scope, receive, send)
            return
        await _refuse(scope, receive, send, *refusal)


async def _refuse(scope: Scope, receive: Receive, send: Send, status: int, reason: str) -> None:
    """Reject a request and close its connection, because the start of the next request is uncertain."""
    response = answer(status, reason)
    response.headers["connection"] = "close"
    await response(scope, receive, send)


def refused(scope: Scope) -> tuple[int, str] | None:
    """Return status and message of a rejection, None for a valid request."""
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
    return _refused_path(scope["raw_path"])


def _refused_path(path: bytes) -> tuple[int, str] | None:
    reason = _reason(path)
    if reason is None:
        return None
    found = named_path.split(path)
    is_name = found is not None and _reason(b"/" + found[0]) == reason != _NONSENSE
    return 400, f"{reason}; a connector of this name answers at {found[1]}" if found and is_name else reason


def _reason(path: bytes) -> str | None:
    """Return why a path is rejected, None if it is valid."""
    reason = next((reason for pattern, reason in _BAD_PATHS if pattern.search(path)), None)
    return _NONSENSE if reason is None and not _is_utf8(unquote_to_bytes(path)) else reason


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _pattern(text: bytes) -> re.Pattern[bytes]:
    return re.compile(text, re.IGNORECASE)


_NONSENSE = "Bad Request"
_BAD_PATHS = (
    (_pattern(rb"%2f"), "Ambiguous URI path separator"),
    (_pattern(rb"%25"), "Ambiguous URI path encoding"),
    (_pattern(rb"//"), "Ambiguous URI empty segment"),
    (_pattern(rb"/(%2e\.?|\.?%2e|%2e%2e)(;[^/]*)?(/|$)"), "Ambiguous URI path segment"),
    (_pattern(rb"%(?![0-9a-f]{2})|%00"), _NONSENSE),
    (_pattern(rb"%([01][0-9a-f]|5c|7f)|\\"), "Suspicious Path Character"),
    (_pattern(rb"[\"<>[\]^`{|}]"), "Illegal Path Character"),
)
"""Paths that a proxy may have read differently, with the messages of Java's server."""


class HeaderRules:
    """Adds headers to every response."""

    def __init__(self, app: ASGIApp, rules: list[HeaderRule]) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for rule in self._rules:
                    _apply(rule, headers)
            await send(message)

        await self._app(scope, receive, send_with_headers)


class PlainPath:
    """Ignores a trailing slash and path parameters, as Java does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http":
            path = unquote(_PARAMETERS.sub(b"", scope["raw_path"]))
            scope = {**scope, "path": path if len(path) == 1 else path.removesuffix("/")}
        await self._app(scope, receive, send)


_PARAMETERS = re.compile(rb";[^/]*")


class CrossOrigin:
    """Lets pages of other origins read responses, as Jetty's `CrossOriginHandler` in Kafka Connect's setup.

    Origins are patterns. A preflight request gets the allowed methods, and is passed on to the API.
    """

    def __init__(self, app: ASGIApp, origins: Sequence[re.Pattern[str]], methods: Sequence[str]) -> None:
        self._app = app
        self._origins = origins
        self._methods = ",".join(methods)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        added = self._headers(scope["method"], Headers(scope=scope)) if scope["type"] == "http" else {}

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.add_vary_header("Origin")
                headers.update(added)
            await send(message)

        await self._app(scope, receive, send_with_headers)

    def _headers(self, method: str, asked: Headers) -> dict[str, str]:
        origin = asked.get("origin", "")
        if not any(pattern.fullmatch(each) for pattern in self._origins for each in origin.split()):
            return {}
        allowed = {"Access-Control-Allow-Origin": origin}
        if method != "OPTIONS" or "access-control-request-method" not in asked:
            return allowed
        return allowed | {
            "Access-Control-Allow-Methods": self._methods,
            "Access-Control-Allow-Headers": "Content-Type",
            "Access-Control-Max-Age": "60",
        }


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = formatdate(time.time() + int(rule.value) / 1000, usegmt=True) if rule.is_date else rule.value
    if rule.action.startswith("set"):
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)


def same_origin(worker: WorkerConfig) -> Middleware:
    """Return the middleware that lets no page of another origin change anything, whatever the configuration."""
    return Middleware(SameOrigin, names=own_names(worker), origins=worker.allowed_origins)


def limits() -> list[Middleware]:
    """Return the middleware of every application."""
    return [Middleware(RequestTarget), Middleware(RequestLimits), Middleware(PlainPath)]


def middleware(worker: WorkerConfig) -> list[Middleware]:
    """Return the middleware that the worker's configuration requests."""
    found = limits()
    rules = parse_header_rules(worker.response_http_headers_config)
    if rules:
        found.append(Middleware(HeaderRules, rules=rules))
    if worker.allowed_origins:
        methods = worker.allowed_methods or ["GET", "POST", "HEAD"]
        found.append(Middleware(CrossOrigin, origins=worker.allowed_origins, methods=methods))
    return [*found, same_origin(worker)]
