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
from hearth.herder import task_link
from hearth.herder.task_link import LinkFailed, TaskEvent, TaskLinkServer
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
    """They come with the run that touched them."""
    guest = guests[0].join(host.expect("c", 0, 7))
    guest.link.add_topics(["t", "u"])
    assert host.next_event() == TaskEvent("c", 0, 7, "topics", topics=("t", "u"))


def test_a_task_has_tokens_for_its_own_clients_alone(host: Host, guests: list[Guest]) -> None:
    """Which those are says its plan; a provider that hangs holds up nothing else of the task."""
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
    """Pause, resume and stop go to one task and not to its neighbour."""
    first, second = guests[0].join(host.expect("c", 0, 1)), guests[1]
    second.join(host.expect("c", 1, 1), task=1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 1, "stop")
    assert first.commands.get(timeout=TIMEOUT) == Pause()
    assert second.commands.get(timeout=TIMEOUT) == Stop()
    assert first.commands.empty()


def test_all_tasks_of_a_connector_and_no_others_hear_that_its_topics_are_forgotten(
    host: Host, guests: list[Guest]
) -> None:
    """One that links later has told none."""
    first, second = guests[0].join(host.expect("c", 0, 1)), guests[1]
    second.join(host.expect("d", 0, 1), "d")
    host.expect("c", 1, 1)
    host.server.forget_topics("c")
    host.server.command("d", 0, "pause")
    assert first.commands.get(timeout=TIMEOUT) == ForgetTopics()
    assert second.commands.get(timeout=TIMEOUT) == Pause()


def test_command_waits_for_a_task_that_is_not_there_yet(host: Host, guests: list[Guest]) -> None:
    """A task that links late hears the last command first of all."""
    address = host.expect("c", 0, 1)
    host.server.command("c", 0, "pause")
    host.server.command("c", 0, "stop")
    assert guests[0].join(address).commands.get(timeout=TIMEOUT) == Stop()
    assert guests[0].commands.empty()


def test_command_for_an_unknown_task_does_nothing(host: Host) -> None:
    """A task that is gone needs no telling."""
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
def test_task_without_the_right_token_is_not_admitted(host: Host, guests: list[Guest], change: Any) -> None:
    """The token of its generation is what admits a task; anything else is turned away without an event."""
    address = replace(host.expect("c", 0, 1), **change)
    with pytest.raises(ConnectError, match="does not expect that task"):
        guests[0].join(address)
    assert guests[0].lost.wait(TIMEOUT)
    assert host.events.empty()


def test_task_of_another_name_is_not_admitted(host: Host, guests: list[Guest]) -> None:
    """A token opens the registration it was made for and no other."""
    address = host.expect("c", 0, 1)
    host.expect("d", 0, 1)
    with pytest.raises(ConnectError):
        guests[0].join(address, "d")
    with pytest.raises(ConnectError):
        guests[1].join(address, "c", 4)


def test_next_generation_puts_the_one_before_out(host: Host, guests: list[Guest]) -> None:
    """An older run loses its link at once, is not admitted again, and can store nothing any more."""
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


def test_offsets_of_a_generation_that_is_over_are_refused(host: Host, guests: list[Guest]) -> None:
    """Between the end of a registration and the end of its link nothing may be stored."""
    guest = guests[0].join(host.expect("c", 0, 1))
    registration = host.server._registrations.pop(admission.task_id("c", 0))
    with pytest.raises(ConnectError, match="generation 1 of c-0 is over"):
        guest.link.write_offsets([({"file": "a"}, {"position": 1})], TIMEOUT)
    assert registration.channel is not None
    assert host.offsets.get("c", [{"file": "a"}]) == [None]


