"""The listeners of the REST server, and the addresses under which others reach it."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from hearth.config import WorkerConfig
from hearth.foundation.port import PortTaken
from hearth_api import ConfigError, ConnectError

KEY, ADMIN_KEY = "listeners", "admin.listeners"
HTTP, HTTPS = "http", "https"
LAST_PORT = 65535
BACKLOG = 2048
"""Maximum number of connections that wait to be accepted."""

_LISTENER = re.compile(r"(.*)://\[?([0-9a-zA-Z\-%._:]*)\]?:(-?[0-9]+)", re.ASCII)
_EXAMPLE = "an example: {}=http://localhost:8083"


@dataclass(frozen=True)
class Address:
    """An address to listen on; an empty host stands for all interfaces."""

    scheme: str
    host: str
    port: int
    key: str = KEY

    def __str__(self) -> str:
        """Return the address in the format of `listeners`."""
        return f"{self.scheme}://{_bracketed(self.host)}:{self.port}"


@dataclass(frozen=True)
class Listener:
    """A listening socket with its purpose and, for https, its TLS context."""

    address: Address
    socket: socket.socket
    context: ssl.SSLContext | None = None

    @property
    def is_admin(self) -> bool:
        """Return whether it is one of `admin.listeners`."""
        return self.address.key == ADMIN_KEY

    @property
    def port(self) -> int:
        """Return the actual port, even if any port was requested."""
        return int(self.socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Return the URL it listens on."""
        return f"{self.address.scheme}://{_bracketed(self.socket.getsockname()[0])}:{self.port}"

    def close(self) -> None:
        """Stop listening."""
        self.socket.close()


def parse_listener(url: str, key: str = KEY) -> Address:
    """Return the address of one listener; raise ConfigError with Kafka Connect's message for an invalid one."""
    found = _LISTENER.fullmatch(url.strip())
    if found is None or not 0 <= int(found[3]) <= LAST_PORT:
        raise ConfigError(
            f"{key}: {url!r}: Listener doesn't have the right format (protocol://hostname:port).",
            code="listeners.invalid",
            hint=_EXAMPLE.format(key),
        )
    scheme = found[1].lower()
    if scheme not in (HTTP, HTTPS):
        raise ConfigError(
            f'{key}: {url!r}: Listener protocol must be either "http" or "https".',
            code="listeners.invalid",
            hint=_EXAMPLE.format(key),
        )
    return Address(scheme, found[2], int(found[3]), key)


def open_listeners(worker: WorkerConfig, free_port: bool = False) -> list[Listener]:
    """Return a listening socket for each of the worker's listeners, followed by those for `/admin` alone.

    With `free_port`, a port in use is replaced by the next free one. Raises PortTaken, or ConfigError for an unknown
    host name or invalid certificates.
    """
    addresses = [parse_listener(url) for url in worker.listeners]
    addresses += [parse_listener(url, ADMIN_KEY) for url in worker.admin_listeners or ()]
    contexts = _contexts(worker, addresses)
    opened: list[Listener] = []
    try:
        for address, context in zip(addresses, contexts):
            opened.append(Listener(address, _open(address, free_port), context))
    except ConnectError:
        for each in opened:
            each.close()
        raise
    return opened


def _contexts(worker: WorkerConfig, addresses: Sequence[Address]) -> list[ssl.SSLContext | None]:
    """Return the TLS context of each address; those with the same settings share it."""

    @cache
    def context(key: str) -> ssl.SSLContext:
        from hearth.rest.tls_context import server_context

        return server_context(worker.originals, f"{key}.https.")

    return [context(each.key) if each.scheme == HTTPS else None for each in addresses]


def advertised_url(worker: WorkerConfig, listeners: Sequence[Listener]) -> str:
    """Return the URL under which others reach the server, as Java's `RestServer.advertisedUrl` determines it."""
    scheme = _advertised_scheme(worker)
    found = next((each for each in listeners if each.address.scheme == scheme and not each.is_admin), None)
    listener = found or listeners[0]
    host = worker.rest_advertised_host_name or listener.address.host or listeners[0].address.host or _own_address()
    return f"{scheme}://{_bracketed(host)}:{worker.rest_advertised_port or listener.port}"


def worker_id(worker: WorkerConfig, listeners: Sequence[Listener]) -> str:
    """Return `host:port` under which others reach the server; it identifies this worker in statuses."""
    return advertised_url(worker, listeners).partition("://")[2]


def _advertised_scheme(worker: WorkerConfig) -> str:
    if worker.rest_advertised_listener is not None:
        return worker.rest_advertised_listener.lower()
    schemes = [parse_listener(url).scheme for url in worker.listeners]
    return HTTPS if HTTP not in schemes else HTTP


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _open(address: Address, free_port: bool) -> socket.socket:
    port = address.port
    while True:
        try:
            return _bind(replace(address, port=port))
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
            what = "is taken by another program" if error.errno == errno.EADDRINUSE else "needs more privileges"
            raise PortTaken(
                f"port {address.port} of {address.key}={str(address)!r} {what}",
                hint=f"stop the program that uses it, or set {address.key} to another port, e.g. "
                f"{address.scheme}://:{address.port + 1}",
            ) from error
        raise ConfigError(
            f"{address.key}={str(address)!r} cannot be listened on: {error.strerror or error}",
            code="listeners.invalid",
            hint="name a host of this machine, or leave the host out to listen everywhere",
        ) from error


def _own_address() -> str:
    """Return this machine's own address as its host name resolves, as Kafka Connect does."""
    try:
        return socket.gethostbyname(socket.gethostname())
    except OSError:
        return "127.0.0.1"
