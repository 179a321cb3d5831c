"""Whoever falls silent is noticed by the other side of a link, and whoever is there is not."""

from __future__ import annotations

import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from hearth.herder.task_link import TaskEvent
from hearth.link import heartbeat
from hearth.runtime.link import HostLost
from hearth_api import ConnectError
from hearth_stage.call import Notice
from hearth_stage.channel import ChannelClosed
from tests.unit.link.link_world import WAIT, Guest, Host, Wire


def test_both_sides_notice_a_network_that_drops_everything(
    host: Host, guests: list[Guest], wire: Wire, short: float
) -> None:
    """Nobody is told of it: neither side gets an answer, a reset or an end."""
    guest = guests[0].join(replace(host.expect("c", 0, 1), port=wire.port))
    wire.cut()
    assert guest.lost.wait(WAIT)
    assert host.next_event() == TaskEvent("c", 0, 1, "lost")
    with pytest.raises(HostLost, match="the link to the host is gone"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], WAIT)


def test_link_on_which_nothing_happens_stays(host: Host, guests: list[Guest], short: float) -> None:
    """Heartbeats are enough, also while the host's store keeps the link's own thread waiting."""
    guest = guests[0].join(host.expect("c", 0, 1))
    assert not guest.lost.wait(2 * short)
    guest.link.status("RUNNING")
    assert host.next_event().kind == "status"


def test_slow_store_is_not_a_lost_host(
    host: Host, guests: list[Guest], short: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that hangs holds up the thread that serves the link, not the host's heartbeat."""
    guest = guests[0].join(host.expect("c", 0, 1))
    go_on = threading.Event()
    monkeypatch.setattr(host.offsets, "put", lambda *_: go_on.wait(WAIT))
    with pytest.raises(ConnectError, match="no answer to"):
        guest.link.write_offsets([({"file": "a"}, {"position": 3})], 2 * short)
    assert not guest.lost.is_set()
    go_on.set()
    guest.link.status("RUNNING")


def test_watched_connection_sends_at_once_and_fails_when_nobody_takes_it(short: float) -> None:
    """What the kernel holds back or goes on sending to nobody would hide that the other side is gone."""
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.create_connection(listener.getsockname()) as own:
        heartbeat.watch(own)
        assert own.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:
            assert own.getsockopt(socket.IPPROTO_TCP, option) == 1000 * short


class Pulse:
    """A channel that counts the heartbeats it is given and is closed after some of them."""

    def __init__(self, most: int, breaks: bool) -> None:
        self.closed = threading.Event()
        self.said: list[str] = []
        self.thread: threading.Thread | None = None
        self._most = most
        self._breaks = breaks

    def notify(self, notice: Notice) -> None:
        """Note what is said; at last be closed, or be found broken."""
        self.thread = threading.current_thread()
        self.said.append(notice.op)
        if len(self.said) == self._most:
            if self._breaks:
                self.closed.set()
                raise ChannelClosed("broken")
            self.closed.set()


@pytest.mark.parametrize("breaks", [False, True], ids=["closed", "broken"])
def test_heartbeats_end_with_their_channel(monkeypatch: pytest.MonkeyPatch, breaks: bool) -> None:
    """A host outlives thousands of links, and no thread may be left of any, however it ended."""
    monkeypatch.setattr(heartbeat, "HEARTBEAT_SECONDS", 0.01)
    channel: Any = Pulse(3, breaks)
    heartbeat.keep_alive(channel)
    assert channel.closed.wait(WAIT)
    channel.thread.join(WAIT)
    assert not channel.thread.is_alive()
    assert channel.said == ["alive"] * 3


def test_task_that_is_not_heard_ends_before_its_host_starts_another() -> None:
    """Silence is noticed after several heartbeats, and only who must have ended by force counts as fenced."""
    assert heartbeat.SILENCE_SECONDS > 2 * heartbeat.HEARTBEAT_SECONDS
    assert heartbeat.FENCED_SECONDS >= heartbeat.SILENCE_SECONDS + heartbeat.LAST_RESORT_SECONDS
