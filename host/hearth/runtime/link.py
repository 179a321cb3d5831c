"""The link between a task and its host: commands out; states and source offsets back.

A task makes one TCP connection and shows the token of its generation first. The protocol is the stage protocol
(``hearth_stage/PROTOCOL.md``) with other operations: ``hello``, ``status``, ``offsets.read`` and ``offsets.write``
from the task, ``pause``, ``resume`` and ``stop`` to it.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hearth.runtime.spec import LinkAddress
from hearth.storage.interface import OffsetStore
from hearth_api import ConnectError
from hearth_stage.channel import Channel, ChannelClosed, Reply, Request
from hearth_stage.frame import MAX_FRAME

ADMISSION_SECONDS = 10
GREETING_BYTES = 4096
"""Longest frame of a visitor whose token is not checked."""


@dataclass(frozen=True)
class TaskEvent:
    """Something a host hears of a task: a ``status`` with its state, or that the link is ``lost``."""

    connector: str
    task: int
    generation: int
    kind: str
    state: str | None = None
    trace: str | None = None


@dataclass
class _Seat:
    """The place a host keeps for the one current run of a task."""

    connector: str
    task: int
    generation: int
    token: str
    channel: Channel | None = None
    command: str | None = None


class TaskLinkServer:
    """The host's end of all links; events arrive on the links' own threads."""

    def __init__(self, on_event: Callable[[TaskEvent], None], offsets: OffsetStore, host: str = "127.0.0.1") -> None:
        self._on_event = on_event
        self._offsets = offsets
        self._host = host
        self._seats: dict[tuple[str, int], _Seat] = {}
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None

    def start(self) -> tuple[str, int]:
        """Listen, and return the address."""
        self._listener = socket.create_server((self._host, 0), backlog=128)
        threading.Thread(target=self._accept, name="task-link", daemon=True).start()
        return self.address

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port."""
        assert self._listener is not None, "start comes first"
        name = self._listener.getsockname()
        return str(name[0]), int(name[1])

    def expect(self, connector: str, task: int, generation: int) -> LinkAddress:
        """Keep a seat for this generation; an older one's link is closed and not admitted again."""
        seat = _Seat(connector, task, generation, secrets.token_hex(16))
        with self._lock:
            before = self._seats.get((connector, task))
            self._seats[connector, task] = seat
        if before is not None and before.channel is not None:
            before.channel.close()
        return LinkAddress(*self.address, seat.token)

    def command(self, connector: str, task: int, command: str) -> None:
        """Send ``pause``, ``resume`` or ``stop``; a task that is not linked yet gets it when it links."""
        with self._lock:
            seat = self._seats.get((connector, task))
            if seat is None:
                return
            seat.command = command
            channel = seat.channel
        if channel is not None:
            with contextlib.suppress(ChannelClosed):
                channel.notify(command)

    def forget(self, connector: str, task: int) -> None:
        """Give up the seat of a task that will not come back."""
        with self._lock:
            seat = self._seats.pop((connector, task), None)
        if seat is not None and seat.channel is not None:
            seat.channel.close()

    def close(self) -> None:
        """Stop listening and close every link; tasks that run stop themselves."""
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            seats, self._seats = list(self._seats.values()), {}
        for seat in seats:
            if seat.channel is not None:
                seat.channel.close()

    def _accept(self) -> None:
        assert self._listener is not None
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return  # closed
            _Visitor(self, connection)

    def admit(self, visitor: Channel, args: dict[str, Any]) -> _Seat | None:
        """Give a visitor the seat its token belongs to; a former holder of the seat is dropped."""
        token = str(args.get("token")).encode()
        with self._lock:
            seat = self._seats.get(_key(args))
            if seat is None or not hmac.compare_digest(seat.token.encode(), token):
                return None
            before, seat.channel = seat.channel, visitor
        if before is not None:
            before.close()
        return seat

    def leave(self, visitor: Channel, seat: _Seat) -> None:
        """Note that a link ended; only the seat's present holder is missed."""
        with self._lock:
            if seat.channel is not visitor:
                return
            seat.channel = None
        self._on_event(TaskEvent(seat.connector, seat.task, seat.generation, "lost"))

    def serve(self, seat: _Seat, request: Request) -> Reply | None:
        """Answer a task."""
        if request.op == "status":
            state, trace = request.args["state"], request.args.get("trace")
            self._on_event(TaskEvent(seat.connector, seat.task, seat.generation, "status", state, trace))
            return None
        if request.op == "offsets.read":
            return Reply({"offsets": self._offsets.get(seat.connector, request.args["partitions"])})
        if request.op == "offsets.write":
            with self._lock:
                is_current = self._seats.get((seat.connector, seat.task)) is seat
            if not is_current:
                raise ConnectError(f"generation {seat.generation} of {seat.connector}-{seat.task} is over")
            self._offsets.put(seat.connector, [tuple(pair) for pair in request.args["offsets"]])
            return None
        raise LookupError(f"a task has no operation {request.op!r}")


