"""What goes around every answer: limits of what is asked, one spelling of every path, headers the worker wants."""

from __future__ import annotations

from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.config import WorkerConfig
from hearth.config.rest_key import HeaderRule, parse_header_rules
from hearth.rest.answer import answer

HEADER_BYTES = 8 << 10
"""Longest request line and header."""
VERSIONS = ("1.0", "1.1")


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
    if b"//" in scope["raw_path"]:
        return 400, "Ambiguous URI empty segment"
    return None


class HeaderRules:
    """Puts headers into every answer."""

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


class NoTrailingSlash:
    """Serves a path with a slash at its end like the one without, as Kafka Connect does."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope["type"] == "http" and len(scope["path"]) > 1:
            scope = {**scope, "path": scope["path"].removesuffix("/")}
        await self._app(scope, receive, send)


def _apply(rule: HeaderRule, headers: MutableHeaders) -> None:
    value = formatdate(int(rule.value) / 1000, usegmt=True) if rule.action.endswith("Date") else rule.value
    if rule.action.startswith("set"):
        headers[rule.name] = value
    else:
        headers.append(rule.name, value)


def middleware(worker: WorkerConfig) -> list[Middleware]:
    """Return what the worker's configuration wants around the application."""
    found = [Middleware(RequestLimits), Middleware(NoTrailingSlash)]
    rules = parse_header_rules(worker.response_http_headers_config)
    if rules:
        found.append(Middleware(HeaderRules, rules=rules))
    origins = [origin.strip() for origin in worker.access_control_allow_origin.split(",") if origin.strip()]
    if origins:
        from starlette.middleware.cors import CORSMiddleware

        listed = worker.access_control_allow_methods.split(",")
        methods = [method.strip() for method in listed if method.strip()] or ["GET", "POST", "HEAD"]
        found.append(Middleware(CORSMiddleware, allow_origins=origins, allow_methods=methods))
    return found
