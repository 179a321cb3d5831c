"""The group of a cluster's hosts on a real broker: one holds the partition, and is replaced when it leaves."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeout

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException

from hearth.broker import KafkaBroker
from hearth.kafka import host_group
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.host_group import GroupTaken, HostGroup
from hearth_api import ConfigError, ConnectError
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow
TOPIC = "host-group-configs"
SESSION_MS = 6000


class Hosts:
    """Hosts that a test lets join groups; their events are kept by their number."""

    def __init__(self, broker: KafkaBroker) -> None:
        self._settings = {"bootstrap.servers": broker.bootstrap_servers}
        TopicAdmin(self._settings).create(TOPIC, 1, 1)
        self.holding: dict[int, bool] = {}
        self.losses: list[int] = []
        self.refusals: list[ConnectError] = []
        self._groups: list[HostGroup] = []

    def new(self, group: str, number: int, session_ms: int = SESSION_MS) -> HostGroup:
        """Return a host that has not joined."""

        def note(holds: bool) -> None:
            if self.holding.get(number, False) and not holds:
                self.losses.append(number)
            self.holding[number] = holds

        timeouts = {"session.timeout.ms": session_ms, "heartbeat.interval.ms": 300}
        url = f"http://127.0.0.1:{number}"
        made = HostGroup({**self._settings, **timeouts}, self._settings, group, TOPIC, url, note)
        self._groups.append(made)
        return made

    def join(self, group: str, number: int) -> HostGroup:
        """Return a host that has joined."""
        made = self.new(group, number)
        made.join(self.refusals.append)
        return made

    def close(self) -> None:
        """Let all hosts leave."""
        for group in self._groups:
            group.leave()


@pytest.fixture
def hosts(broker: KafkaBroker) -> Iterator[Hosts]:
    """Provide hosts."""
    made = Hosts(broker)
    yield made
    made.close()


def within(seconds: float, check: Callable[[], bool]) -> bool:
    """Return whether a check succeeds in less time than a session takes to expire."""
    assert seconds < SESSION_MS / 1000
    return eventually(check, seconds)


def test_one_host_leads_and_is_replaced_when_it_leaves(hosts: Hosts) -> None:
    """Long before its session expires, whether it leaves or is removed; a live member that was removed joins again."""
    first = hosts.join("hosts", 1)
    assert hosts.holding == {1: True}
    second, third = hosts.join("hosts", 2), hosts.join("hosts", 3)
    assert hosts.holding == {1: True, 2: False, 3: False}
    known = [(each.url, each.leads, third.is_own(each)) for each in second.hosts()]
    assert sorted(known) == [
        ("http://127.0.0.1:1", True, False), ("http://127.0.0.1:2", False, False), ("http://127.0.0.1:3", False, True)
    ]  # fmt: skip
    second.take_out(next(each for each in second.hosts() if each.leads))
    assert within(4, lambda: hosts.losses == [1])
    assert within(5, lambda: len(third.hosts()) == 3 and sum(hosts.holding.values()) == 1)
    groups = {1: first, 2: second, 3: third}
    leader = next(number for number, holds in hosts.holding.items() if holds)
    groups.pop(leader).leave()
    assert within(4, lambda: sum(hosts.holding[each] for each in groups) == 1)
    assert len(next(iter(groups.values())).hosts()) == 2
    assert hosts.refusals == []


def test_a_group_of_java_workers_is_refused_with_the_reason(broker: KafkaBroker, hosts: Hosts) -> None:
    """They speak another protocol, and would share out work that is not theirs any more."""
    with java_member(broker, "javas"), pytest.raises(GroupTaken, match=r"group\.id='javas' has members") as caught:
        hosts.join("javas", 1)
    assert "stop all its workers first" in str(caught.value.hint)


def test_a_group_of_other_consumers_is_refused(broker: KafkaBroker, hosts: Hosts) -> None:
    """A sink's, for example: it would have taken the partition."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "taken", "client.id": "somebody"}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([TOPIC])
        assert eventually(lambda: consumer.poll(0.1) is None and bool(consumer.assignment()), TIMEOUT)
        with pytest.raises(GroupTaken, match="a member that is no Hearth host: 'somebody'"):
            hosts.join("taken", 1)
    finally:
        consumer.close()


