"""The host's end of the link to its tasks, over real connections."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import resource
import socket
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any

import pytest

from hearth.foundation.certificate import make_identity
from hearth.herder import link_listener
from hearth.herder.link_listener import LinkFailed
from hearth.herder.task_link import TaskEvent, TaskLinkServer
from hearth.kafka.token import NoToken
from hearth.kafka.token_source import SOURCE
from hearth.link import admission, heartbeat
from hearth.link.encryption import EncryptedSocket, client_context
from hearth.link.link_call import ForgetTopics, Pause, Replace, Stop
from hearth.runtime.plan import SourcePlan
from hearth.storage.memory import MemoryOffsetStore
from hearth_api import ConnectError
from hearth_stage.call import Call
from hearth_stage.frame import read_frame, write_frame
from hearth_stage.token_call import GivenToken
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually
from tests.unit.link.link_world import Guest, Host, Wire
from tests.unit.runtime.sample import task_plan


def test_status_reaches_the_host(host: Host, guests: list[Guest]) -> None:
    """A state comes with the task it belongs to, the generation of its run, and a trace if it has one."""
    guest = guests[0].join(host.expect("c", 0, 7))
    guest.link.status("RUNNING")
    guest.link.status("FAILED", "the trace")
    assert host.next_event() == TaskEvent("c", 0, 7, "status", "RUNNING", None)
    assert host.next_event() == TaskEvent("c", 0, 7, "status", "FAILED", "the trace")


def test_topics_reach_the_host(host: Host, guests: list[Guest]) -> None:
    """With the run that uses them."""
    guest = guests[0].join(host.expect("c", 0, 7))
    guest.link.add_topics(["t", "u"])
    assert host.next_event() == TaskEvent("c", 0, 7, "topics", topics=("t", "u"))


def test_a_task_gets_tokens_only_for_its_own_clients(host: Host, guests: list[Guest]) -> None:
    """Its plan lists them; a provider that hangs blocks nothing else of the task."""
    plan = replace(task_plan("source"), source=SourcePlan(producer={SOURCE: "its own"}))
    guest = guests[0].join(host.server.expect(plan, 1, False))
    token = GivenToken("secret", 5, "ann", {"scope": "all"})
    asked: list[str] = []

    def give(source: str) -> GivenToken:
        asked.append(source)
        return token

    host.give = give
    assert guest.link.token("its own") == token
    with pytest.raises(NoToken, match="no client of that task uses such tokens"):
        guest.link.token("another's")
    assert asked == ["its own"]
    hangs = threading.Event()

    def hang(source: str) -> GivenToken:
        hangs.wait(TIMEOUT)
        raise NoToken("the vault is sealed", hint="unseal it")

    host.give = hang
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(guest.link.token, "its own")
        guest.link.status("RUNNING")
        assert host.next_event().state == "RUNNING"
        assert not waiting.done()
        hangs.set()
        with pytest.raises(NoToken, match=r"^the vault is sealed \(unseal it\)$"):
            waiting.result(TIMEOUT)


def test_commands_reach_the_task_they_are_for(host: Host, guests: list[Guest]) -> None:
    """Pause, resume and stop go only to the task they are for."""
    first, second = guests[0].join(host.expect("c", 0, 1)), guests[1]
    second.join(host.expect("c", 1, 1), task=1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 1, "stop")
    assert first.commands.get(timeout=TIMEOUT) == Pause()
    assert second.commands.get(timeout=TIMEOUT) == Stop()
    assert first.commands.empty()


def test_forget_topics_reaches_all_tasks_of_one_connector(host: Host, guests: list[Guest]) -> None:
    """A task that connects later has reported none."""
    first, second = guests[0].join(host.expect("c", 0, 1)), guests[1]
    second.join(host.expect("d", 0, 1), "d")
    host.expect("c", 1, 1)
    host.server.forget_topics("c")
    host.server.command("d", 0, "pause")
    assert first.commands.get(timeout=TIMEOUT) == ForgetTopics()
    assert second.commands.get(timeout=TIMEOUT) == Pause()


def test_a_command_waits_until_the_task_connects(host: Host, guests: list[Guest]) -> None:
    """The last command is the first message that the task receives."""
    address = host.expect("c", 0, 1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 0, "stop")
    assert guests[0].join(address).commands.get(timeout=TIMEOUT) == Stop()
    assert guests[0].commands.empty()


def test_a_command_for_an_unknown_task_is_ignored(host: Host) -> None:
    """An ended task needs no command."""
    host.server.command("nobody", 0, "stop")
    host.server.forget("nobody", 0)


@pytest.mark.parametrize(
    "change",
    [
        {"token": "0" * 32},
        {"token": "Schlüssel"},
        {"token": ""},
    ],
)
def test_a_task_without_a_valid_token_is_rejected(host: Host, guests: list[Guest], change: Any) -> None:
    """Only the token of the generation is accepted; a rejection causes no event."""
    address = replace(host.expect("c", 0, 1), **change)
    with pytest.raises(ConnectError, match="does not expect that task"):
        guests[0].join(address)
    assert guests[0].lost.wait(TIMEOUT)
    assert host.events.empty()


def test_a_token_is_valid_only_for_its_own_task(host: Host, guests: list[Guest]) -> None:
    """It is bound to the registration it was created for."""
    address = host.expect("c", 0, 1)
    host.expect("d", 0, 1)
    with pytest.raises(ConnectError):
        guests[0].join(address, "d")
    with pytest.raises(ConnectError):
        guests[1].join(address, "c", 4)


def test_a_new_generation_disconnects_the_previous_one(host: Host, guests: list[Guest]) -> None:
    """The older run loses its link at once, is not admitted again, and can no longer write offsets."""
    old = host.expect("c", 0, 1)
    guests[0].join(old)
    new = host.expect("c", 0, 2)
    assert guests[0].lost.wait(TIMEOUT)
    with pytest.raises(ConnectError):
        guests[1].join(old)
    with pytest.raises(ConnectError):
        guests[0].link.write_offsets([({"file": "a"}, {"position": 1})], TIMEOUT)
    guests[2].join(new).link.status("RUNNING")
    events = [host.next_event(), host.next_event()]
    assert TaskEvent("c", 0, 2, "status", "RUNNING", None) in events
    assert TaskEvent("c", 0, 1, "lost") in events


def test_offsets_of_an_ended_generation_are_rejected(host: Host, guests: list[Guest]) -> None:
    """Nothing may be written between the end of a registration and the end of its link."""
    guest = guests[0].join(host.expect("c", 0, 1))
    registration = host.server._registrations.pop(admission.task_id("c", 0))
    with pytest.raises(ConnectError, match="generation 1 of c-0 is over"):
        guest.link.write_offsets([({"file": "a"}, {"position": 1})], TIMEOUT)
    assert registration.channel is not None
    assert host.offsets.get("c", [{"file": "a"}]) == [None]


def test_pending_offset_writes_complete_before_a_successor_is_admitted(
    host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writes of an older run must never follow those of a newer one (invariant 2)."""
    guest = guests[0].join(host.expect("c", 0, 1))
    order: list[str] = []
    entered = threading.Event()

    def put(*_: Any) -> None:
        entered.set()
        time.sleep(0.2)  # a slow disk
        order.append("stored")

    monkeypatch.setattr(host.offsets, "put", put)
    with contextlib.suppress(ConnectError):
        guest.link.write_offsets([({"file": "a"}, {"position": 1})], 0)
    assert entered.wait(TIMEOUT)
    host.expect("c", 0, 2)
    order.append("expected")
    assert order == ["stored", "expected"]


