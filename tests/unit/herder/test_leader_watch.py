"""What a host does about the one that leads: only who was there and is no more is taken out of the group."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

from hearth.herder.leader_watch import LeaderWatch
from hearth.kafka.host_group import HostMember
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually


class Group:
    """A group whose members a test chooses; `own` is this host."""

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
        """Take note, and let the next one lead."""
        self.taken_out.append(host.member)
        self.members = [each for each in self.members if each.member != host.member]


class Server:
    """The port of a host's REST server; whether it is open is for a test to say."""

    def __init__(self) -> None:
        self.port = reserve_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.open()

    def open(self) -> None:
        """Listen."""
        self.socket = socket.create_server(("127.0.0.1", self.port))
        self.socket.settimeout(TIMEOUT)

    def die(self) -> None:
        """Listen no more, as a process that has ended."""
        self.socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    """Open one."""
    made = Server()
    yield made
    made.die()


@pytest.fixture
def group() -> Group:
    """Make an empty group."""
    return Group()


@pytest.fixture
def watch(group: Group) -> Iterator[LeaderWatch]:
    """Make a watch that looks often, and begins when a test says so."""
    made = LeaderWatch(group, look=0.02)
    yield made
    made.close()


def of(url: str, *others: str) -> list[HostMember]:
    """Return a leader at an address, and other hosts."""
    return [
        HostMember("a-1", "a", url, leads=True),
        *(HostMember(f"{each}-1", each, "http://127.0.0.1:1", leads=False) for each in others),
    ]


def test_a_leader_that_has_died_is_taken_out_at_once(group: Group, watch: LeaderWatch, server: Server) -> None:
    """Its connection ends, and nobody takes another."""
    group.members = of(server.url, "own", "z")
    watch.start()
    connection, _ = server.socket.accept()
    server.die()
    connection.close()
    assert eventually(lambda: group.taken_out == ["a-1"], TIMEOUT)


def test_a_leader_that_ends_silent_connections_is_not(group: Group, watch: LeaderWatch, server: Server) -> None:
    """Servers do that after a while; the next one is taken."""
    group.members = of(server.url, "own")
    watch.start()
    for _ in range(3):
        server.socket.accept()[0].close()
    assert group.taken_out == []


def test_another_host_has_it_taken_out_where_that_comes_first(
    group: Group, watch: LeaderWatch, server: Server
) -> None:
    """So one does what all know; the others look until the group has changed."""
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
        assert group.taken_out == []  # as long as the new one is there: it is for this host to take that out
        connection.close()
    finally:
        new.die()


def test_a_leader_that_nobody_ever_reached_is_named_and_left_alone(
    group: Group, watch: LeaderWatch, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    """It advertises a wrong address, and leads all the same."""
    server.die()
    group.members = of(server.url, "own")
    watch.start()
    assert eventually(lambda: bool(caplog.messages), TIMEOUT)
    watch.close()
    assert group.taken_out == []
    assert len(caplog.messages) == 1
    for part in (server.url, "rest.advertised.host.name", "Connection refused"):
        assert part in caplog.messages[0]


def test_who_leads_looks_once_whether_the_others_could_be_reached(
    group: Group, watch: LeaderWatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One that could not answer what is passed on to it is to be known before it leads."""
    leader, other = of("http://127.0.0.1:1", "z")
    group.members = [HostMember("own-1", "own", leader.url, leads=True), other]
    watch.start()
    assert eventually(lambda: bool(caplog.messages), TIMEOUT)
    watch.look_again()
    watch.close()
    assert len(caplog.messages) == 1
    assert group.taken_out == []


def test_an_end_is_heard_at_any_moment(group: Group, watch: LeaderWatch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between two looks: else it would look on, and wait for ever where its own host leads."""
    group.members = [HostMember("own-1", "own", "http://127.0.0.1:1", leads=True)]
    clear = watch._again.clear

    def end_first() -> None:
        watch.close()
        clear()

    monkeypatch.setattr(watch._again, "clear", end_first)
    watch.start()
    assert eventually(lambda: not watch._thread.is_alive(), TIMEOUT)
