"""Addresses of the driver and the host: the one that executors connect to, and the one to listen on."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping
from contextlib import closing
from typing import Any

LOOPBACK = "127.0.0.1"
EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 -- for an advertised address that is not this machine's own
PROBE_SECONDS = 3.0

_MASTER = re.compile(r"\A(?:spark://|k8s://(?:https?://)?)(?P<endpoints>[^/]+)/?\Z")
_ELSEWHERE = ("192.0.2.1", 9)
"""A reserved address (RFC 5737): the route to it is the default route."""


def own_address(master: str, environment: Mapping[str, str] = os.environ) -> str:
    """Return the address under which executors of a master reach this machine.

    Spark's environment variables for it come first, then the address from which this machine connects to the master.
    """
    for variable in ("SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_IP"):
        if given := environment.get(variable):
            return given
    for endpoint in [*master_endpoints(master), _ELSEWHERE]:
        if (address := _way_to(endpoint)) is not None:
            return address
    return LOOPBACK


def listening_address(advertised: str) -> str:
    """Return the address to listen on: the advertised one, or all if that is not this machine's own."""
    for family, kind, protocol, _, endpoint in _found((advertised.strip("[]"), 0)):
        try:
            with closing(socket.socket(family, kind, protocol)) as probe:
                probe.bind(endpoint)
            return advertised
        except OSError:
            continue
    return EVERY_ADDRESS


def master_endpoints(master: str) -> list[tuple[str, int]]:
    """Return the hosts and ports in a master URL; YARN's are in Hadoop's files instead."""
    found = _MASTER.match(master)
    endpoints = [each.rpartition(":") for each in found["endpoints"].split(",")] if found else []
    return [(host.strip("[]"), int(port)) for host, _, port in endpoints if host and port.isdigit()]


def silence_of(master: str) -> str | None:
    """Return why the master does not answer; ``None`` if it answers or its address is unknown."""
    reasons = []
    for endpoint in master_endpoints(master):
        if (reason := _silence_at(endpoint)) is None:
            return None
        reasons.append(f"{endpoint[0]}:{endpoint[1]}: {reason}")
    return ", ".join(reasons) or None


def first_answering(master: str) -> tuple[str, int] | None:
    """Return the first endpoint of a standalone master that accepts a connection, or ``None``."""
    endpoints = master_endpoints(master) if master.startswith("spark://") else []
    return next((endpoint for endpoint in endpoints if _silence_at(endpoint) is None), None)


def _silence_at(endpoint: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(endpoint, timeout=PROBE_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def _way_to(endpoint: tuple[str, int]) -> str | None:
    """Return the local address that this machine would use to reach an endpoint; sends nothing."""
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
    """Resolve an endpoint, IPv4 first as in Spark; returns an empty list if its name is unknown."""
    try:
        return sorted(
            socket.getaddrinfo(*endpoint, type=socket.SOCK_DGRAM), key=lambda each: each[0] != socket.AF_INET
        )
    except OSError:
        return []
