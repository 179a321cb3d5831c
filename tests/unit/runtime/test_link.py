"""A task's end of the link to its host, over real connections."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from hearth.foundation.certificate import make_identity
from hearth.foundation.log_context import label_of_record
from hearth.foundation.log_level import levels
from hearth.link.encryption import EncryptedSocket, server_context
from hearth.link.heartbeat import say_alive
from hearth.link.link_call import Alive, Replace, Stop
from hearth.runtime.link import HostUnreachable
from hearth_api import ConnectError
from hearth_stage.channel import ChannelClosed
from hearth_stage.log_call import LogLine
from hearth_stage.plugin_call import Metric
from tests.timeouts import TIMEOUT, eventually
from tests.unit.link.link_world import Guest, Host, Wire
from tests.unit.runtime.sample import task_plan


def test_offsets_are_read_and_written_through_the_link(host: Host, guests: list[Guest]) -> None:
    """What a task wrote is in the host's store when the call returns, and comes back in the order asked."""
    guest = guests[0].join(host.expect("c", 0, 1))
    guest.link.write_offsets([({"file": "a"}, {"position": 3})], TIMEOUT)
    assert host.offsets.get("c", [{"file": "a"}]) == [{"position": 3}]
    assert guest.link.read_offsets([{"file": "b"}, {"file": "a"}]) == [None, {"position": 3}]


def test_failing_store_is_an_error_of_the_write(host: Host, guests: list[Guest], monkeypatch: Any) -> None:
    """A task must know that its offsets are not stored."""

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    guest = guests[0].join(host.expect("c", 0, 1))
    monkeypatch.setattr(host.offsets, "put", fail)
    with pytest.raises(ConnectError, match="disk full"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], TIMEOUT)


def test_task_is_notified_of_a_lost_host(host: Host, guests: list[Guest]) -> None:
    """It must stop itself."""
    guest = guests[0].join(host.expect("c", 0, 1))
    host.server.close()
    assert guest.lost.wait(TIMEOUT)
    with pytest.raises(ChannelClosed):
        guest.link.status("RUNNING")


def test_missing_host_is_a_connect_error(host: Host, guests: list[Guest]) -> None:
    """A task that starts after its host ended does not run."""
    address = host.expect("c", 0, 1)
    host.server.close()
    with pytest.raises(HostUnreachable, match=f"127.0.0.1:{address.port}: .*set spark.driver.host to"):
        guests[0].join(address)


def test_admitted_task_receives_its_plan(host: Host, guests: list[Guest]) -> None:
    """The whole plan, however long, and whether it starts paused; before, it knows its name and its host."""
    plan = replace(task_plan("sink"), task_config={"script": "x" * (8 << 20)})
    received = guests[0].join(host.server.expect(plan, 1, True)).link.welcome
    assert (received.plan, received.is_paused) == (plan, True)


def test_a_command_before_admission_arrives_first(host: Host, guests: list[Guest]) -> None:
    """It comes with the link, and later commands follow."""
    address = host.expect("c", 0, 1)
    host.server.command("c", 0, "stop")
    guest = guests[0].join(address)
    assert guest.commands.get_nowait() == Stop()
    host.server.command("c", 0, "replace")
    assert guest.commands.get(timeout=TIMEOUT) == Replace()


def test_task_log_lines_appear_in_the_host_log(
    host: Host, guests: list[Guest], caplog: pytest.LogCaptureFixture
) -> None:
    """Under the task's label, with the time of the event."""
    guest = guests[0].join(host.expect("c", 0, 1))
    guest.link.say(LogLine("DEBUG", "my.plugin", "what\nwas said", 12.5))
    guest.link.status("RUNNING")  # whose answer comes behind it
    (record,) = caplog.records
    assert (record.name, record.getMessage(), record.created) == ("my.plugin", "what\nwas said", 12.5)
    assert label_of_record(record) == "c|task-0"


def test_secrets_are_masked_in_the_log(host: Host, guests: list[Guest], caplog: pytest.LogCaptureFixture) -> None:
    """A failed task's trace may include values of a config provider."""
    address = host.server.expect(task_plan("source"), 1, False, lambda text: text.replace("hunter2", "${f:p:k}"))
    guest = guests[0].join(address)
    guest.link.say(LogLine("ERROR", "my.plugin", "no user with hunter2", 12.5))
    guest.link.status("RUNNING")
    assert caplog.messages == ["no user with ${f:p:k}"]