def _key(args: dict[str, Any]) -> tuple[str, int]:
    connector, task = args.get("connector"), args.get("task")
    return str(connector), task if isinstance(task, int) else -1


class _Visitor:
    """One incoming connection: a stranger until its token is checked."""

    def __init__(self, server: TaskLinkServer, connection: socket.socket) -> None:
        self._server = server
        self._seat: _Seat | None = None
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._channel = Channel(connection, self._on_request, self._on_close, "task-link", GREETING_BYTES)
        self._deadline = threading.Timer(ADMISSION_SECONDS, self._expire)
        self._deadline.daemon = True
        self._deadline.start()
        self._channel.start()

    def _on_request(self, request: Request) -> None:
        seat = self._seat
        if seat is not None:
            request.answer(lambda each: self._server.serve(seat, each))
            return
        self._deadline.cancel()
        self._seat = self._server.admit(self._channel, request.args) if request.op == "hello" else None
        if self._seat is None:
            request.fail(ConnectError("this host does not expect that task"))
            threading.Thread(target=self._channel.close, daemon=True).start()
            return
        self._channel.limit = MAX_FRAME
        request.reply({"command": self._seat.command})

    def _on_close(self) -> None:
        self._deadline.cancel()
        if self._seat is not None:
            self._server.leave(self._channel, self._seat)

    def _expire(self) -> None:
        if self._seat is None:
            self._channel.close()


class HostLost(ConnectError):
    """The link to the host broke, so the task stops: another run of it may have begun elsewhere."""

    code = "task.host_lost"


class TaskLink:
    """The task's end: commands arrive as calls of ``on_command`` on the link's thread.

    ``on_lost`` runs when the host is gone; the task then stops itself.
    """

    def __init__(self, on_command: Callable[[str], None], on_lost: Callable[[], None]) -> None:
        self._on_command = on_command
        self._on_lost = on_lost
        self._channel: Channel | None = None

    def connect(self, address: LinkAddress, connector: str, task: int) -> None:
        """Connect and be admitted; raises ``ConnectError`` when the host does not expect this task any more."""
        connection = socket.create_connection((address.host, address.port), timeout=ADMISSION_SECONDS)
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._channel = Channel(connection, self._on_request, self._on_lost, name="host-link").start()
        hello = {"connector": connector, "task": task, "token": address.token}
        reply = self._channel.call("hello", hello, timeout=ADMISSION_SECONDS)
        if (command := reply.args.get("command")) is not None:
            self._on_command(command)

    def status(self, state: str, trace: str | None = None) -> None:
        """Report a state; returns when the host has it."""
        self._call("status", {"state": state, "trace": trace})

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Return the stored offsets of source partitions."""
        return list(self._call("offsets.read", {"partitions": partitions}).args["offsets"])

    def write_offsets(self, offsets: list[tuple[Any, Any]], timeout: float) -> None:
        """Store offsets; they are durable when this returns."""
        self._call("offsets.write", {"offsets": offsets}, timeout)

    def close(self) -> None:
        """End the connection."""
        if self._channel is not None:
            self._channel.close()

    def _call(self, op: str, args: dict[str, Any], timeout: float = 60) -> Reply:
        assert self._channel is not None, "connect comes first"
        return self._channel.call(op, args, timeout=timeout)

    def _on_request(self, request: Request) -> None:
        self._on_command(request.op)
