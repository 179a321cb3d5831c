"""Heartbeats: a side of a link that receives nothing for a while considers the other side lost.

The host sends heartbeats to all of its tasks from one thread; each task answers on its reader thread.
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
"""Without a message for this long, heartbeats included, the other side counts as lost."""
LAST_RESORT_SECONDS = 5.0
"""How long a task that lost its host may take to end before it is killed."""
FENCED_SECONDS = SILENCE_SECONDS + LAST_RESORT_SECONDS
"""This long after its host gave up a task, the task is certain to have ended."""


def watch(connection: socket.socket) -> None:
    """Send at once, and fail if the peer does not acknowledge in time."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if (option := getattr(socket, "TCP_USER_TIMEOUT", None)) is not None:  # Linux only
        connection.setsockopt(socket.IPPROTO_TCP, option, int(SILENCE_SECONDS * 1000))


def keep_alive(
    channels: Callable[[], Iterable[Channel]],
    closed: threading.Event,
    is_watched: Callable[[], bool] = lambda: False,
) -> threading.Thread:
    """Start and return a thread that sends heartbeats on all channels until ``closed`` is set.

    Work on other threads does not delay it, and a peer that reads nothing does not delay the others. ``is_watched`` is
    sent with each.
    """

    def beat() -> None:
        while not closed.wait(HEARTBEAT_SECONDS):
            message = Alive(is_watched=is_watched())
            for channel in channels():
                say_alive(channel, message)

    thread = threading.Thread(target=beat, name="link-heartbeat", daemon=True)
    thread.start()
    return thread


def say_alive(channel: Channel, message: Alive | None = None) -> bool:
    """Send a heartbeat, unless another message is being sent or the peer has gone; return whether it was sent."""
    with contextlib.suppress(ChannelClosed):
        return channel.remind(message or Alive())
    return False
