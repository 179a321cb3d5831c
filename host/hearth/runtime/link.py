"""A task's end of the link to its host: commands out; states and source offsets back.

A task makes one encrypted connection, to nobody but the holder of the certificate it was given, then shows the token
of its generation and is told its plan. The protocol is the stage protocol (``hearth_stage/PROTOCOL.md``) with other
operations: ``hello``, ``status``, ``log``, ``topics.add``, ``offsets.read``, ``offsets.write`` and ``tokens.get`` from
the task, commands to it and the levels of its log, and ``alive`` both ways. Who hears nothing for a while takes the
other for lost.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hearth.foundation.log_level import levels
from hearth.kafka.token import NoToken
from hearth.link import heartbeat
from hearth.link.admission import LinkAddress, task_id
from hearth.link.encryption import EncryptedSocket, client_context
from hearth.link.heartbeat import say_alive, watch
from hearth.link.link_call import (
    COMMANDS,
    TO_TASK,
    AddTopics,
    Alive,
    AskUsage,
    Command,
    GetToken,
    Introduce,
    TellStatus,
    WriteOffsets,
)
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.plan import TaskPlan
from hearth_api import ConnectError
from hearth_execution.failure import RemoteError
from hearth_stage.call import Call
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets
from hearth_stage.token_call import GivenToken

R = TypeVar("R")

TOKEN_SECONDS = 35.0
"""How long a task waits for a token; its host waits a little less for the provider."""
CONNECT_SECONDS = 5.0
"""How long a task tries to connect: a network that lets nothing through does not say so."""


class HostLost(ChannelClosed):
    """The link to the host broke, so the task stops: another run of it may have begun elsewhere."""

    code = "task.host_lost"


class HostUnreachable(ConnectError):
    """The host is not where the task was told it would be."""

    code = "task.host_unreachable"

    def __init__(self, address: LinkAddress, reason: object) -> None:
        super().__init__(
            f"could not reach its host at {address.host}:{address.port}: {reason}; "
            "set spark.driver.host to an address of the host that Spark's executors reach, "
            "and task.link.port to a port that is open to them"
        )


@dataclass(frozen=True)
class Welcome:
    """What a host tells a task it has let in: its plan, and whether it is to rest at first."""

    plan: TaskPlan
    is_paused: bool


class TaskLink:
    """The task's end, connected and admitted: commands arrive as calls of ``on_command`` on the link's thread.

    ``on_lost`` is called on that thread when the host is gone, also where it does not let the task in; the task then
    stops itself. Neither may block. Raises ``HostUnreachable`` where the host is not found at the address, and another
    ``ConnectError`` when it does not expect this task any more.
    """

    def __init__(
        self,
        address: LinkAddress,
        connector: str,
        task: int,
        on_command: Callable[[Command], None],
        on_lost: Callable[[], None],
    ) -> None:
        self._on_command = on_command
        self.heard_at = time.monotonic()
        """When the host has last said something of itself, that it is there at least."""
        self.pause_detector = PauseDetector()
        try:
            connection = _reach(address)
        except OSError as error:
            raise HostUnreachable(address, error) from error
        self._channel = Channel(connection, TO_TASK, self._on_request, on_lost, name="host-link").start()
        try:
            told = self._call(Introduce(task_id(connector, task), address.token))
            levels.take(told.levels)
            self.welcome = Welcome(TaskPlan.from_json(told.plan), told.paused)
        except BaseException:
            self.close()
            raise
        if told.command is not None:
            on_command(COMMANDS[told.command]())

    def status(self, state: str, trace: str | None = None) -> None:
        """Report a state; returns when the host has it."""
        self._call(TellStatus(state, trace))

    def say(self, line: LogLine) -> None:
        """Have the host log a line; raises ``ChannelClosed`` when it is gone."""
        self._channel.notify(line)

    def add_topics(self, topics: list[str]) -> None:
        """Tell the host which topics the task touches; a host that is gone is told of otherwise."""
        with contextlib.suppress(ChannelClosed):
            self._channel.notify(AddTopics(topics))

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Return the stored offsets of source partitions."""
        return self._call(ReadOffsets(partitions)).offsets

    def write_offsets(self, offsets: list[tuple[Any, Any]], timeout: float) -> None:
        """Store offsets; they are durable when this returns.

        Raises ``CallTimeout`` when the host is there and its store takes longer, which may be tried again, and
        ``HostLost`` when there is nobody to try it with.
        """
        self._call(WriteOffsets(offsets), timeout)

    def token(self, source: str) -> GivenToken:
        """Return a token for a client of the task; raises ``ConnectError`` where the host has none now."""
        try:
            return self._call(GetToken(source), TOKEN_SECONDS)
        except RemoteError as error:
            raise NoToken(error.info.message) from error

    def close(self) -> None:
        """End the connection."""
        self._channel.close()

    def _call(self, call: Call[R], timeout: float = 60) -> R:
        try:
            return self._channel.call(call, timeout)
        except ChannelClosed as error:
            raise HostLost(f"the link to the host is gone: {error}") from error

    def _on_request(self, request: Request) -> None:
        message = request.message
        self.heard_at = time.monotonic()
        self.pause_detector.look()
        if isinstance(message, Command):
            self._on_command(message)
        elif isinstance(message, Alive):
            say_alive(self._channel)
        elif isinstance(message, AskUsage):
            from hearth.runtime.executor_usage import executor_usage  # which few hosts ask for

            request.answer(lambda _: executor_usage())
        elif isinstance(message, SetLevels):
            levels.take(message.levels)


def _reach(address: LinkAddress) -> EncryptedSocket:
    """Connect to the host and make sure that it is the host."""
    connection = socket.create_connection((address.host, address.port), timeout=CONNECT_SECONDS)
    encrypted = EncryptedSocket(connection, client_context(address.certificate), is_server=False)
    try:
        encrypted.greet()
    except BaseException:
        encrypted.close()
        raise
    watch(encrypted)
    encrypted.settimeout(heartbeat.SILENCE_SECONDS)
    return encrypted
