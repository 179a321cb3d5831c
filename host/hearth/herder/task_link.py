"""The host's end of the task links: a registration for the one current run of each task, and here the links arrive.

The task's end is ``hearth.runtime.link``.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from hearth.foundation.certificate import Identity
from hearth.foundation.log_context import hand_on, label_of
from hearth.foundation.log_level import Rules, levels
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
    TellStatus,
    WriteOffsets,
)
from hearth.runtime.plan import TaskPlan
from hearth.storage.interface import OffsetStore
from hearth_api import ConnectError
from hearth_stage.call import Message, Notice
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.frame import MAX_FRAME
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets, StoredOffsets
from hearth_stage.token_call import GivenToken

log = logging.getLogger(__name__)

WRITE_SECONDS = 5.0
"""How long a store may take with the offsets of a run that is put out."""
ANSWER_SECONDS = 5.0
"""How long a task may take to say what its executor takes."""
GREETING_BYTES = 4096
"""Longest frame of a visitor whose token is not checked."""
MOST_STRANGERS = 256
"""How many visitors may be unknown at the same time; one more puts the first of them out."""
_PAUSE_SECONDS = 1.0
"""How long visitors wait where this machine has nothing left to take them in with."""


@dataclass(frozen=True)
class TaskEvent:
    """Something a host hears of a task: a ``status`` with its state, new ``topics``, or that the link is ``lost``."""

    connector: str
    task: int
    generation: int
    kind: str
    state: str | None = None
    trace: str | None = None
    topics: tuple[str, ...] = ()


@dataclass
class _Registration:
    """That a host expects the one current run of a task, and whether that run is linked."""

    plan: TaskPlan
    generation: int
    is_paused: bool
    token: str = field(repr=False)
    hidden: Callable[[str], str] = str
    """What makes of a text one that may be shown."""
    holder: _IncomingConnection | None = None
    end: str | None = None
    """The command that ends the run, once it was given."""
    ended_by: float = 0.0
    """When, by the monotonic clock, a run that is no longer linked has ended for certain."""
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
        """Return the link to the run that holds the registration."""
        return None if self.holder is None else self.holder.channel

    def note(self, command: str) -> None:
        """Take note of a command, for a run that is not linked yet, or not yet again."""
        if COMMANDS[command] in ENDS:
            self.end = command
        else:
            self.is_paused = command == "pause"

    def welcome(self) -> Admitted:
        """Return what a run is told when it is let in, with what it is to do at this moment."""
        return Admitted(self.plan.to_json(), self.is_paused, self.end, levels.rules)

    def clear(self) -> bool:
        """End the link of the run that holds the registration; returns whether there was one.

        Offsets that are being stored are stored when this returns, so they are never stored after a successor's.
        """
        holder = self.holder
        if holder is None:
            return False
        holder.turn_away()
        if self.writing.acquire(timeout=WRITE_SECONDS):
            self.writing.release()
        return True


class LinkFailed(ConnectError):
    """The host cannot listen for its tasks."""

    code = "environment.task_link"


class TaskLinkServer:
    """The host's end of all links; events arrive on the links' own threads.

    ``listen`` is the address it listens on, ``host`` the one its tasks are told, which may be another.
    ``tokens`` gives those by which clients of tasks log in.
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
        self._host, self._listen, self._port = host, listen or host, port
        self._identity = identity
        self._context = server_context(identity)
        self._registrations: dict[str, _Registration] = {}
        self._strangers: list[_IncomingConnection] = []
        self._is_crowded = False
        self._lock = threading.Lock()
        self._left = threading.Condition(self._lock)
        self._closed = threading.Event()
        self._listener: socket.socket | None = None

    def start(self) -> tuple[str, int]:
        """Listen, and return the address that tasks are told."""
        family = socket.AF_INET6 if ":" in self._listen else socket.AF_INET
        try:
            self._listener = socket.create_server((self._listen, self._port), family=family, backlog=128)
        except OSError as error:
            raise LinkFailed(
                f"cannot listen for tasks on {self._listen}, port {self._port or 'of any number'}: {error}",
                hint="task.link.port names the port, spark.driver.bindAddress the address of this machine",
            ) from error
        threading.Thread(target=self._accept, name="task-link", daemon=True).start()
        keep_alive(self._channels, self._closed)
        levels.tell(self)
        return self.address

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port as tasks are told."""
        assert self._listener is not None, "start comes first"
        return self._host, int(self._listener.getsockname()[1])

    def expect(
        self, plan: TaskPlan, generation: int, is_paused: bool, hidden: Callable[[str], str] = str
    ) -> LinkAddress:
        """Register this generation of a task, which is told its plan when it links.

        An older one's link is closed and not admitted again. What it logs is shown as ``hidden`` has it.
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
        """Send ``pause``, ``resume``, ``stop`` or ``replace``; a task that is not linked yet gets it when it links."""
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
        """Have the tasks of a connector tell their topics again; one that is not linked has told none."""
        self._notify(self._channels(connector), ForgetTopics())

    def _channels(self, connector: str | None = None) -> list[Channel]:
        """Return the links of the tasks that are linked, all or those of one connector."""
        with self._lock:
            wanted = [each for each in self._registrations.values() if connector in (None, each.connector)]
            return [channel for each in wanted if (channel := each.channel) is not None]

    def _notify(self, channels: Iterable[Channel], notice: Notice) -> None:
        for channel in channels:
            with contextlib.suppress(ChannelClosed):
                channel.notify(notice)

    def on_levels(self, rules: Rules) -> None:
        """Tell all tasks that run what they are to log from now on; others are told when they link."""
        self._notify(self._channels(), SetLevels(dict(rules)))

    def executor_usage(self, connector: str, task: int) -> ExecutorUsage:
        """Ask a task what its executor takes; raises ConnectError where it is not linked, or does not answer soon."""
        with self._lock:
            registration = self._registrations.get(task_id(connector, task))
            channel = None if registration is None else registration.channel
        if channel is None:
            raise ConnectError(f"task {connector}-{task} is not linked", code="task.unlinked")
        return channel.call(AskUsage(), ANSWER_SECONDS)

    def is_linked(self, connector: str, task: int) -> bool:
        """Return whether a run of a task is linked now."""
        with self._lock:
            registration = self._registrations.get(task_id(connector, task))
            return registration is not None and registration.holder is not None

    def await_end(self, connector: str, task: int, timeout: float) -> bool:
        """Wait until the run that was linked has ended for certain; returns whether it has.

        A run whose process ends closes its link. One that fell silent may be there still, until it has noticed.
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
        """Drop the registration of a task that will not come back; returns whether a run was linked."""
        with self._lock:
            registration = self._registrations.pop(task_id(connector, task), None)
        return registration is not None and registration.clear()

    def close(self) -> None:
        """Stop listening and close every link; tasks that run stop themselves."""
        self._closed.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            registrations, self._registrations = list(self._registrations.values()), {}
            strangers, self._strangers = self._strangers, []
        for stranger in strangers:
            stranger.turn_away()
        for registration in registrations:
            registration.clear()

    def _accept(self) -> None:
        """Take in visitors until closed, whatever this machine runs out of meanwhile."""
        assert self._listener is not None
        while not self._closed.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError as error:
                if self._closed.is_set():
                    return
                log.error("tasks cannot link at the moment: %s", error)
                self._closed.wait(_PAUSE_SECONDS)
            else:
                self._receive(connection)

    def _receive(self, connection: socket.socket) -> None:
        """Let a visitor introduce itself; the first of too many that have not has to go."""
        with self._lock:
            first = self._strangers.pop(0) if len(self._strangers) >= MOST_STRANGERS else None
        if first is not None:
            first.turn_away()
            if not self._is_crowded:
                log.warning("more than %d connections to the task link do not introduce themselves", MOST_STRANGERS)
        self._is_crowded = first is not None
        encrypted = EncryptedSocket(connection, self._context, is_server=True)
        visitor = _IncomingConnection(self, encrypted)
        with self._lock:
            self._strangers.append(visitor)
        try:
            visitor.start()
        except (OSError, RuntimeError) as error:  # it is gone already, or no thread is left
            log.error("a task could not link: %s", error)
            self.cross_off(visitor)
            encrypted.close()

    def cross_off(self, visitor: _IncomingConnection) -> None:
        """Count a visitor no longer among the strangers: it has introduced itself, or is gone."""
        with self._lock, contextlib.suppress(ValueError):
            self._strangers.remove(visitor)

    def admit(self, visitor: _IncomingConnection, asked: Introduce) -> _Registration | None:
        """Give a visitor the registration its token belongs to; its former holder is dropped."""
        with self._lock:
            registration = self._registrations.get(asked.task)
            if registration is None or not hmac.compare_digest(registration.token.encode(), asked.token.encode()):
                return None
            before, registration.holder = registration.holder, visitor
        if before is not None:
            before.turn_away()
        return registration

    def leave(self, visitor: _IncomingConnection, registration: _Registration, has_ended: bool) -> None:
        """Note that a link ended, by its task's end or not; only the registration's present holder is missed."""
        with self._left:
            if registration.holder is not visitor:
                return
            registration.holder = None
            # Who is not heard hears nothing either, and ends itself.
            left = 0.0 if has_ended else heartbeat.HEARTBEAT_SECONDS + heartbeat.LAST_RESORT_SECONDS
            registration.ended_by = time.monotonic() + left
            self._left.notify_all()
        self._on_event(TaskEvent(registration.connector, registration.task, registration.generation, "lost"))

    def serve(self, registration: _Registration, message: Message) -> StoredOffsets | None:
        """Answer a task."""
        facts = registration.connector, registration.task, registration.generation
        if isinstance(message, TellStatus):
            self._on_event(TaskEvent(*facts, "status", message.state, message.trace))
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
        elif not isinstance(message, Alive):
            raise LookupError(f"a task that is admitted has no operation {message.op!r}")
        return None

    def token(self, registration: _Registration, asked: GetToken) -> GivenToken:
        """Return a token for a client of a task, which may take a while; raises ConnectError where there is none."""
        if asked.source not in registration.plan.token_sources():
            raise LookupError("no client of that task logs in by such tokens")
        try:
            return self._tokens(asked.source)
        except ConnectError as error:  # of which the text alone travels
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
    """One incoming connection: a stranger until its token is checked."""

    def __init__(self, server: TaskLinkServer, connection: EncryptedSocket) -> None:
        self._server = server
        self._connection = connection
        self._registration: _Registration | None = None
        self.channel = Channel(connection, TO_HOST, self._on_request, self._on_close, "task-link", GREETING_BYTES)

    def start(self) -> None:
        """Begin to listen to it."""
        watch(self._connection)
        self._connection.deadline = time.monotonic() + admission.ADMISSION_SECONDS
        self.channel.start()

    def turn_away(self) -> None:
        """End the connection; does not wait."""
        self._connection.end()

    def _on_request(self, request: Request) -> None:
        with contextlib.suppress(ChannelClosed):  # whoever asked has gone, or was put out meanwhile
            if (registration := self._registration) is not None:
                if isinstance(request.message, GetToken):  # the link is not to wait for its provider
                    threading.Thread(target=self._give_token, args=[request, registration], daemon=True).start()
                else:
                    request.answer(lambda each: self._server.serve(registration, each))
            else:
                self._welcome(request)

    def _give_token(self, request: Request, registration: _Registration) -> None:
        with contextlib.suppress(ChannelClosed):
            request.answer(lambda each: self._server.token(registration, each))

    def _welcome(self, request: Request) -> None:
        self._server.cross_off(self)
        with contextlib.suppress(LookupError, ValueError):  # whatever it said is no introduction
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
        self._server.cross_off(self)
        if self._registration is not None:
            self._server.leave(self, self._registration, self._connection.has_ended)
