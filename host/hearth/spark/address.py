"""Where executors find the driver and the host: the address they are told, and the one that is listened on."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Any

LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 -- where the address tasks are told is not this machine's own
PROBE_SECONDS = 3.0

_MASTER = re.compile(r"\A(?:spark://|k8s://(?:https?://)?)(?P<endpoints>[^/]+)/?\Z")
_ELSEWHERE = ("192.0.2.1", 9)
"""An address that is nobody's (RFC 5737): the way to it is the way to everywhere."""


def own_address(master: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address under which executors of a master reach this machine.

    What Spark is told for the purpose in its environment comes first, then the address from which this machine speaks
    to the master.
    """
    for variable in ("SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP"):
        if given := environment.get(variable):
            return given
    for endpoint in [*master_endpoints(master), _ELSEWHERE]:
        if (address := _way_to(endpoint)) is not None:
            return address
    return LOOPBACK


def listening_address(told: str) -> str:
    """Return what to listen on where tasks are told an address: that one, or all where it is not this machine's."""
    for family, kind, protocol, _, endpoint in _found((told.strip("[]"), 0)):
        try:
            with closing(socket.socket(family, kind, protocol)) as probe:
                probe.bind(endpoint)
            return told
        except OSError:
            continue
    return EVERY_ADDRESS


def master_endpoints(master: str) -> list[tuple[str, int]]:
    """Return hosts and ports of a master that names them; YARN's are in Hadoop's own files."""
    found = _MASTER.match(master)
    endpoints = [each.rpartition(":") for each in found["endpoints"].split(",")] if found else []
    return [(host.strip("[]"), int(port)) for host, _, port in endpoints if host and port.isdigit()]


def silence_of(master: str) -> str | None:
    """Return why nobody answers where the master should be, ``None`` when somebody does or it cannot be known."""
    reasons = []
    for endpoint in master_endpoints(master):
        if (reason := _silence_at(endpoint)) is None:
            return None
        reasons.append(f"{endpoint[0]}:{endpoint[1]}: {reason}")
    return ", ".join(reasons) or None


def first_answering(master: str) -> tuple[str, int] | None:
    """Return where somebody answers of the endpoints of a standalone master, ``None`` where nobody does."""
    endpoints = master_endpoints(master) if master.startswith("spark://") else []
    return next((endpoint for endpoint in endpoints if _silence_at(endpoint) is None), None)


def _silence_at(endpoint: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(endpoint, timeout=PROBE_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _way_to(endpoint: tuple[str, int]) -> str | None:
    """Return the address from which this machine would speak to an endpoint; nothing is sent."""
    for family, kind, protocol, _, address in _found(endpoint):
        try:
            with closing(socket.socket(family, kind, protocol)) as probe:
                probe.connect(address)
                own = str(probe.getsockname()[0])
                return f"[{own}]" if family == socket.AF_INET6 else own  # as Spark writes it
        except OSError:
            continue
    return None


def _found(endpoint: tuple[str, int]) -> list[Any]:
    """Return what the system knows of an endpoint, IPv4 first as in Spark; nothing where its name is unknown."""
    try:
        return sorted(
            socket.getaddrinfo(*endpoint, type=socket.SOCK_DGRAM), key=lambda each: each[0] != socket.AF_INET
        )
    except OSError:
        return []