def test_offsets_that_are_being_stored_are_stored_before_a_successor_is_expected(
    host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older run stores must never come after what the newer one has (invariant 2)."""
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


def test_task_that_links_twice_keeps_the_new_link(host: Host, guests: list[Guest]) -> None:
    """A run that Spark moved to another executor takes the link over; its former self is dropped, not missed."""
    address = host.expect("c", 0, 1)
    guests[0].join(address)
    guests[1].join(address).link.status("RUNNING")
    assert guests[0].lost.wait(TIMEOUT)
    assert host.next_event().kind == "status"
    guests[1].link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")
    assert host.events.empty()


def test_run_that_spark_starts_again_is_told_the_same_plan_and_how_things_are_now(
    host: Host, guests: list[Guest]
) -> None:
    """What Spark carries is as old as the launch; the plan is the launch's, and a task that was resumed runs."""
    address = host.expect("c", 0, 1, is_paused=True)
    first = guests[0].join(address).told
    assert first.is_paused
    host.server.command("c", 0, "resume")
    again = guests[1].join(address).told
    assert (again.plan, again.is_paused) == (first.plan, False)
    host.server.command("c", 0, "pause")
    host.server.command("c", 0, "replace")
    assert guests[2].join(address).told.is_paused
    assert guests[2].commands.get(timeout=TIMEOUT) == Replace()


def test_what_the_host_keeps_of_a_run_shows_no_secret(host: Host) -> None:
    """Neither the token nor the plan's settings, wherever an object is printed."""
    plan = replace(task_plan("source"), task_config={"password": "sesame"})
    address = host.server.expect(plan, 1, False)
    (registration,) = host.server._registrations.values()
    for text in (repr(registration), repr(address)):
        assert address.token not in text
        assert "sesame" not in text


def test_host_hears_that_a_task_is_lost(host: Host, guests: list[Guest]) -> None:
    """A link that breaks without a last word is an event of its own."""
    guest = guests[0].join(host.expect("c", 0, 1))
    guest.link.close()
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")


def test_forgotten_task_is_put_out(host: Host, guests: list[Guest]) -> None:
    """A host that gives up a registration ends its link and admits nobody to it."""
    address = host.expect("c", 0, 1)
    guests[0].join(address)
    host.server.forget("c", 0)
    assert guests[0].lost.wait(TIMEOUT)
    with pytest.raises(ConnectError):
        guests[1].join(address)


def stranger(host: Host) -> socket.socket:
    """Connect without being a task."""
    connection = socket.create_connection(host.server.address, timeout=TIMEOUT)
    connection.settimeout(TIMEOUT)
    return connection


def encrypted(host: Host) -> socket.socket:
    """Connect without being a task, by somebody who speaks the language."""
    connection = EncryptedSocket(stranger(host), client_context(host.server._identity.certificate), is_server=False)
    connection.greet()
    return connection


def is_put_out(connection: socket.socket) -> bool:
    """Wait until the host ends a connection; what it says of the encryption before does not count."""
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
def test_stranger_is_turned_away(host: Host, hello: dict[str, Any]) -> None:
    """Whoever does not say the right word first is disconnected, and nobody else notices."""
    host.expect("c", 0, 1)
    with encrypted(host) as connection:
        write_frame(connection, {"id": 1, **hello})
        with contextlib.suppress(OSError):
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
    with encrypted(host) as connection:
        connection.sendall((1 << 30).to_bytes(4, "little") + (10).to_bytes(4, "little"))
        assert is_put_out(connection)


def test_stranger_that_says_nothing_is_not_kept(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections that do not introduce themselves in time are closed."""
    monkeypatch.setattr(admission, "ADMISSION_SECONDS", 0.1)
    with stranger(host) as connection:
        assert is_put_out(connection)


@dataclass(frozen=True)
class Dance(Call[None], op="dance"):
    """Asks for what no host does."""


def test_unknown_request_of_a_task_is_refused(host: Host, guests: list[Guest]) -> None:
    """A host says what it does not understand; the link stays."""
    guest = guests[0].join(host.expect("c", 0, 1))
    with pytest.raises(ConnectError, match="no operation 'dance'"):
        guest.link._call(Dance())
    guest.link.status("RUNNING")


def test_run_that_fell_silent_counts_as_ended_when_it_must_have_noticed(
    short: float, host: Host, guests: list[Guest], wire: Wire
) -> None:
    """Its successor must not run beside it, and nobody else can say that it is over."""
    guests[0].join(replace(host.expect("c", 0, 1), port=wire.port))
    assert not host.server.await_end("c", 0, 0.1)
    wire.cut()
    assert host.next_event().kind == "lost"
    noticed = time.monotonic()
    assert host.server.await_end("c", 0, TIMEOUT)
    assert time.monotonic() - noticed >= 0.2
    assert guests[0].lost.is_set()


def test_run_that_ended_its_link_has_ended(host: Host, guests: list[Guest]) -> None:
    """A task closes its link last of all, and so does the kernel for a process that died."""
    guest = guests[0].join(host.expect("c", 0, 1))
    assert host.server.is_linked("c", 0)
    guest.link.close()
    began = time.monotonic()
    assert host.server.await_end("c", 0, TIMEOUT)
    assert time.monotonic() - began < heartbeat.FENCED_SECONDS
    assert not host.server.is_linked("c", 0)
    assert host.server.await_end("nobody", 0, TIMEOUT)


def test_address_that_tasks_are_told_may_be_another_than_the_one_listened_on() -> None:
    """Behind a translated address a host listens on what it has; the port may be fixed."""
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


def test_strangers_are_limited_and_tasks_get_in_all_the_same(
    host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever has said nothing for longest goes first."""
    monkeypatch.setattr(task_link, "MOST_STRANGERS", 5)
    address = host.expect("c", 0, 1)
    crowd = [stranger(host) for _ in range(12)]
    guests[0].join(address).link.status("RUNNING")
    assert all(is_put_out(each) for each in crowd[:7])
    assert len(host.server._strangers) <= 5
    assert "are not authenticated" in caplog.text
    for each in crowd:
        each.close()


class Told(logging.Handler):
    """Notes what is logged."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Note a line."""
        self.texts.append(record.getMessage())


def run_out_of_descriptors() -> tuple[list[str], str | None]:
    """Have a host whose process has none left be asked; returns what it said, and what a task says to it later."""
    task_link._PAUSE_SECONDS = 0.05
    told = Told()
    logging.getLogger(task_link.__name__).addHandler(told)
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
        assert eventually(lambda: bool(told.texts), TIMEOUT)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for each in taken:
            os.close(each)
    guest.join(address).link.status("RUNNING")
    state = host.next_event().state
    guest.close()
    host.server.close()
    return told.texts, state


def test_host_that_ran_out_of_descriptors_takes_tasks_in_again() -> None:
    """It says so, waits, and goes on. Other tests have threads in this process, which would run out as well."""
    with ProcessPoolExecutor(1, get_context("spawn")) as alone:
        texts, state = alone.submit(run_out_of_descriptors).result(2 * TIMEOUT)
    assert texts[0].startswith("cannot accept task links at the moment: [Errno 24] Too many open files")
    assert state == "RUNNING"
