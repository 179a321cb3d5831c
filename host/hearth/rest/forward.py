"""Forwards requests that only the leader can handle, and brings the stores up to date before reads.

The rules are those of Kafka Connect's `HerderRequestHandler` and `RestClient`: the first host may forward a request
with `forward=true`, the second with `forward=false`, so there are at most two hops.
"""

from __future__ import annotations

import asyncio
import functools
import http.client
import logging
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from urllib.parse import urlencode, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from hearth.rest import request_signature
from hearth.rest.answer import base_url
from hearth.rest.body import read_body
from hearth.rest.endpoint import Answer, Endpoint, Responder
from hearth.rest.media_range import JSON
from hearth.storage import NotLeading
from hearth_api import ConflictError, ConnectError

log = logging.getLogger(__name__)

FORWARD = "forward"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 95.0
"""Time limit for the leader's response; it gives up by itself after ninety seconds."""
REFRESH_SECONDS = 1.0
"""Time limit for reading what other hosts have written before a read request."""
AWAY_SECONDS = 5.0
"""Time for which stores are read without a refresh after one has timed out."""


class NoLeader(ConflictError):
    """No leader is known at the moment."""

    code = "host.no_leader"

    def __init__(self) -> None:
        super().__init__(
            "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway.",
            hint="ask again in a few seconds",
        )


class TooManyHops(ConflictError):
    """A request was forwarded twice without reaching the leader."""

    code = "host.hops"

    def __init__(self) -> None:
        super().__init__("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")


@dataclass(frozen=True)
class ClusterView:
    """A server's view of its cluster."""

    leads: Callable[[], bool]
    """Whether this host leads."""
    leader_url: Callable[[], str | None]
    """The URL of the leader on another host; None if unknown. May block on the brokers."""
    refresh: Callable[[float], None]
    """Brings this host's stores up to date; raises TimeoutError or ConnectError if that takes too long."""
    tls: Callable[[], ssl.SSLContext]
    """The TLS context for https between hosts."""


class Forwarder:
    """Lets any host of a cluster handle any request."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self._away_until = 0.0

    def placed(self, endpoint: Endpoint) -> Endpoint:
        """Return an endpoint as a host serves it that may not lead."""
        if endpoint.by is Responder.ANY:
            return endpoint
        answer = self._led if endpoint.by is Responder.LEADER else self._read
        return replace(endpoint, answer=answer(endpoint.answer))

    def _led(self, answer: Answer) -> Answer:
        @functools.wraps(answer)
        async def led(request: Request) -> Response:
            if self._cluster.leads():
                try:
                    return await answer(request)
                except NotLeading:
                    log.debug("this host led until a moment ago")
            return await self._forward(request)

        return led

    def _read(self, answer: Answer) -> Answer:
        @functools.wraps(answer)
        async def read(request: Request) -> Response:
            if not self._cluster.leads():  # the leader has written everything itself
                await asyncio.to_thread(self._refresh)
            return await answer(request)

        return read

    async def _forward(self, request: Request) -> Response:
        hop = request.query_params.get(FORWARD)
        if hop is not None and hop.lower() != "true":
            raise TooManyHops
        body = await read_body(request)
        url = await asyncio.to_thread(self._cluster.leader_url)
        if url is None:
            raise NoLeader
        response = await asyncio.to_thread(self._send, url, request, body, "false" if hop else "true")
        await asyncio.to_thread(self._refresh)
        return response

    def _send(self, url: str, request: Request, body: bytes, hop: str) -> Response:
        log.debug("forwarding %s %s to %s", request.method, request.url.path, url)
        query = [(name, value) for name, value in request.query_params.multi_items() if name != FORWARD]
        target = f"{request.scope['raw_path'].decode('latin-1')}?{urlencode([*query, (FORWARD, hop)])}"
        connection = self._connection(url)
        try:
            connection.connect()
        except ssl.SSLError as error:
            raise _broken(url, error) from error
        except OSError as error:
            log.info("the leader at %s is unreachable: %s", url, error)
            raise NoLeader from error
        try:
            assert connection.sock is not None, "it is connected"
            connection.sock.settimeout(ANSWER_SECONDS)
            connection.request(request.method, target, body or None, _headers(request, body))
            return _response(request, connection.getresponse())
        except (OSError, http.client.HTTPException) as error:
            raise _broken(url, error) from error
        finally:
            connection.close()

    def _connection(self, url: str) -> http.client.HTTPConnection:
        parts = urlsplit(url)
        assert parts.hostname is not None, "who advertises an address names a host"
        if parts.scheme == "https":
            return http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=CONNECT_SECONDS, context=self._cluster.tls()
            )
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=CONNECT_SECONDS)

    def _refresh(self) -> None:
        """Bring the stores up to date, so that clients see their own writes on any host."""
        if time.monotonic() < self._away_until:
            return
        try:
            self._cluster.refresh(REFRESH_SECONDS)
        except (ConnectError, TimeoutError) as error:
            log.debug("responses may be older than the stored data: %s", error)
            self._away_until = time.monotonic() + AWAY_SECONDS


def _broken(url: str, error: Exception) -> ConnectError:
    log.error("IO error forwarding REST request to %s: %s", url, error)
    return ConnectError(f"IO Error trying to forward REST request: {error}", code="host.forward")


def _headers(request: Request, body: bytes) -> dict[str, str]:
    headers = {"accept": JSON, "user-agent": "kafka-connect"}
    if body:
        headers["content-type"] = request.headers.get("content-type", JSON)
    kept = ("authorization", *request_signature.HEADERS)
    return headers | {name: request.headers[name] for name in kept if name in request.headers}


def _response(request: Request, answer: http.client.HTTPResponse) -> Response:
    """Return the leader's response as this host's own; raise ConnectError if it is not a valid one."""
    if 300 <= answer.status < 400:
        reason = f"Unexpected status code when handling forwarded request: {answer.status}"
        raise ConnectError(reason, code="host.forward")
    response = Response(answer.read(), answer.status)
    if (content_type := answer.headers.get("content-type")) is not None:
        response.headers["content-type"] = content_type
    if (location := answer.headers.get("location")) is not None:
        response.headers["location"] = base_url(request) + urlsplit(location)._replace(scheme="", netloc="").geturl()
    return response
