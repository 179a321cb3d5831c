"""The host's end of the task links: registers the current run of each task and accepts its connection.

The task's end is ``hearth.runtime.link``.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from hearth.foundation.certificate import Identity
from hearth.foundation.log_context import hand_on, label_of
from hearth.foundation.log_level import Rules, levels
from hearth.herder.link_listener import LinkListener
from hearth.kafka.token import Give, no_tokens
from hearth.link import admission, heartbeat
from hearth.link.admission import LinkAddress, task_id
from hearth.link.encryption import EncryptedSocket, server_context
from hearth.link.heartbeat import keep_alive, watch
from hearth.link.link_call import (
    COMMANDS,
    ENDS,
    TO_HOST,
    AddTopics,
    Admitted,
    Alive,
    AskUsage,
    ExecutorUsage,
    ForgetTopics,
    GetToken,
    Introduce,
    TellPlugins,
    TellStatus,
    WriteOffsets,
)
from hearth.link.task_counts import CHANGES
from hearth.runtime.plan import TaskPlan
from hearth.storage.interface import OffsetStore
from hearth_api import ConnectError
from hearth_stage.call import Message, Notice
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.frame import MAX_FRAME
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.plugin_call import Metric
from hearth_stage.token_call import GivenToken

log = logging.getLogger(__name__)

WRITE_SECONDS = 5.0
"""Time that a store has to write the offsets of a run that is disconnected."""
ANSWER_SECONDS = 5.0
"""Time that a task has to report its executor's usage."""
GREETING_BYTES = 4096
"""Longest frame of a connection whose token has not been checked."""


@dataclass(frozen=True)
class TaskEvent:
    """An event of a task: a ``status`` with its state, new ``topics``, ``counts``, or a ``lost`` link.

    ``counts`` may come with a status as well; ``plugins`` are the metrics of a task's plugins, None if not told.
    """

    connector: str
    task: int
    generation: int
    kind: str
    state: str | None = None
    trace: str | None = None
    topics: tuple[str, ...] = ()
    counts: CHANGES = field(default_factory=dict)
    plugins: tuple[Metric, ...] | None = None


@dataclass
class _Registration:
    """The registration of the current run of a task, and of its link once it connects."""

    plan: TaskPlan
    generation: int
    is_paused: bool
    token: str = field(repr=False)
    hidden: Callable[[str], str] = str
    """Returns a text without secret values."""
    holder: _IncomingConnection | None = None
    end: str | None = None
    """The command that ends the run, once it was sent."""
    ended_by: float = 0.0
    """Monotonic time by which a disconnected run has certainly ended."""
    writing: threading.Lock = field(default_factory=threading.Lock)

    @property
    def connector(self) -> str:
        """Return the connector's name."""
        return self.plan.connector

    @property
    def task(self) -> int:
        """Return the task's number."""
        return self.plan.task

    @property
    def channel(self) -> Channel | None:
        """Return the link of the run that holds the registration."""
        return None if self.holder is None else self.holder.channel

    def note(self, command: str) -> None:
        """Record a command for a run that is not connected."""
        if COMMANDS[command] in ENDS:
            self.end = command
        else:
            self.is_paused = command == "pause"

    def welcome(self) -> Admitted:
        """Return the message for an admitted run, with its plan and present commands."""
        return Admitted(self.plan.to_json(), self.is_paused, self.end, levels.rules)

    def clear(self) -> bool:
        """Close the link of the run that holds the registration; return whether there was one.

        Waits for offsets that are being written, so that none is written after a successor's.
        """
        holder = self.holder
        if holder is None:
            return False
        holder.turn_away()
        if self.writing.acquire(timeout=WRITE_SECONDS):
            self.writing.release()
        return True


