"""Tells systemd that the host is ready, stops or still works (`sd_notify(3)`); does nothing under others."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SOCKET, WATCHDOG = "NOTIFY_SOCKET", "WATCHDOG_USEC"


def notify(text: str) -> None:
    """Send a state, such as READY=1, if a service manager wants to know."""
    address = os.environ.get(SOCKET)
    if not address:
        return
    place = "\0" + address[1:] if address.startswith("@") else address
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        try:
            connection.connect(place)
            connection.sendall(text.encode())
        except OSError:
            return  # the manager has gone; the host goes on


@contextmanager
def announced(is_alive: Callable[[], bool]) -> Iterator[None]:
    """Announce that the host is ready, that it still works while ``is_alive`` returns true, and that it stops.

    The watchdog asks twice in the time after which the service manager restarts the host.
    """
    end = threading.Event()
    seconds = int(os.environ.get(WATCHDOG) or 0) / 2_000_000

    def watch() -> None:
        while not end.wait(seconds):
            if is_alive():
                notify("WATCHDOG=1")

    notify("READY=1")
    if seconds:
        threading.Thread(target=watch, name="watchdog", daemon=True).start()
    try:
        yield
    finally:
        end.set()
        notify("STOPPING=1")
