"""Heartbeats: who hears nothing for a while takes the other side of a link for lost.

The host says from time to time that it is there, to all of its tasks from one thread, and each task answers on the
thread that heard it.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterable

from hearth.link.link_call import Alive
from hearth_stage.channel import Channel, ChannelClosed

HEARTBEAT_SECONDS = 5.0
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS
"""After so long without a word, a heartbeat at least, the other side is lost."""
LAST_RESORT_SECONDS = 5.0
"""How long a task that lost its host may take to end before it is ended by force."""
FENCED_SECONDS = SILENCE_SECONDS + LAST_RESORT_SECONDS
"""So long after its host let go of it no task can be running any more, wherever it is."""


def watch(connection: socket.socket) -> None:
    """Have what is sent go out at once, and fail when nobody takes it."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:  # on Linux
        connection.setsockopt(socket.IPPROTO_TCP, option, int(SILENCE_SECONDS * 1000))


def keep_alive(channels: Callable[[], Iterable[Channel]], closed: threading.Event) -> threading.Thread:
    """Say on all channels, from time to time until closed, that this side is there, on the thread that is returned.

    What is done on other threads does not hold it up, and one side that takes in nothing keeps it from no other.
    """

    def beat() -> None:
        while not closed.wait(HEARTBEAT_SECONDS):
            for channel in channels():
                say_alive(channel)

    thread = threading.Thread(target=beat, name="link-heartbeat", daemon=True)
    thread.start()
    return thread


def say_alive(channel: Channel) -> None:
    """Say that this side is there, unless it is saying something anyway, or the other has gone."""
    with contextlib.suppress(ChannelClosed):
        channel.remind(Alive())