def test_hosts_of_another_version_are_refused(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may not be able to read each other's records; the second one fails before it takes part."""
    hosts.join("versions", 1)
    monkeypatch.setattr(host_group, "PROTOCOL", 2)
    with pytest.raises(GroupTaken, match=r"group\.id='versions' has hosts of another version: http://127") as caught:
        hosts.join("versions", 2)
    assert "speaks protocol 1, this one 2" in str(caught.value)
    assert "stop the hosts of the other version first" in str(caught.value.hint)
    assert hosts.holding == {1: True}


def test_a_session_that_brokers_do_not_allow_is_refused(hosts: Hosts) -> None:
    """With the key that says so."""
    with pytest.raises(ConfigError, match=r"group\.id='short' does not accept a member with this session"):
        hosts.new("short", 1, session_ms=1000).join(hosts.refusals.append)


class Away:
    """Unreachable brokers, whose group must not be queried: librdkafka sometimes crashes the process then."""

    def __init__(self) -> None:
        self.questions = 0

    def describe_cluster(self, request_timeout: float) -> Future[None]:
        """Return no response."""
        answer: Future[None] = Future()
        answer.set_exception(KafkaException(KafkaError(KafkaError._TRANSPORT)))
        return answer

    def poll(self, timeout: float) -> int:
        """Serve no event."""
        return 0

    def describe_consumer_groups(self, *_: object, **__: object) -> None:
        """Count a query."""
        self.questions += 1


def test_unreachable_brokers_are_not_queried_for_a_group(hosts: Hosts) -> None:
    """The leader is unknown then."""
    group, away = hosts.new("away", 1), Away()
    group._admin = away
    with pytest.raises(KafkaException):
        group.hosts()
    assert away.questions == 0


def test_membership_is_ensured_once_brokers_answer(hosts: Hosts) -> None:
    """Health checks wait for that, as Kafka Connect's do; before it joined and after it left, nothing is awaited."""
    group = hosts.new("ensured", 1)
    group.ensure_membership()
    group.join(hosts.refusals.append)
    admin, group._admin = group._admin, Away()
    with ThreadPoolExecutor() as pool:
        turn = pool.submit(group.ensure_membership)
        with pytest.raises(FutureTimeout):
            turn.result(1)
        group._admin = admin
        turn.result(TIMEOUT)
        group._admin = Away()
        turn = pool.submit(group.ensure_membership)
        group.leave()
        turn.result(TIMEOUT)


def java_member(broker: KafkaBroker, group: str) -> socket.socket:
    """Return a connection that has joined a group as Java workers do (JoinGroup, version 1)."""

    def text(value: str) -> bytes:
        return struct.pack(">h", len(value)) + value.encode()

    metadata = bytes.fromhex("0001000e687474703a2f2f683a383038332f0000000000000007ffffffff")
    protocols = struct.pack(">i", 1) + text("compatible") + struct.pack(">i", len(metadata)) + metadata
    body = text(group) + struct.pack(">ii", SESSION_MS, SESSION_MS) + text("") + text("connect") + protocols
    request = struct.pack(">hhi", 11, 2, 1) + text("java") + body
    connection = socket.create_connection(("127.0.0.1", broker.port), timeout=TIMEOUT)
    for _ in range(50):
        connection.sendall(struct.pack(">i", len(request)) + request)
        (length,) = struct.unpack(">i", _exactly(connection, 4))
        answer = _exactly(connection, length)
        if answer[8:10] == b"\0\0":  # after the correlation id and the throttle time: no error
            return connection
    raise AssertionError(answer.hex())


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += connection.recv(size - len(data))
    return data