def test_a_task_that_connects_twice_keeps_the_new_link(host: Host, guests: list[Guest]) -> None:
    """A run that Spark moved to another executor takes over; its old link is closed and not reported as lost."""
    address = host.expect("c", 0, 1)
    guests[0].join(address)
    guests[1].join(address).link.status("RUNNING")
    assert guests[0].lost.wait(TIMEOUT)
    assert host.next_event().kind == "status"
    guests[1].link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")
    assert host.events.empty()


def test_a_run_restarted_by_spark_gets_the_same_plan_and_the_current_state(host: Host, guests: list[Guest]) -> None:
    """Spark has the data of the launch; the plan is unchanged, but a resumed task must run."""
    address = host.expect("c", 0, 1, is_paused=True)
    first = guests[0].join(address).welcome
    assert first.is_paused
    host.server.command("c", 0, "resume")
    again = guests[1].join(address).welcome
    assert (again.plan, again.is_paused) == (first.plan, False)
    host.server.command("c", 0, "pause")
    host.server.command("c", 0, "replace")
    assert guests[2].join(address).welcome.is_paused
    assert guests[2].commands.get(timeout=TIMEOUT) == Replace()


def test_registrations_print_no_secrets(host: Host) -> None:
    """Neither the token nor the plan's settings."""
    plan = replace(task_plan("source"), task_config={"password": "sesame"})
    address = host.server.expect(plan, 1, False)
    (registration,) = host.server._registrations.values()
    for text in (repr(registration), repr(address)):
        assert address.token not in text
        assert "sesame" not in text


