"""The server: HTTP and https on sockets that are open already, all from one thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hearth.foundation.descriptor import FILES_HINT, OUT_OF_FILES
from hearth.rest.listener import BACKLOG, Listener
from hearth.rest.middleware import HEADER_BYTES

log = logging.getLogger(__name__)

STOP_SECONDS = 10.0
IDLE_SECONDS = 90
RECEIVE_SECONDS = 30.0
"""How long a connection may take to bring a whole request: longer than that Kafka Connect's server waits for none."""
LINGER_SECONDS = 5.0
"""How long a client that is answered already may go on sending before its connection is closed."""
DATE_SECONDS = 1.0
"""How often the date is looked at that answers tell."""
COMPLAINT_SECONDS = 60.0
"""How often the same trouble of the server is told."""


class RestServer:
    """Serves the API on its listeners, and what is for admins on theirs where they have some of their own."""

    def __init__(self, app: Any, listeners: Sequence[Listener], admin_app: Any = None) -> None:
        groups: dict[tuple[bool, ssl.SSLContext | None], list[socket.socket]] = {}
        for each in listeners:
            groups.setdefault((each.is_admin, each.context), []).append(each.socket)
        # Off the main thread uvicorn leaves signals to the program it is part of.
        self._servers = [
            (_Server(_config(admin_app if is_admin else app, context)), sockets)
            for (is_admin, context), sockets in groups.items()
        ]
        self._listeners = listeners
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)

    @property
    def port(self) -> int:
        """Return the port of the first listener."""
        return self._listeners[0].port

    def start(self) -> None:
        """Begin to serve; connections are accepted from the moment the sockets were opened."""
        self._thread.start()

    def stop(self) -> None:
        """Answer what has been asked and stop; one that never began has nothing to answer."""
        for server, _ in self._servers:
            server.end()
        if self._thread.ident is not None:
            self._thread.join(STOP_SECONDS)
        for each in self._listeners:
            each.close()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        asyncio.get_running_loop().set_exception_handler(EventLoopWarnings())
        await asyncio.gather(*(server.serve(sockets) for server, sockets in self._servers))


def _config(app: Any, context: ssl.SSLContext | None) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=TimeoutProtocol,
        ws="none",
        loop="asyncio",
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=1,
        server_header=False,
        proxy_headers=False,  # what another host or scheme is said to be is nothing to build on, as in Java
        h11_max_incomplete_event_size=2 * HEADER_BYTES,
        backlog=1,
        ssl_context_factory=None if context is None else lambda *_: context,
    )


class _Server(uvicorn.Server):
    """A server whose sockets keep their queue.

    asyncio takes as many connections at once as the queue is long, and where it runs out of file descriptors fails and
    begins anew as often. So it is told that the queue holds one, and the kernel the truth.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)

    async def main_loop(self) -> None:
        """Keep the date that answers tell until told to stop: uvicorn looks ten times a second whether it is."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._end.wait(), DATE_SECONDS)

    def end(self) -> None:
        """Serve no longer; may be called from any thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)


class EventLoopWarnings:
    """Tells what troubles the server's event loop.

    That there are no file descriptors it says every second, with a traceback. Here it is told once in a while, with
    what helps; connections are taken again as soon as there are descriptors.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told_at: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Take a complaint of the loop."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_FILES:
            loop.default_exception_handler(context)
            return
        now = self._clock()
        if self._told_at is None or now - self._told_at >= COMPLAINT_SECONDS:
            self._told_at = now
            log.error("the REST API takes no connections for now: %s (%s)", error.strerror, FILES_HINT)


class LingeringTransport:
    """A connection that is closed behind its last answer only when the client has ended as well, or in a while.

    A socket that is closed while there is something to read is reset, and a reset may take the answer from a client
    that has not read it yet (RFC 9112, 9.6): one that is told that its body is too long, say. So nothing more is
    written, and what still comes is thrown away.
    """

    def __init__(self, transport: asyncio.Transport, is_read: Callable[[], bool]) -> None:
        """``is_read`` tells whether all that the client is known to send is read."""
        self._transport = transport
        self._is_read = is_read
        self._end: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def is_lingering(self) -> bool:
        """Return whether what comes is thrown away."""
        return self._end is not None

    def is_closing(self) -> bool:
        """Return whether nothing is written any more."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection, now if nothing is to come or this is said again."""
        if self.is_closing() or self._is_read():
            self._transport.close()
            return
        self._end = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
        if self._transport.can_write_eof():  # not with TLS: there the length of the answer has to do
            self._transport.write_eof()
        self._transport.resume_reading()

    def lost(self) -> None:
        """Wait no more."""
        if self._end is not None:
            self._end.cancel()


class TimeoutProtocol(H11Protocol):
    """A connection, which is closed when a request takes too long to arrive, be it half a header or half a body."""

    transport: LingeringTransport  # type: ignore[assignment]
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.transport = LingeringTransport(transport, lambda: not self._is_at(h11.SEND_BODY, h11.ERROR))
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Go on waiting unless a request is there."""
        if self.transport.is_lingering:
            return
        self._await_request()
        super().data_received(data)
        if not self._is_at(h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._stop_waiting()
        self.transport.lost()
        super().connection_lost(exc)

    def _is_at(self, *states: Any) -> bool:
        """Return whether the client is at one of these points of a request."""
        return self.conn.their_state in states

    def _await_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(RECEIVE_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