class TaskLinkServer:
    """The host's end of all links; events arrive on the links' own threads.

    ``listen`` is the address it binds, ``host`` the address sent to tasks, which may differ. ``tokens`` provides the
    tokens with which the clients of tasks log in.
    """

    def __init__(
        self,
        on_event: Callable[[TaskEvent], None],
        offsets: OffsetStore,
        identity: Identity,
        host: str = "127.0.0.1",
        listen: str | None = None,
        port: int = 0,
        tokens: Give = no_tokens,
    ) -> None:
        self._on_event = on_event
        self._offsets = offsets
        self._tokens = tokens
        self._host, self._identity = host, identity
        self._registrations: dict[str, _Registration] = {}
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._closed = threading.Event()
        self.is_watched: Callable[[], bool] = lambda: False
        """Returns whether somebody has read the metrics lately."""
        new = partial(_IncomingConnection, self)
        self.listener = LinkListener(listen or host, port, server_context(identity), new)

    def start(self) -> tuple[str, int]:
        """Listen, and return the address for tasks."""
        self.listener.start()
        keep_alive(self._channels, self._closed, lambda: self.is_watched())
        levels.subscribe(self)
        return self.address

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port for tasks."""
        return self._host, self.listener.port

    def expect(
        self, plan: TaskPlan, generation: int, is_paused: bool, hidden: Callable[[str], str] = str
    ) -> LinkAddress:
        """Register this generation of a task, which receives its plan when it connects.

        The link of an older generation is closed and not admitted again. ``hidden`` removes secret values from its log
        messages.
        """
        registration = _Registration(plan, generation, is_paused, secrets.token_hex(16), hidden)
        key = task_id(plan.connector, plan.task)
        with self._lock:
            before = self._registrations.get(key)
            self._registrations[key] = registration
        if before is not None:
            before.clear()
        return LinkAddress(*self.address, registration.token, self._identity.certificate)

    def command(self, connector: str, task: int, command: str) -> None:
        """Send ``pause``, ``resume``, ``stop`` or ``replace``; a disconnected task gets it when it connects."""
        with self._lock:
            registration = self._registrations.get(task_id(connector, task))
            if registration is None:
                return
            registration.note(command)
            channel = registration.channel
        if channel is not None:
            with contextlib.suppress(ChannelClosed):
                channel.notify(COMMANDS[command]())

    def forget_topics(self, connector: str) -> None:
        """Have the tasks of a connector report their topics again; a disconnected one has reported none."""
        self._notify(self._channels(connector), ForgetTopics())

    def _channels(self, connector: str | None = None) -> list[Channel]:
        """Return the links of the connected tasks, of all connectors or of one."""
        with self._lock:
            wanted = [each for each in self._registrations.values() if connector in (None, each.connector)]
            return [channel for each in wanted if (channel := each.channel) is not None]

    def _notify(self, channels: Iterable[Channel], notice: Notice) -> None:
        for channel in channels:
            with contextlib.suppress(ChannelClosed):
                channel.notify(notice)

    def on_levels(self, rules: Rules) -> None:
        """Send the log levels to all running tasks; others receive them when they connect."""
        self._notify(self._channels(), SetLevels(dict(rules)))

    def executor_usage(self, connector: str, task: int) -> ExecutorUsage:
        """Return the usage of a task's executor; raise ConnectError if the task is disconnected or does not answer."""
        with self._lock:
            registration = self._registrations.get(task_id(connector, task))
            channel = None if registration is None else registration.channel
        if channel is None:
            raise ConnectError(f"task {connector}-{task} is not linked", code="task.unlinked")
        return channel.call(AskUsage(), ANSWER_SECONDS)

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run of a task is connected."""
        with self._lock:
            registration = self._registrations.get(task_id(connector, task))
            return registration is not None and registration.holder is not None

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Wait until a run that was connected has certainly ended; return whether it has.

        A process closes its link when it ends. One that is unreachable may run until it notices that itself.
        """
        deadline = time.monotonic() + timeout
        with self._left:
            registration = self._registrations.get(task_id(connector, task))
            if registration is None:
                return True
            if not self._left.wait_for(lambda: registration.holder is None, timeout):
                return False
        self._closed.wait(max(0.0, min(registration.ended_by, deadline) - time.monotonic()))
        return time.monotonic() >= registration.ended_by

    def forget(self, connector: str, task: int) -> bool:
        """Drop the registration of a task that will not reconnect; return whether a run was connected."""
        with self._lock:
            registration = self._registrations.pop(task_id(connector, task), None)
        return registration is not None and registration.clear()

    def close(self) -> None:
        """Stop listening and close every link; running tasks stop themselves."""
        self._closed.set()
        self.listener.close()
        with self._lock:
            registrations, self._registrations = list(self._registrations.values()), {}
        for registration in registrations:
            registration.clear()

    def admit(self, visitor: _IncomingConnection, asked: Introduce) -> _Registration | None:
        """Give a connection the registration of its token; close the link of the former holder."""
        with self._lock:
            registration = self._registrations.get(asked.task)
            if registration is None or not hmac.compare_digest(registration.token.encode(), asked.token.encode()):
                return None
            before, registration.holder = registration.holder, visitor
        if before is not None:
            before.turn_away()
        return registration

    def leave(self, visitor: _IncomingConnection, registration: _Registration, has_ended: bool) -> None:
        """Handle the end of a link, with or without the end of its task; ignore all but the current holder."""
        with self._left:
            if registration.holder is not visitor:
                return
            registration.holder = None
            # The run cannot reach the host either, so it ends itself.
            left = 0.0 if has_ended else heartbeat.HEARTBEAT_SECONDS + heartbeat.LAST_RESORT_SECONDS
            registration.ended_by = time.monotonic() + left
            self._left.notify_all()
        self._on_event(TaskEvent(registration.connector, registration.task, registration.generation, "lost"))

    def serve(self, registration: _Registration, message: Message) -> StoredOffsets | None:
        """Answer a task."""
        facts = registration.connector, registration.task, registration.generation
        if isinstance(message, TellStatus):
            self._on_event(TaskEvent(*facts, "status", message.state, message.trace, counts=message.counts))
        elif isinstance(message, LogLine):
            shown = replace(message, text=registration.hidden(message.text))
            hand_on(shown, label_of(registration.connector, registration.task))
        elif isinstance(message, AddTopics):
            self._on_event(TaskEvent(*facts, "topics", topics=tuple(message.topics)))
        elif isinstance(message, ReadOffsets):
            return StoredOffsets(self._offsets.get(registration.connector, message.partitions))
        elif isinstance(message, WriteOffsets):
            with registration.writing:
                self._write(registration, message.offsets)
        elif isinstance(message, Alive):
            if message.counts:
                self._on_event(TaskEvent(*facts, "counts", counts=message.counts))
        elif isinstance(message, TellPlugins):
            self._on_event(TaskEvent(*facts, "plugins", plugins=tuple(message.metrics)))
        else:
            raise LookupError(f"an admitted task has no operation {message.op!r}")
        return None

    def token(self, registration: _Registration, asked: GetToken) -> GivenToken:
        """Return a token for a client of a task, which may take a while; raise ConnectError if there is none."""
        if asked.source not in registration.plan.token_sources():
            raise LookupError("no client of that task uses such tokens")
        try:
            return self._tokens(asked.source)
        except ConnectError as error:  # only its text is sent
            raise ConnectError(f"{error} ({error.hint})" if error.hint else str(error)) from error

    def _write(self, registration: _Registration, offsets: list[tuple[Any, Any]]) -> None:
        with self._lock:
            is_current = self._registrations.get(task_id(registration.connector, registration.task)) is registration
        if not is_current:
            raise ConnectError(
                f"generation {registration.generation} of {registration.connector}-{registration.task} is over"
            )
        self._offsets.put(registration.connector, offsets)


