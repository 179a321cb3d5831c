"""Rejects changes that a page of another origin requests through a user's browser."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from hearth.config import WorkerConfig
from hearth.rest.answer import answer
from hearth.rest.listener import parse_listener

_READS = ("GET", "HEAD", "OPTIONS")
_REMEDY = "add the origin to access.control.allow.origin"


class SameOrigin:
    """Allows changes from a browser only by pages of this server or of an allowed origin.

    Browsers send a page's origin in `Origin` and `Sec-Fetch-Site`, which no page can prevent. Other clients send
    neither and are allowed. A page whose host name was made to resolve to this server (DNS rebinding) has the origin
    of its `Host` header, so that must be a name of this worker or an IP address.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str], origins: Sequence[re.Pattern[str]]) -> None:
        """``names`` are the host names of this worker, ``origins`` the patterns of allowed origins."""
        self._app = app
        self._names = {"localhost", *(name.lower() for name in names if name)}
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or reject it with 403."""
        if scope["type"] == "http" and scope["method"] not in _READS:
            reason = self._refusal(Headers(scope=scope))
            if reason is not None:
                await answer(403, f"{reason}; {_REMEDY}")(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _refusal(self, asked: Headers) -> str | None:
        origin, site, host = asked.get("origin"), asked.get("sec-fetch-site"), asked.get("host", "")
        if origin is None and site is None:
            return None
        if origin is not None and any(pattern.fullmatch(origin) for pattern in self._origins):
            return None
        if site == "cross-site" or (origin is not None and urlsplit(origin).netloc.lower() != host.lower()):
            return f"a page of {origin or 'another site'} asks, and not one of {host}"
        if not self._is_own(host):
            return f"{host} is no name of this worker"
        return None

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names or name.endswith(".localhost")
        return True


def own_names(worker: WorkerConfig) -> list[str]:
    """Return the names of a worker: those of its listeners, its advertised name and the machine's."""
    listeners = [*worker.listeners, *(worker.admin_listeners or [])]
    hosts = [parse_listener(each).host for each in listeners if each]
    machine = socket.gethostname()
    return [*hosts, worker.rest_advertised_host_name or "", machine, machine.partition(".")[0]]
