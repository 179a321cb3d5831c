"""A task's end of the link to its host: receives commands, sends states and source offsets.

A task opens one encrypted connection, only to the holder of the certificate it was given, authenticates with the token
of its generation and receives its plan. The protocol is the stage protocol (``hearth_stage/PROTOCOL.md``) with other
operations: ``hello``, ``status``, ``log``, ``topics.add``, ``offsets.read``, ``offsets.write`` and ``tokens.get`` from
the task, commands and log levels to the task, and ``alive`` in both directions. Either side takes the other for lost
after a period of silence.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

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
    TellPlugins,
    TellStatus,
    WriteOffsets,
)
from hearth.link.task_counts import CHANGES
from hearth.runtime.pause_detector import PauseDetector
from hearth.runtime.plan import TaskPlan
from hearth_api import ConnectError
from hearth_execution.failure import RemoteError
from hearth_stage.call import Call
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets
from hearth_stage.plugin_call import Metric
from hearth_stage.token_call import GivenToken

R = TypeVar("R")

TOKEN_SECONDS = 35.0
"""Seconds that a task waits for a token; its host waits a little less for the provider."""
CONNECT_SECONDS = 5.0
"""Connect timeout in seconds: a firewall may drop packets silently."""


class HostLost(ChannelClosed):
    """The link to the host broke, so the task stops: another run of it may have started elsewhere."""

    code = "task.host_lost"


class HostUnreachable(ConnectError):
    """The host cannot be reached at the address that the task was given."""

    code = "task.host_unreachable"

    def __init__(self, address: LinkAddress, reason: object) -> None:
        super().__init__(
            f"could not reach its host at {address.host}:{address.port}: {reason}; "
            "set spark.driver.host to an address of the host that Spark's executors reach, "
            "and task.link.port to a port that is open to them"
        )


class Reporter(Protocol):
    """Has the counts of a task; its methods are called on the link's thread."""

    def report(self) -> dict[str, float]:
        """Return the counts that the host does not have yet."""

    def reported(self, changes: CHANGES) -> None:
        """Note that the host has these counts."""


@dataclass(frozen=True)
class Welcome:
    """The host's answer to an admitted task: its plan, and whether it starts paused."""

    plan: TaskPlan
    is_paused: bool


class TaskLink:
    """The task's end of the link, connected and admitted; calls ``on_command`` for each command on the link's thread.

    ``on_lost`` is called on that thread when the host is lost, or does not admit the task; the task then stops.
    Neither may block. Raises ``HostUnreachable`` if the host cannot be reached, and another ``ConnectError`` if it no
    longer expects this task.
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
        """When the host last sent anything, at least a heartbeat."""
        self.pause_detector = PauseDetector()
        self.reporter: Reporter | None = None
        """What the task's heartbeats report."""
        self.on_watched: Callable[[], None] = lambda: None
        """Called on the link's thread, again and again while somebody reads the host's metrics; may not block."""
        try:
            connection = _reach(address)
        except OSError as error:
            raise HostUnreachable(address, error) from error
        self._channel = Channel(connection, TO_TASK, self._on_request, on_lost, name="host-link").start()
        try:
            answer = self._call(Introduce(task_id(connector, task), address.token))
            levels.take(answer.levels)
            self.welcome = Welcome(TaskPlan.from_json(answer.plan), answer.paused)
        except BaseException:
            self.close()
            raise
        if answer.command is not None:
            on_command(COMMANDS[answer.command]())

    def status(self, state: str, trace: str | None = None, counts: CHANGES | None = None) -> None:
        """Report a state, and the last counts of a run; returns when the host has received it."""
        self._call(TellStatus(state, trace, dict(counts or {})))

    def say(self, line: LogLine) -> None:
        """Send a log line to the host; raises ``ChannelClosed`` when it is lost."""
        self._channel.notify(line)

    def tell_plugins(self, metrics: list[Metric]) -> None:
        """Report what plugins measure; raises ``ChannelClosed`` when the host is lost."""
        self._channel.notify(TellPlugins(metrics))

    def add_topics(self, topics: list[str]) -> None:
        """Report the topics that the task uses; a lost host is detected elsewhere."""
        with contextlib.suppress(ChannelClosed):
            self._channel.notify(AddTopics(topics))

    def read_offsets(self, partitions: list[Any]) -> list[Any]:
        """Return the stored offsets of source partitions."""
        return self._call(ReadOffsets(partitions)).offsets

    def write_offsets(self, offsets: list[tuple[Any, Any]], timeout: float) -> None:
        """Store offsets; they are durable when this returns.

        Raises ``CallTimeout`` when the host is alive and its store takes longer, which may be retried, and
        ``HostLost`` when the link is closed.
        """
        self._call(WriteOffsets(offsets), timeout)

    def token(self, source: str) -> GivenToken:
        """Return a token for a client of the task; raises ``ConnectError`` if the host has none now."""
        try:
            return self._call(GetToken(source), TOKEN_SECONDS)
        except RemoteError as error:
            raise NoToken(error.info.message) from error

    def close(self) -> None:
        """Close the connection."""
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
            self._say_alive()
            if message.is_watched:
                self.on_watched()
        elif isinstance(message, AskUsage):
            from hearth.runtime.executor_usage import executor_usage  # few hosts ask for it

            request.answer(lambda _: executor_usage())
        elif isinstance(message, SetLevels):
            levels.take(message.levels)

    def _say_alive(self) -> None:
        reporter = self.reporter
        if reporter is None:
            say_alive(self._channel)
        elif say_alive(self._channel, Alive(changes := reporter.report())):
            reporter.reported(changes)


def _reach(address: LinkAddress) -> EncryptedSocket:
    """Connect to the host and verify its certificate."""
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