class _IncomingConnection:
    """One incoming connection, unauthenticated until its token is checked."""

    def __init__(self, server: TaskLinkServer, connection: EncryptedSocket) -> None:
        self._server = server
        self._connection = connection
        self._registration: _Registration | None = None
        self.channel = Channel(connection, TO_HOST, self._on_request, self._on_close, "task-link", GREETING_BYTES)

    def start(self) -> None:
        """Start reading."""
        watch(self._connection)
        self._connection.deadline = time.monotonic() + admission.ADMISSION_SECONDS
        self.channel.start()

    def turn_away(self) -> None:
        """Close the connection; does not block."""
        self._connection.end()

    def _on_request(self, request: Request) -> None:
        with contextlib.suppress(ChannelClosed):  # the task has disconnected meanwhile
            if (registration := self._registration) is not None:
                if isinstance(request.message, GetToken):  # a token provider must not block the link
                    threading.Thread(target=self._give_token, args=[request, registration], daemon=True).start()
                else:
                    request.answer(lambda each: self._server.serve(registration, each))
            else:
                self._welcome(request)

    def _give_token(self, request: Request, registration: _Registration) -> None:
        with contextlib.suppress(ChannelClosed):
            request.answer(lambda each: self._server.token(registration, each))

    def _welcome(self, request: Request) -> None:
        self._server.listener.cross_off(self)
        with contextlib.suppress(LookupError, ValueError):  # the message is not an introduction
            if isinstance(asked := request.message, Introduce):
                self._registration = self._server.admit(self, asked)
        if self._registration is None:
            request.fail(ConnectError("this host does not expect that task"))
            self.turn_away()
            return
        self.channel.limit = MAX_FRAME
        self._connection.deadline = None
        self._connection.settimeout(heartbeat.SILENCE_SECONDS)
        request.reply(self._registration.welcome())

    def _on_close(self) -> None:
        self._server.listener.cross_off(self)
        if self._registration is not None:
            self._server.leave(self, self._registration, self._connection.has_ended)
