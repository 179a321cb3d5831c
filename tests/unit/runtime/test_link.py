"""The link between tasks and their host, over real connections."""

from __future__ import annotations

import contextlib
import json
import queue
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hearth.runtime import link as module
from hearth.runtime.link import TaskEvent, TaskLink, TaskLinkServer
from hearth.runtime.spec import LinkAddress
from hearth.storage.memory import MemoryOffsetStore
from hearth_api import ConnectError
from hearth_stage.channel import ChannelClosed
from hearth_stage.frame import read_frame, write_frame

WAIT = 5


class Host:
    """A host that notes what it hears."""

    def __init__(self) -> None:
        self.events: queue.Queue[TaskEvent] = queue.Queue()
        self.offsets = MemoryOffsetStore()
        self.server = TaskLinkServer(self.events.put, self.offsets)
        self.server.start()

    def next_event(self) -> TaskEvent:
        """Return the next event, waiting for it."""
        return self.events.get(timeout=WAIT)


class Guest:
    """A task that notes what it is told."""

    def __init__(self) -> None:
        self.commands: queue.Queue[str] = queue.Queue()
        self.lost = threading.Event()
        self.link = TaskLink(self.commands.put, self.lost.set)

    def join(self, address: LinkAddress, connector: str = "c", task: int = 0) -> Guest:
        """Connect to a host."""
        self.link.connect(address, connector, task)
        return self


@pytest.fixture
def host() -> Iterator[Host]:
    """Provide a host that listens."""
    opened = Host()
    yield opened
    opened.server.close()


@pytest.fixture
def guests() -> Iterator[list[Guest]]:
    """Provide some tasks that are not linked yet."""
    opened = [Guest() for _ in range(3)]
    yield opened
    for guest in opened:
        guest.link.close()


def test_status_reaches_the_host(host: Host, guests: list[Guest]) -> None:
    """A state comes with the task it belongs to, the generation of its run, and a trace if it has one."""
    guest = guests[0].join(host.server.expect("c", 0, 7))
    guest.link.status("RUNNING")
    guest.link.status("FAILED", "the trace")
    assert host.next_event() == TaskEvent("c", 0, 7, "status", "RUNNING", None)
    assert host.next_event() == TaskEvent("c", 0, 7, "status", "FAILED", "the trace")


def test_commands_reach_the_task_they_are_for(host: Host, guests: list[Guest]) -> None:
    """Pause, resume and stop go to one task and not to its neighbour."""
    first, second = guests[0].join(host.server.expect("c", 0, 1)), guests[1]
    second.join(host.server.expect("c", 1, 1), task=1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 1, "stop")
    assert first.commands.get(timeout=WAIT) == "pause"
    assert second.commands.get(timeout=WAIT) == "stop"
    assert first.commands.empty()


def test_command_waits_for_a_task_that_is_not_there_yet(host: Host, guests: list[Guest]) -> None:
    """A task that links late hears the last command first of all."""
    address = host.server.expect("c", 0, 1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 0, "stop")
    assert guests[0].join(address).commands.get(timeout=WAIT) == "stop"
    assert guests[0].commands.empty()


def test_command_for_an_unknown_task_does_nothing(host: Host) -> None:
    """A task that is gone needs no telling."""
    host.server.command("nobody", 0, "stop")
    host.server.forget("nobody", 0)


def test_offsets_are_read_and_written_through_the_link(host: Host, guests: list[Guest]) -> None:
    """What a task wrote is in the host's store when the call returns, and comes back in the order asked."""
    guest = guests[0].join(host.server.expect("c", 0, 1))
    guest.link.write_offsets([({"file": "a"}, {"position": 3})], WAIT)
    assert host.offsets.get("c", [{"file": "a"}]) == [{"position": 3}]
    assert guest.link.read_offsets([{"file": "b"}, {"file": "a"}]) == [None, {"position": 3}]


def test_failing_store_is_an_error_of_the_write(host: Host, guests: list[Guest], monkeypatch: Any) -> None:
    """A task must know that its offsets are not stored."""

    def fail(*_: Any) -> None:
        raise OSError("disk full")

    guest = guests[0].join(host.server.expect("c", 0, 1))
    monkeypatch.setattr(host.offsets, "put", fail)
    with pytest.raises(ConnectError, match="disk full"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], WAIT)


@pytest.mark.parametrize(
    "change",
    [
        {"token": "0" * 32},
        {"token": "Schlüssel"},
        {"token": ""},
    ],
)
def test_task_without_the_right_token_is_not_admitted(host: Host, guests: list[Guest], change: Any) -> None:
    """The token of its generation is what admits a task; anything else is turned away without an event."""
    address = replace(host.server.expect("c", 0, 1), **change)
    with pytest.raises(ConnectError, match="does not expect that task"):
        guests[0].join(address)
    assert guests[0].lost.wait(WAIT)
    assert host.events.empty()


def test_task_of_another_name_is_not_admitted(host: Host, guests: list[Guest]) -> None:
    """A token opens the seat it was made for and no other."""
    address = host.server.expect("c", 0, 1)
    host.server.expect("d", 0, 1)
    with pytest.raises(ConnectError):
        guests[0].join(address, "d")
    with pytest.raises(ConnectError):
        guests[1].join(address, "c", 4)