def test_a_broken_link_is_reported_as_lost(host: Host, guests: list[Guest]) -> None:
    """If it breaks without a final status."""
    guest = guests[0].join(host.expect("c", 0, 1))
    guest.link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")


def test_a_forgotten_task_is_disconnected(host: Host, guests: list[Guest]) -> None:
    """Dropping a registration closes its link and admits no other."""
    address = host.expect("c", 0, 1)
    guests[0].join(address)
    host.server.forget("c", 0)
    assert guests[0].lost.wait(TIMEOUT)
    with pytest.raises(ConnectError):
        guests[1].join(address)


def stranger(host: Host) -> socket.socket:
    """Connect without authentication."""
    connection = socket.create_connection(host.server.address, timeout=TIMEOUT)
    connection.settimeout(TIMEOUT)
    return connection


def encrypted(host: Host) -> socket.socket:
    """Connect with encryption but without authentication."""
    connection = EncryptedSocket(stranger(host), client_context(host.server._identity.certificate), is_server=False)
    connection.greet()
    return connection


def is_put_out(connection: socket.socket) -> bool:
    """Wait until the host closes a connection; ignore its TLS messages."""
    try:
        while socket.socket.recv(connection, 100):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize(
    "hello",
    [
        {"op": "status", "args": {"state": "RUNNING"}},
        {"op": "hello", "args": {}},
        {"op": "hello", "args": {"task": admission.task_id("c", 0), "token": "x"}},
        {"op": "hello", "args": {"task": ["c"], "token": None}},
        {"op": "hello", "args": [1, 2]},
        {"op": 7, "args": {}},
        {"op": "hello", "args": {"task": "c" * 5000}},
    ],
    ids=lambda hello: json.dumps(hello)[:60],
)
def test_an_invalid_first_message_is_rejected(host: Host, hello: dict[str, Any]) -> None:
    """The connection is closed, without effect on others."""
    host.expect("c", 0, 1)
    with encrypted(host) as connection:
        write_frame(connection, {"id": 1, **hello})
        with contextlib.suppress(OSError):
            answer = read_frame(connection)
            assert answer is None or "error" in answer.header
            assert is_put_out(connection)
    assert host.events.empty()


def test_a_connection_with_another_protocol_is_closed(host: Host) -> None:
    """Port scanners and browsers do no harm."""
    with stranger(host) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert is_put_out(connection)


def test_an_unauthenticated_connection_cannot_send_large_frames(host: Host) -> None:
    """The limit is the size of an introduction."""
    with encrypted(host) as connection:
        connection.sendall((1 << 30).to_bytes(4, "little") + (10).to_bytes(4, "little"))
        assert is_put_out(connection)


