"""What goes around every answer: headers from the worker's configuration, and one spelling of every path."""

from __future__ import annotations

from email.utils import formatdate

from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hearth.config import WorkerConfig
from hearth.config.rest import HeaderRule, parse_header_rules
from hearth.rest.limit import RequestLimits


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
            scope = {**scope, "path": scope["path"].rstrip("/") or "/"}
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
