"""The watch of the leading host removes only a leader that was reachable before and now refuses connections."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hearth.herder.leader_watch import LeaderWatch
from hearth.kafka.host_group import HostMember
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually


class Group:
    """A group with configurable members; `own` is this host."""

    def __init__(self) -> None:
        self.members: list[HostMember] = []
        self.taken_out: list[str] = []

    def hosts(self) -> list[HostMember]:
        """Return them."""
        return self.members

    def is_own(self, host: HostMember) -> bool:
        """Return whether it is this host."""
        return host.instance == "own"

    def take_out(self, host: HostMember) -> None:
        """Record the host, and let the next one lead."""
        self.taken_out.append(host.member)
        self.members = [each for each in self.members if each.member != host.member]


class Server:
    """The port of a host's REST server, open or closed."""

    def __init__(self) -> None:
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.open()

    def open(self) -> None:
        """Listen."""
        self.socket = socket.create_server(("127.0.0.1", self.port))
        self.socket.settimeout(TIMEOUT)

    def die(self) -> None:
        """Close the port, as when the process ends."""
        self.socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """Open a server."""
    made = Server()
    yield made
    made.die()


@pytest.fixture
def group() -> Group:
    """Return an empty group."""
    return Group()


@pytest.fixture
def watch(group: Group) -> Iterator[LeaderWatch]:
    """Return a watch with a short interval, not started."""
    made = LeaderWatch(group, look=0.02)
    yield made
    made.close()


def of(url: str, *others: str) -> list[HostMember]:
    """Return a leader at a URL, and other hosts."""
    return [
        HostMember("a-1", "a", url, leads=True),
        *(HostMember(f"{each}-1", each, "http://127.0.0.1:1", leads=False) for each in others),
    ]


def test_a_dead_leader_is_removed_at_once(group: Group, watch: LeaderWatch, server: Server) -> None:
    """Its connection ends, and a new one is refused."""
    group.members = of(server.url, "own", "z")
    watch.start()
    connection, _ = server.socket.accept()
    server.die()
    connection.close()
    assert eventually(lambda: group.taken_out == ["a-1"], TIMEOUT)


def test_a_leader_that_closes_idle_connections_is_kept(group: Group, watch: LeaderWatch, server: Server) -> None:
    """Servers do that after a while; the watch reconnects."""
    group.members = of(server.url, "own")
    watch.start()
    for _ in range(3):
        server.socket.accept()[0].close()
    assert group.taken_out == []


def test_the_first_of_the_other_hosts_removes_a_dead_leader(group: Group, watch: LeaderWatch, server: Server) -> None:
    """So only one host acts; the others watch until the group has changed."""
    group.members = of(server.url, "b", "own")
    watch.start()
    connection, _ = server.socket.accept()
    server.die()
    connection.close()
    new = Server()
    try:
        group.members = of(new.url, "own")
        watch.look_again()
        connection, _ = new.socket.accept()
        assert group.taken_out == []  # not while the new one is reachable: this host is the one to remove it
        connection.close()
    finally:
        new.die()


def test_a_leader_that_was_never_reachable_is_logged_and_kept(
    group: Group, watch: LeaderWatch, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """It advertises a wrong address, but leads."""
    server.die()
    group.members = of(server.url, "own")
    watch.start()
    assert eventually(lambda: bool(caplog.messages), TIMEOUT)
    watch.close()
    assert group.taken_out == []
    assert len(caplog.messages) == 1
    for part in (server.url, "rest.advertised.host.name", "Connection refused"):
        assert part in caplog.messages[0]


def test_the_leader_checks_once_that_the_other_hosts_are_reachable(
    group: Group, watch: LeaderWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A host with a wrong address is reported before it leads."""
    leader, other = of("http://127.0.0.1:1", "z")
    group.members = [HostMember("own-1", "own", leader.url, leads=True), other]
    watch.start()
    assert eventually(lambda: bool(caplog.messages), TIMEOUT)
    watch.look_again()
    watch.close()
    assert len(caplog.messages) == 1
    assert group.taken_out == []


def test_close_takes_effect_at_any_moment(group: Group, watch: LeaderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even between two checks; otherwise the watch would continue, or block forever on a leading host."""
    group.members = [HostMember("own-1", "own", "http://127.0.0.1:1", leads=True)]
    clear = watch._again.clear

    def end_first() -> None:
        watch.close()
        clear()

    monkeypatch.setattr(watch._again, "clear", end_first)
    watch.start()
    assert eventually(lambda: not watch._thread.is_alive(), TIMEOUT)
