"""Detects the death of the leading host at once, before its group session expires."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from confluent_kafka import KafkaException

from hearth.kafka.host_group import HostMember

log = logging.getLogger(__name__)

CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 45.0
"""Longest wait on a silent connection; servers close idle connections sooner."""
LOOK_SECONDS = 1.0
PORTS = {"http": 80, "https": 443}


class Hosts(Protocol):
    """The part of the host group that this module uses; implemented by `HostGroup`."""

    def hosts(self) -> list[HostMember]:
        """Return the hosts of the group, in the same order on every host; raises KafkaException."""

    def is_own(self, host: HostMember) -> bool:
        """Return whether a member is this host."""

    def take_out(self, host: HostMember) -> None:
        """Remove a dead host from the group."""


class LeaderWatch:
    """Keeps a connection to the REST port of the leading host, which closes when its process ends.

    The connection is idle, so the server closes it from time to time and the watch reconnects. If a host that accepted
    a connection before refuses one, no process listens there any more, and the first of the other hosts removes it
    from the group. Every other failure, such as a machine that does not answer, is left to the group session: a host
    that is unreachable from here may still lead. A host that is unreachable at its advertised address is logged once.
    """

    def __init__(self, group: Hosts, look: float = LOOK_SECONDS) -> None:
        self._group = group
        self._look = look
        self._lock = threading.Lock()
        self._again = threading.Event()
        self._closed = threading.Event()
        self._connection: socket.socket | None = None
        self.leader: str | None = None
        """The URL of the leader that was found last, as long as it leads."""
        self._reached: str | None = None
        self._reported: set[str] = set()
        self._thread = threading.Thread(target=self._work, name="leader-watch", daemon=True)

    def start(self) -> None:
        """Start watching."""
        self._thread.start()

    def look_again(self) -> None:
        """Check again who leads; may be called from any thread and does not block."""
        self._again.set()
        with self._lock, contextlib.suppress(OSError):
            if self._connection is not None:
                self._connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Stop watching."""
        self._closed.set()
        self.look_again()

    def _work(self) -> None:
        while True:
            self._again.clear()
            if self._closed.is_set():  # checked after the clear, which may have discarded the event that close() set
                return
            try:
                hosts = self._group.hosts()
            except KafkaException as error:
                log.debug("the leader is not known: %s", error)
                hosts = []
            leader = next((each for each in hosts if each.leads), None)
            self.leader = None if leader is None else leader.url
            if leader is None:
                self._again.wait(self._look)
            elif self._group.is_own(leader):
                self._check_followers(hosts)
                self._again.wait()
            else:
                self._watch_leader(leader, hosts)

    def _check_followers(self, hosts: Sequence[HostMember]) -> None:
        """Check once that the other hosts are reachable, in case one of them becomes leader."""
        for host in hosts:
            if not self._group.is_own(host) and host.member not in self._reported:
                self._reported.add(host.member)
                try:
                    connect(host.url).close()
                except OSError as error:
                    _warn_unreachable(host, error)

    def _watch_leader(self, leader: HostMember, hosts: Sequence[HostMember]) -> None:
        """Watch the leader until its connection ends, and handle a failed connection."""
        try:
            connection = connect(leader.url)
        except ConnectionRefusedError as error:
            self._on_unreachable(leader, hosts, error)
        except OSError as error:
            self._on_unreachable(leader, (), error)
        else:
            self._reached = leader.member
            self._await_end(connection)

    def _await_end(self, connection: socket.socket) -> None:
        with connection:
            with self._lock:
                self._connection = connection
            connection.settimeout(SILENCE_SECONDS)
            with contextlib.suppress(OSError):
                if not self._again.is_set():
                    connection.recv(1)
            with self._lock:
                self._connection = None

    def _on_unreachable(self, leader: HostMember, hosts: Sequence[HostMember], error: OSError) -> None:
        """Remove a leader that was reachable before; log one that never was."""
        heirs = [each for each in hosts if each.member != leader.member]
        if self._reached == leader.member and heirs and self._group.is_own(heirs[0]):
            try:
                self._group.take_out(leader)
            except KafkaException as failure:
                log.warning("the host at %s was not removed from its group: %s", leader.url, failure)
        elif self._reached != leader.member and leader.member not in self._reported:
            self._reported.add(leader.member)
            _warn_unreachable(leader, error)
        self._again.wait(self._look)


def connect(url: str) -> socket.socket:
    """Return a connection to the server at a URL; raises OSError."""
    parts = urlsplit(url)
    return socket.create_connection((parts.hostname or "", parts.port or PORTS[parts.scheme]), CONNECT_SECONDS)


def _warn_unreachable(host: HostMember, error: OSError) -> None:
    log.warning(
        "the host that is said to be at %s cannot be reached there from this one (%s): no requests could be passed on "
        "to it; rest.advertised.host.name, rest.advertised.port and rest.advertised.listener of its worker file say "
        "what it tells others",
        host.url,
        error.strerror or error,
    )
