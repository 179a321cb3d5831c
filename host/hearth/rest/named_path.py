"""Hearth's own paths for connectors with any name, which is passed as a query parameter.

Names such as `a/b`, `a%2Fb` and `..` are valid, but cannot be part of a path: a proxy may interpret such a path
differently, so they are rejected, as in Java.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote, unquote_to_bytes

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.rest.answer import answer, base_url
from hearth.rest.endpoint import Endpoint, Query

_ONE = "/connectors/{connector}"
PREFIX = "/hearth/connectors"
NAME = Query("name", "The connector's name, whatever characters it has.", is_required=True)
_UNESCAPED = "/!$&'()*+,;=:@"
"""Characters that need no escape in a URL's path."""
_UNSAFE = re.compile(r"[%/\\\x00-\x1f\x7f]|^\.\.?$")
"""Characters that change the meaning of a path; all others are safe in a decoded path."""
_PATH = re.compile(rb"/connectors/([^/]+)(/[A-Za-z0-9/]*)?")


def by_name(endpoints: Iterable[Endpoint]) -> list[Endpoint]:
    """Return the endpoints of a single connector again, at paths with the name as a query parameter."""
    return [
        replace(
            each,
            path=PREFIX + each.path.removeprefix(_ONE),
            operation=f"{each.operation}ByName",
            query=(NAME, *each.query),
        )
        for each in endpoints
        if each.path.startswith(_ONE) and not each.is_hidden
    ]


def served(route: Route) -> Route:
    """Return a route that takes the name from the query on one of these paths."""
    is_named = route.path.startswith(PREFIX) and not route.path.startswith(f"{PREFIX}/{{")
    return Route(route.path, _NamedPath(route.app)) if is_named else route


def location(request: Request, name: str) -> str:
    """Return the URL of a new connector, in the form of the path of the request."""
    if request.scope["raw_path"].startswith(PREFIX.encode()):
        return f"{base_url(request)}{PREFIX}?{NAME.name}={quote(name, safe='')}"
    return f"{base_url(request)}/connectors/{quote(name, safe=_UNESCAPED)}"


def split(path: bytes) -> tuple[bytes, str] | None:
    """Return the name in a path as sent, and Hearth's own path for it; None for other paths."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    own = PREFIX + (found[2] or b"").decode().rstrip("/")
    return found[1], f"{own}?{NAME.name}={quote(unquote_to_bytes(found[1]), safe='')}"


class _NamedPath:
    """Serves a request as if it used Java's path, which REST extensions see."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request; reject one without a name."""
        name = NAME.text(Request(scope))
        if name:
            shown = _UNSAFE.sub(lambda found: "".join(f"%{byte:02X}" for byte in found[0].encode()), name)
            path = f"/connectors/{shown}{scope['path'].removeprefix(PREFIX)}"
            scope = {**scope, "path": path, "path_params": {"connector": name, **scope["path_params"]}}
        elif scope["method"] != "OPTIONS":
            refusal = answer(400, f"{scope['path']} takes the name of a connector: ?{NAME.name}=NAME")
            await refusal(scope, receive, send)
            return
        await self._app(scope, receive, send)
