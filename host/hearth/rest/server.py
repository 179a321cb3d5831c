"""The server: HTTP and https on open sockets, on a single thread."""

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
"""Time limit for receiving a whole request; Kafka Connect's server waits no longer."""
LINGER_SECONDS = 5.0
"""Time for which a client may continue to send after its response, before the connection is closed."""
DATE_SECONDS = 1.0
"""Interval at which the Date header is updated."""
COMPLAINT_SECONDS = 60.0
"""Interval at which a repeated problem is logged."""


class RestServer:
    """Serves the API on its listeners, and the admin resources on theirs if configured."""

    def __init__(self, app: Any, listeners: Sequence[Listener], admin_app: Any = None) -> None:
        groups: dict[tuple[bool, ssl.SSLContext | None], list[socket.socket]] = {}
        for each in listeners:
            groups.setdefault((each.is_admin, each.context), []).append(each.socket)
        # Outside the main thread, uvicorn does not handle signals.
        self._servers = [
            (_Server(_config(admin_app if is_admin else app, context)), sockets)
            for (is_admin, context), sockets in groups.items()
        ]
        self._listeners = listeners
        self._end_streams: Callable[[], None] | None = getattr(getattr(app, "state", None), "end_streams", None)
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)

    @property
    def port(self) -> int:
        """Return the port of the first listener."""
        return self._listeners[0].port

    def start(self) -> None:
        """Start serving; connections are accepted from the moment the sockets were opened."""
        self._thread.start()

    def stop(self) -> None:
        """Complete pending requests, end streams and stop; does nothing if it never started."""
        if self._end_streams is not None:
            self._end_streams()
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
        proxy_headers=False,  # forwarded host and scheme headers are not trusted, as in Java
        h11_max_incomplete_event_size=2 * HEADER_BYTES,
        backlog=1,
        ssl_context_factory=None if context is None else lambda *_: context,
    )


class _Server(uvicorn.Server):
    """A server that keeps the sockets' backlog.

    asyncio accepts as many connections at once as its backlog parameter, and repeats a failure for lack of file
    descriptors as often. So asyncio gets a backlog of one, and the kernel the real one.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start serving."""
        await super().startup(sockets)
        for each in sockets or ():
            each.listen(BACKLOG)

    async def main_loop(self) -> None:
        """Update the Date header until stopped; uvicorn checks for that ten times a second."""
        self._loop = asyncio.get_running_loop()
        while not await self.on_tick(0):
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._end.wait(), DATE_SECONDS)

    def end(self) -> None:
        """Stop serving; may be called from any thread."""
        self.should_exit = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._end.set)


class EventLoopWarnings:
    """Logs problems of the server's event loop.

    asyncio logs a lack of file descriptors every second with a traceback. This logs it once per interval with a
    remedy; connections are accepted again as soon as descriptors are available.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._logged_at: float | None = None

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an exception of the event loop."""
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in OUT_OF_FILES:
            loop.default_exception_handler(context)
            return
        now = self._clock()
        if self._logged_at is None or now - self._logged_at >= COMPLAINT_SECONDS:
            self._logged_at = now
            log.error("the REST API cannot accept connections at the moment: %s (%s)", error.strerror, FILES_HINT)


class LingeringTransport:
    """A connection that closes after its last response only once the client has closed it, or after a delay.

    Closing a socket with unread data sends a reset, which may discard a response that the client has not read yet (RFC
    9112, 9.6), such as the rejection of a long body. So the write side is closed, and incoming data is discarded.
    """

    def __init__(self, transport: asyncio.Transport, is_read: Callable[[], bool]) -> None:
        """``is_read`` returns whether everything that the client is known to send has been read."""
        self._transport = transport
        self._is_read = is_read
        self._end: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    @property
    def is_lingering(self) -> bool:
        """Return whether incoming data is discarded."""
        return self._end is not None

    def is_closing(self) -> bool:
        """Return whether the write side is closed."""
        return self.is_lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection, at once if no data is expected or on a second call."""
        if self.is_closing() or self._is_read():
            self._transport.close()
            return
        self._end = asyncio.get_running_loop().call_later(LINGER_SECONDS, self._transport.abort)
        if self._transport.can_write_eof():  # not with TLS, where the content length marks the end
            self._transport.write_eof()
        self._transport.resume_reading()

    def lost(self) -> None:
        """Cancel the delay."""
        if self._end is not None:
            self._end.cancel()


class TimeoutProtocol(H11Protocol):
    """A connection that is closed if a request, its headers or its body, takes too long to arrive."""

    transport: LingeringTransport  # type: ignore[assignment]
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self.transport = LingeringTransport(transport, lambda: not self._is_at(h11.SEND_BODY, h11.ERROR))
        self._await_request()

    def data_received(self, data: bytes) -> None:
        """Continue waiting until the request is complete."""
        if self.transport.is_lingering:
            return
        self._await_request()
        super().data_received(data)
        if not self._is_at(h11.IDLE, h11.SEND_BODY):
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._stop_waiting()
        self.transport.lost()
        super().connection_lost(exc)

    def _is_at(self, *states: Any) -> bool:
        """Return whether the client is in one of these states of a request."""
        return self.conn.their_state in states

    def _await_request(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(RECEIVE_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
