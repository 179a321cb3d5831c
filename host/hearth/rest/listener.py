"""The sockets of the REST server."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from hearth.config import WorkerConfig
from hearth.foundation.port import PortTaken
from hearth_api import ConfigError, ConnectError

KEY = "listeners"
LAST_PORT = 65535
BACKLOG = 2048
"""So many connections may wait to be accepted."""


@dataclass(frozen=True)
class Address:
    """Where to listen; an empty host is every interface."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the address as it stands in `listeners`."""
        return f"http://{self.host}:{self.port}"


def parse_listener(url: str) -> Address:
    """Return the address of one listener; raises ConfigError for what cannot be served."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"{KEY}: {url!r} is no URL: {error}", code="listeners.invalid", hint=_EXAMPLE) from error
    if parts.scheme == "https":
        raise ConfigError(
            f"{KEY}: {url!r} asks for https, which this version does not serve",
            code="listeners.https",
            hint="listen on http://localhost:8083 and put a proxy that speaks TLS in front of it",
        )
    return Address(parts.hostname or "", 8083 if port is None else port)


_EXAMPLE = "an example: listeners=http://localhost:8083"


def open_listeners(worker: WorkerConfig, free_port: bool = False) -> list[socket.socket]:
    """Return a listening socket for each of the worker's listeners.

    With `free_port` a port that is taken is replaced by the next one that is not. Raises PortTaken, or ConfigError for
    a host name that does not exist here.
    """
    opened: list[socket.socket] = []
    try:
        for address in [parse_listener(url) for url in worker.listeners]:
            opened.append(_open(address, free_port))  # noqa: PERF401 - those before are closed when one fails
    except ConnectError:
        for each in opened:
            each.close()
        raise
    return opened


def worker_id(worker: WorkerConfig, sockets: list[socket.socket]) -> str:
    """Return `host:port` as others reach the server, which is how statuses name this worker."""
    bound = sockets[0].getsockname()
    given = parse_listener(worker.listeners[0]).host
    host = worker.rest_advertised_host_name or given or _own_address()
    return f"{host}:{worker.rest_advertised_port or bound[1]}"


def _open(address: Address, free_port: bool) -> socket.socket:
    port = address.port
    while True:
        try:
            return _bind(Address(address.host, port))
        except PortTaken:
            if not free_port or port >= LAST_PORT or port == 0:
                raise
            port += 1


def _bind(address: Address) -> socket.socket:
    family = (
        socket.AF_INET6
        if ":" in address.host or (not address.host and socket.has_dualstack_ipv6())
        else socket.AF_INET
    )
    try:
        return socket.create_server(
            (address.host, address.port),
            family=family,
            backlog=BACKLOG,
            dualstack_ipv6=not address.host and family == socket.AF_INET6,
        )
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            what = "is taken by another program" if error.errno == errno.EADDRINUSE else "may not be used by you"
            raise PortTaken(
                f"port {address.port} of {KEY}={str(address)!r} {what}",
                hint=f"stop what listens there, or set {KEY} to another port, e.g. http://:{address.port + 1}",
            ) from error
        raise ConfigError(
            f"{KEY}={str(address)!r} cannot be listened on: {error.strerror or error}",
            code="listeners.invalid",
            hint="name a host of this machine, or leave the host out to listen everywhere",
        ) from error


def _own_address() -> str:
    """Return this machine's own address as its name resolves, which is what Kafka Connect takes."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
