"""Accepts the connections of tasks, and limits those that have not authenticated."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Protocol

from hearth.link.encryption import EncryptedSocket
from hearth_api import ConnectError

log = logging.getLogger(__name__)

MOST_STRANGERS = 256
"""Maximum number of unauthenticated connections; one more closes the oldest."""
_PAUSE_SECONDS = 1.0
"""Pause before accepting connections again when the machine is out of resources."""


class LinkFailed(ConnectError):
    """The host cannot listen for its tasks."""

    code = "environment.task_link"


class Visitor(Protocol):
    """A connection that has not authenticated yet."""

    def start(self) -> None:
        """Start reading."""

    def turn_away(self) -> None:
        """Close the connection; does not block."""


class LinkListener:
    """Listens on an address and passes each connection to a new visitor, until the visitor is crossed off."""

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext, new_visitor: Callable[[EncryptedSocket], Visitor]
    ) -> None:
        """With ``port`` 0 the system chooses one."""
        self._host, self._port = host, port
        self._context, self._new_visitor = context, new_visitor
        self._strangers: list[Visitor] = []
        self._is_crowded = False
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._socket: socket.socket | None = None

    def start(self) -> None:
        """Start to listen; raise LinkFailed if the address cannot be bound."""
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            self._socket = socket.create_server((self._host, self._port), family=family, backlog=128)
        except OSError as error:
            raise LinkFailed(
                f"cannot listen for tasks on {self._host}, port {self._port or 'of any number'}: {error}",
                hint="task.link.port names the port, spark.driver.bindAddress the address of this machine",
            ) from error
        threading.Thread(target=self._accept, args=[self._socket], name="task-link", daemon=True).start()

    @property
    def port(self) -> int:
        """Return the port in use."""
        assert self._socket is not None, "the listener is not started"
        return int(self._socket.getsockname()[1])

    def close(self) -> None:
        """Stop listening and close the connections that have not authenticated."""
        self._closed.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
        with self._lock:
            strangers, self._strangers = self._strangers, []
        for stranger in strangers:
            stranger.turn_away()

    def cross_off(self, visitor: Visitor) -> None:
        """Remove a connection from the unauthenticated ones: it has authenticated or closed."""
        with self._lock, contextlib.suppress(ValueError):
            self._strangers.remove(visitor)

    def _accept(self, listener: socket.socket) -> None:
        """Accept connections until closed, even while the machine is out of resources."""
        while not self._closed.is_set():
            try:
                connection, _ = listener.accept()
            except OSError as error:
                if self._closed.is_set():
                    return
                log.error("cannot accept task links at the moment: %s", error)
                self._closed.wait(_PAUSE_SECONDS)
            else:
                self._receive(connection)

    def _receive(self, connection: socket.socket) -> None:
        """Start reading a new connection; close the oldest if too many are unauthenticated."""
        with self._lock:
            first = self._strangers.pop(0) if len(self._strangers) >= MOST_STRANGERS else None
        if first is not None:
            first.turn_away()
            if not self._is_crowded:
                log.warning("more than %d connections to the task link are not authenticated", MOST_STRANGERS)
        self._is_crowded = first is not None
        encrypted = EncryptedSocket(connection, self._context, is_server=True)
        visitor = self._new_visitor(encrypted)
        with self._lock:
            self._strangers.append(visitor)
        try:
            visitor.start()
        except (OSError, RuntimeError) as error:  # the peer has closed it, or no thread is left
            log.error("a task could not connect: %s", error)
            self.cross_off(visitor)
            encrypted.close()
