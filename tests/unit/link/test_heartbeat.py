"""A link notices a silent peer, and does not give up a live one."""

from __future__ import annotations

import contextlib
import socket
import threading
from dataclasses import replace

import pytest

from hearth.herder.task_link import TaskEvent
from hearth.link import heartbeat
from hearth.runtime.link import HostLost
from hearth_api import ConnectError
from hearth_stage.channel import Channel
from hearth_stage.frame import Frame, read_frame
from tests.timeouts import TIMEOUT
from tests.unit.link.link_world import Guest, Host, Wire


def test_both_sides_notice_a_network_that_drops_everything(
    short: float, host: Host, guests: list[Guest], wire: Wire
) -> None:
    """Neither side gets an answer, a reset or an end."""
    guest = guests[0].join(replace(host.expect("c", 0, 1), port=wire.port))
    wire.cut()
    assert guest.lost.wait(TIMEOUT)
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")
    with pytest.raises(HostLost, match="the link to the host is gone"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], TIMEOUT)


def test_idle_link_stays_open(short: float, host: Host, guests: list[Guest]) -> None:
    """Heartbeats suffice, even while the host's store blocks the link's own thread."""
    guest = guests[0].join(host.expect("c", 0, 1))
    assert not guest.lost.wait(2 * short)
    guest.link.status("RUNNING")
    assert host.next_event().kind == "status"


def test_slow_store_is_not_a_lost_host(
    short: float, host: Host, guests: list[Guest], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hanging disk blocks the thread that serves the link, not the host's heartbeat."""
    guest = guests[0].join(host.expect("c", 0, 1))
    go_on = threading.Event()
    monkeypatch.setattr(host.offsets, "put", lambda *_: go_on.wait(TIMEOUT))
    with pytest.raises(ConnectError, match="no answer to"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], 2 * short)
    assert not guest.lost.is_set()
    go_on.set()
    guest.link.status("RUNNING")


def test_watched_connection_sends_at_once_and_fails_without_acknowledgement(short: float) -> None:
    """Delayed or endlessly retransmitted data would hide that the peer is gone."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as own:
        heartbeat.watch(own)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            assert own.getsockopt(socket.IPPROTO_TCP, option) == 1000 * short


def test_one_thread_sends_all_heartbeats_and_ends_with_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A peer that does not read, or is gone, is skipped: all others get their heartbeats in time."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.01)
    pairs = [socket.socketpair() for _ in range(3)]
    stuck, gone, fine = (Channel(own, {}, lambda request: None) for own, _ in pairs)
    with contextlib.suppress(BlockingIOError):
        while True:
            pairs[0][0].send(bytes(1 << 16), socket.MSG_DONTWAIT)
    pairs[1][0].close()
    closed = threading.Event()
    thread = heartbeat.keep_alive(lambda: [stuck, gone, fine], closed)
    heard = pairs[2][1]
    heard.settimeout(TIMEOUT)
    assert [read_frame(heard) for _ in range(3)] == [Frame({"op": "alive", "args": {}})] * 3
    closed.set()
    thread.join(TIMEOUT)
    assert not thread.is_alive()
    for pair in pairs:
        for each in pair:
            each.close()


def test_task_answers_heartbeats_on_its_reader_thread(host: Host, guests: list[Guest]) -> None:
    """A hundred idle tasks save a hundred threads, and wake half as often."""
    before = set(threading.enumerate())
    guests[0].join(host.expect("c", 0, 1))
    names = sorted(each.name for each in set(threading.enumerate()) - before if "link" in each.name)
    assert names == ["host-link-reader", "task-link-reader"]


def test_silent_task_ends_before_its_host_starts_another() -> None:
    """Silence is noticed after several heartbeats, and a task counts as fenced only once it must have been killed."""
    assert heartbeat.SILENCE_SECONDS > 2 * heartbeat.HEARTBEAT_SECONDS
    assert heartbeat.FENCED_SECONDS >= heartbeat.SILENCE_SECONDS + heartbeat.LAST_RESORT_SECONDS