def test_next_generation_puts_the_one_before_out(host: Host, guests: list[Guest]) -> None:
    """An older run loses its link at once, is not admitted again, and can store nothing any more."""
    old = host.server.expect("c", 0, 1)
    guests[0].join(old)
    new = host.server.expect("c", 0, 2)
    assert guests[0].lost.wait(WAIT)
    with pytest.raises(ConnectError):
        guests[1].join(old)
    with pytest.raises(ConnectError):
        guests[0].link.write_offsets([({"file": "a"}, {"position": 1})], WAIT)
    guests[2].join(new).link.status("RUNNING")
    events = [host.next_event(), host.next_event()]
    assert TaskEvent("c", 0, 2, "status", "RUNNING", None) in events
    assert TaskEvent("c", 0, 1, "lost") in events


def test_offsets_of_a_generation_that_is_over_are_refused(host: Host, guests: list[Guest]) -> None:
    """Between the end of a seat and the end of its link nothing may be stored."""
    guest = guests[0].join(host.server.expect("c", 0, 1))
    seat = host.server._seats.pop(("c", 0))
    with pytest.raises(ConnectError, match="generation 1 of c-0 is over"):
        guest.link.write_offsets([({"file": "a"}, {"position": 1})], WAIT)
    assert seat.channel is not None
    assert host.offsets.get("c", [{"file": "a"}]) == [None]


def test_task_that_links_twice_keeps_the_new_link(host: Host, guests: list[Guest]) -> None:
    """A run that Spark moved to another executor takes the seat over; its former self is dropped, not missed."""
    address = host.server.expect("c", 0, 1)
    guests[0].join(address)
    guests[1].join(address).link.status("RUNNING")
    assert guests[0].lost.wait(WAIT)
    assert host.next_event().kind == "status"
    guests[1].link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")
    assert host.events.empty()


def test_host_hears_that_a_task_is_lost(host: Host, guests: list[Guest]) -> None:
    """A link that breaks without a last word is an event of its own."""
    guest = guests[0].join(host.server.expect("c", 0, 1))
    guest.link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")


def test_task_hears_that_its_host_is_lost(host: Host, guests: list[Guest]) -> None:
    """A task whose host is gone must stop itself, so it is told."""
    guest = guests[0].join(host.server.expect("c", 0, 1))
    host.server.close()
    assert guest.lost.wait(WAIT)
    with pytest.raises(ChannelClosed):
        guest.link.status("RUNNING")


def test_forgotten_task_is_put_out(host: Host, guests: list[Guest]) -> None:
    """A host that gives up a seat ends its link and admits nobody to it."""
    address = host.server.expect("c", 0, 1)
    guests[0].join(address)
    host.server.forget("c", 0)
    assert guests[0].lost.wait(WAIT)
    with pytest.raises(ConnectError):
        guests[1].join(address)


def test_host_that_is_gone_is_an_error_of_connecting(host: Host, guests: list[Guest]) -> None:
    """A task that starts after its host ended does not run."""
    address = host.server.expect("c", 0, 1)
    host.server.close()
    with pytest.raises(OSError):  # noqa: PT011 -- which one is the system's to say
        guests[0].join(address)


def stranger(host: Host) -> socket.socket:
    """Connect without being a task."""
    connection = socket.create_connection(host.server.address, timeout=WAIT)
    connection.settimeout(WAIT)
    return connection


def is_put_out(connection: socket.socket) -> bool:
    """Wait until the host ends a connection without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize(
    "hello",
    [
        {"op": "status", "args": {"state": "RUNNING"}},
        {"op": "hello", "args": {}},
        {"op": "hello", "args": {"connector": "c", "task": "zero", "token": "x"}},
        {"op": "hello", "args": {"connector": ["c"], "task": None, "token": None}},
        {"op": "hello", "args": [1, 2]},
        {"op": 7, "args": {}},
        {"op": "hello", "args": {"connector": "c" * 5000}},
    ],
    ids=lambda hello: json.dumps(hello)[:60],
)
def test_stranger_is_turned_away(host: Host, hello: dict[str, Any]) -> None:
    """Whoever does not say the right word first is disconnected, and nobody else notices."""
    host.server.expect("c", 0, 1)
    with stranger(host) as connection:
        write_frame(connection, {"id": 1, **hello})
        with contextlib.suppress(ConnectionResetError):
            answer = read_frame(connection)
            assert answer is None or "error" in answer.header
            assert is_put_out(connection)
    assert host.events.empty()


def test_stranger_that_speaks_another_language_is_turned_away(host: Host) -> None:
    """A port scanner or a browser does no harm."""
    with stranger(host) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert is_put_out(connection)


def test_stranger_cannot_make_the_host_allocate(host: Host) -> None:
    """Before it is admitted nobody may send more than a greeting takes."""
    with stranger(host) as connection:
        connection.sendall((1 << 30).to_bytes(4, "little") + (10).to_bytes(4, "little"))
        assert is_put_out(connection)


def test_stranger_that_says_nothing_is_not_kept(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that do not introduce themselves in time are closed."""
    monkeypatch.setattr(module, "ADMISSION_SECONDS", 0.1)
    with stranger(host) as connection:
        assert is_put_out(connection)


def test_unknown_request_of_a_task_is_refused(host: Host, guests: list[Guest]) -> None:
    """A host says what it does not understand; the link stays."""
    guest = guests[0].join(host.server.expect("c", 0, 1))
    with pytest.raises(ConnectError, match="no operation 'dance'"):
        guest.link._call("dance", {})
    guest.link.status("RUNNING")
