"""The messages between the owner of a stage and a fork server, or the process it forked.

For each stage, the owner connects to the fork server's Unix socket, which keeps message boundaries
(``SOCK_SEQPACKET``). The owner sends one message (``ForkRequest``), the name and limits of the stage, with three
descriptors: the stage's connection, its output, and the reading end of a pipe whose other end the owner keeps. Answers
are JSON objects with one member. The forked process itself sends ``pid`` before it uses its connection, so if the
socket ends before that, no process was forked. ``refusal`` is sent instead to say why none was. ``status``, the last
answer, comes from the fork server when the process has ended: its exit status, or a negative signal number. If the
owner closes the socket before that, or dies, the fork server kills the process with its group.
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
    """Requests a stage with a name, of which Linux shows 15 bytes, and limits."""

    name: str
    limits: Limits = NO_LIMITS

    def to_bytes(self) -> bytes:
        """Return the message: a line with the limits, then the name."""
        return f"{self.limits.to_json()}\n{self.name}".encode()[:MOST_BYTES]

    @classmethod
    def from_bytes(cls, message: bytes) -> ForkRequest:
        """Read a message."""
        limits, _, name = message.decode(errors="replace").partition("\n")
        return cls(name, Limits.from_json(limits))


@dataclass(frozen=True)
class ForkAnswer:
    """One answer; all members but one are ``None``."""

    pid: int | None = None
    status: int | None = None
    refusal: str | None = None

    def send(self, control: socket.socket) -> None:
        """Send the answer; raises ``OSError`` if the owner has closed the socket."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        control.send(json.dumps(found).encode()[:MOST_BYTES], socket.MSG_NOSIGNAL)

    @classmethod
    def receive(cls, control: socket.socket) -> ForkAnswer | None:
        """Wait for an answer; ``None`` if the fork server has ended. Raises ``TimeoutError`` as the socket does."""
        try:
            data = control.recv(MOST_BYTES)
        except ConnectionError:
            return None
        return cls(**json.loads(data)) if data else None