@pytest.mark.usefixtures("restored_levels")
def test_tasks_use_the_log_levels_of_the_host(
    host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """From admission on, and at once when they change."""
    taken: queue.Queue[dict[str, str]] = queue.Queue()
    monkeypatch.setattr(levels, "take", taken.put)
    levels.set("a", "DEBUG")
    guests[0].join(host.expect("c", 0, 1))
    levels.set("b", "OFF")
    received = [taken.get(timeout=TIMEOUT) for _ in range(2)]
    assert received == [{"a": "DEBUG"}, {"a": "DEBUG", "b": "OFF"}]


class Impostor:
    """Another process that listens at a host's address, and records what it receives."""

    def __init__(self) -> None:
        self.heard = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def _listen(self) -> None:
        connection, _ = self._listener.accept()
        context = server_context(make_identity())
        with EncryptedSocket(connection, context, is_server=True) as own, contextlib.suppress(OSError):
            buffer = bytearray(4096)
            while count := own.recv_into(buffer):
                self.heard += buffer[:count]

    def close(self) -> None:
        """Wait until the task has gone, and stop listening."""
        self._thread.join(TIMEOUT)
        self._listener.close()


def test_task_sends_its_token_only_to_its_host(host: Host, guests: list[Guest]) -> None:
    """A listener without the host's key receives nothing, and the task does not run."""
    impostor = Impostor()
    address = replace(host.expect("c", 0, 1), port=impostor.port)
    with pytest.raises(HostUnreachable, match="certificate"):
        guests[0].join(address)
    impostor.close()
    assert impostor.heard == b""


def test_nothing_that_crosses_the_network_can_be_read(host: Host, guests: list[Guest], wire: Wire) -> None:
    """Neither token nor state nor offset is on the wire in clear."""
    address = replace(host.expect("customers", 0, 1), port=wire.port)
    guest = guests[0].join(address, "customers")
    guest.link.status("FAILED", "password")
    guest.link.write_offsets([({"file": "secret.txt"}, {"position": 3})], TIMEOUT)
    assert len(wire.carried) > 500
    for word in (address.token, "customers", "hello", "status", "password", "secret.txt"):
        assert word.encode() not in wire.carried


class Counting:
    """A task that has counted."""

    def __init__(self) -> None:
        self.changes: dict[str, float] = {"polled": 5, "poll_seconds": 0.25}
        self.sent: dict[str, float] = {}

    def report(self) -> dict[str, float]:
        """Return the counts that were not sent."""
        return self.changes

    def reported(self, changes: Any) -> None:
        """Note what was sent."""
        self.sent, self.changes = dict(changes), {}


def test_counts_come_with_the_answer_to_a_heartbeat(host: Host, guests: list[Guest]) -> None:
    """They wake neither side in addition; nothing is said of a task that counted nothing."""
    guest = guests[0].join(host.expect("c", 0, 1))
    guest.link.reporter = counting = Counting()
    (channel,) = host.server._channels()
    assert eventually(lambda: say_alive(channel), TIMEOUT)  # it is skipped while the welcome is being sent
    event = host.next_event()
    assert (event.kind, event.generation, event.counts) == ("counts", 1, {"polled": 5, "poll_seconds": 0.25})
    assert eventually(lambda: counting.sent == event.counts, TIMEOUT)
    guest.link.status("RUNNING", None, {"polled": 9})
    event = host.next_event()
    assert (event.kind, event.state, event.counts) == ("status", "RUNNING", {"polled": 9})


def test_plugins_are_asked_only_while_somebody_watches(host: Host, guests: list[Guest]) -> None:
    """The heartbeat says so, and what they measure reaches the host."""
    guest = guests[0].join(host.expect("c", 0, 1))
    watched = threading.Event()
    guest.link.on_watched = watched.set
    guest.link.reporter = Counting()
    (channel,) = host.server._channels()
    assert eventually(lambda: say_alive(channel), TIMEOUT)
    assert host.next_event().kind == "counts"
    assert not watched.is_set()
    assert eventually(lambda: say_alive(channel, Alive(is_watched=True)), TIMEOUT)
    assert watched.wait(TIMEOUT)
    guest.link.tell_plugins([Metric("plugins", "n", value=3)])
    assert [each.value for each in host.next_event().plugins or ()] == [3]