def test_an_idle_unauthenticated_connection_is_closed(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a timeout."""
    monkeypatch.setattr(admission, "ADMISSION_SECONDS", 0.1)
    with stranger(host) as connection:
        assert is_put_out(connection)


@dataclass(frozen=True)
class Dance(Call[None], op="dance"):
    """A request that no host knows."""


def test_an_unknown_request_of_a_task_is_rejected(host: Host, guests: list[Guest]) -> None:
    """With an error; the link stays open."""
    guest = guests[0].join(host.expect("c", 0, 1))
    with pytest.raises(ConnectError, match="no operation 'dance'"):
        guest.link._call(Dance())
    guest.link.status("RUNNING")


def test_an_unreachable_run_counts_as_ended_after_the_fencing_time(
    short: float, host: Host, guests: list[Guest], wire: Wire
) -> None:
    """Its successor must not run at the same time, and nothing else can confirm its end."""
    guests[0].join(replace(host.expect("c", 0, 1), port=wire.port))
    assert not host.server.await_end("c", 0, 0.1)
    wire.cut()
    assert host.next_event().kind == "lost"
    noticed = time.monotonic()
    assert host.server.await_end("c", 0, TIMEOUT)
    assert time.monotonic() - noticed >= 0.2
    assert guests[0].lost.is_set()


def test_a_run_that_closed_its_link_has_ended(host: Host, guests: list[Guest]) -> None:
    """A task closes its link last, and the kernel does so for a dead process."""
    guest = guests[0].join(host.expect("c", 0, 1))
    assert host.server.is_linked("c", 0)
    guest.link.close()
    began = time.monotonic()
    assert host.server.await_end("c", 0, TIMEOUT)
    assert time.monotonic() - began < heartbeat.FENCED_SECONDS
    assert not host.server.is_linked("c", 0)
    assert host.server.await_end("nobody", 0, TIMEOUT)


def test_the_advertised_address_may_differ_from_the_bound_one() -> None:
    """As with address translation; the port may be fixed."""
    port = reserve_port()
    server = TaskLinkServer(lambda event: None, MemoryOffsetStore(), make_identity(), "host.example", "0.0.0.0", port)
    assert server.start() == ("host.example", port)
    address = server.expect(task_plan("source"), 1, False)
    assert (address.host, address.port) == ("host.example", port)
    guest = Guest().join(replace(address, host="127.0.0.1"))
    guest.link.status("RUNNING")
    with pytest.raises(LinkFailed, match=f"port {port}") as failure:
        TaskLinkServer(lambda event: None, MemoryOffsetStore(), make_identity(), "127.0.0.1", port=port).start()
    assert "task.link.port" in str(failure.value.hint)
    server.close()


def test_unauthenticated_connections_are_limited_but_tasks_connect(
    host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The oldest idle connection is closed first."""
    monkeypatch.setattr(link_listener, "MOST_STRANGERS", 5)
    address = host.expect("c", 0, 1)
    crowd = [stranger(host) for _ in range(12)]
    guests[0].join(address).link.status("RUNNING")
    assert all(is_put_out(each) for each in crowd[:7])
    assert len(host.server.listener._strangers) <= 5
    assert "are not authenticated" in caplog.text
    for each in crowd:
        each.close()


class RecordingHandler(logging.Handler):
    """Records log messages."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Record a message."""
        self.texts.append(record.getMessage())


def run_out_of_descriptors() -> tuple[list[str], str | None]:
    """Query a host whose process is out of descriptors; return its log, and what a task reports to it later."""
    link_listener._PAUSE_SECONDS = 0.05
    handler = RecordingHandler()
    logging.getLogger(link_listener.__name__).addHandler(handler)
    host, guest = Host(), Guest()
    address = host.expect("c", 0, 1)
    taken = []
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.socket() as waiting:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/proc/self/fd"))) + 10, before[1]))
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        waiting.connect(("127.0.0.1", address.port))
        assert eventually(lambda: bool(handler.texts), TIMEOUT)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in taken:
            os.close(each)
    guest.join(address).link.status("RUNNING")
    state = host.next_event().state
    guest.close()
    host.server.close()
    return handler.texts, state


def test_the_host_recovers_from_a_lack_of_descriptors() -> None:
    """It logs the problem, waits and continues. Runs in its own process, because other tests would run out as well."""
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        texts, state = alone.submit(run_out_of_descriptors).result(2 * TIMEOUT)
    assert texts[0].startswith("cannot accept task links at the moment: [Errno 24] Too many open files")
    assert state == "RUNNING"
