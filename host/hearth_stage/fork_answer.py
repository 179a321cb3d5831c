"""What a fork server, or the process forked from it, answers to whoever wants a stage.

Owner and fork server are joined by a Unix socket of messages (``SOCK_SEQPACKET``), which the owner opens for each
stage. The owner sends one message (``ForkRequest``): the name of the stage and what it may take of the machine, and
with it three descriptors: the stage's connection, where its output goes, and the reading end of a pipe of which the
owner keeps the other. Answers are JSON objects of one member. The process that was forked says ``pid`` itself, before
it touches its connection, so that an end of the socket before that means that there is no such process. ``refusal``
says in its place why none is forked here. ``status``, the last, is told by the fork server when the process has ended:
its exit status, or the number of a signal below zero. An owner that closes the socket before that, or dies, has the
process killed with all its group.
"""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass

from hearth_stage.limit import NO_LIMITS, Limits

MOST_BYTES = 4096
"""Longest message of either side."""


@dataclass(frozen=True)
class ForkRequest:
    """What an owner wants: a stage of a name, of which Linux shows 15 bytes, that binds itself to limits."""

    name: str
    limits: Limits = NO_LIMITS

    def to_bytes(self) -> bytes:
        """Return the message: the limits, and behind the end of their line the name."""
        return f"{self.limits.to_json()}\n{self.name}".encode()[:MOST_BYTES]

    @classmethod
    def from_bytes(cls, message: bytes) -> ForkRequest:
        """Read a message."""
        limits, _, name = message.decode(errors="replace").partition("\n")
        return cls(name, Limits.from_json(limits))


@dataclass(frozen=True)
class ForkAnswer:
    """One answer, of which one member is not ``None``."""

    pid: int | None = None
    status: int | None = None
    refusal: str | None = None

    def send(self, control: socket.socket) -> None:
        """Send the answer; raises ``OSError`` where nobody reads it any more."""
        told = {name: value for name, value in asdict(self).items() if value is not None}
        control.send(json.dumps(told).encode()[:MOST_BYTES], socket.MSG_NOSIGNAL)

    @classmethod
    def receive(cls, control: socket.socket) -> ForkAnswer | None:
        """Wait for an answer; ``None`` where the fork server is gone. Raises ``TimeoutError`` as the socket does."""
        try:
            data = control.recv(MOST_BYTES)
        except ConnectionError:
            return None
        return cls(**json.loads(data)) if data else None
