"""A stage process, as the caller of its plugins sees it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, InvalidStateError, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from hearth.isolation.environment import Environment
from hearth.isolation.stage_connection import PLAIN, StageConnection, StageKind
from hearth.isolation.stage_error import StageBroken, StageDied, StageNotStarted, StageOverLimit, StageTimeout
from hearth_api import ConnectError, PluginError
from hearth_execution.failure import TRACE_CHARACTERS, RemoteError, cut
from hearth_stage.call import Call, Notice
from hearth_stage.channel import ChannelClosed, Request
from hearth_stage.frame import PROTOCOL_VERSION
from hearth_stage.operation import Hello
from hearth_stage.plugin_call import AskStacks

START_SECONDS = 30
END_SECONDS = 5
STACKS_SECONDS = 2

E = TypeVar("E", "StageDied", "StageBroken", "StageTimeout")
R = TypeVar("R")
T = TypeVar("T")


class Stage:
    """Plugins in a stage process: the whole process, which ends with ``close``, or one tenant of a shared one.

    ``limit`` is the default timeout of a call in seconds: nothing else tells a hanging plugin from a slow one.
    ``plugins`` names the plugins and their bundle, for messages.
    """

    def __init__(
        self, connection: StageConnection, name: str, limit: float | None = None, plugins: str = "", tenant: int = 0
    ) -> None:
        self.name = name
        self.limit = limit
        self.connection = connection
        self._plugins = plugins
        self._tenant = tenant
        self._unwanted: Future[None] = Future()

    @classmethod
    def open(
        cls,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None] | None = None,
        on_death: Callable[[Stage], None] | None = None,
        limit: float | None = None,
        label: str | None = None,
        plugins: Sequence[str] = (),
        kind: StageKind = PLAIN,
    ) -> Stage:
        """Return a stage with its own process, which may not have sent its hello yet.

        ``on_request`` answers requests of the stage (``offsets.read`` and the like) and receives its notices, on the
        stage's reader thread, so it must be quick. So must ``on_death``, which is called with the stage when its
        connection ends.
        """
        opened: Future[Stage] = Future()

        def end() -> None:
            if on_death is not None:
                opened.add_done_callback(lambda future: on_death(future.result()))

        connection = StageConnection(environment, name, on_request or _refuse, end, label, kind)
        stage = cls(connection, name, limit, named(plugins, environment))
        opened.set_result(stage)
        return stage

    @classmethod
    def start(
        cls,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None] | None = None,
        on_death: Callable[[Stage], None] | None = None,
        kind: StageKind = PLAIN,
    ) -> Stage:
        """Start a stage process in an environment and wait for its hello."""
        stage = cls.open(environment, name, on_request, on_death, kind=kind)
        stage.await_hello()
        return stage

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self.connection.process.pid

    @property
    def takes_tenants(self) -> bool:
        """Return whether several tenants may share the process; call it after the hello."""
        return self.connection.hello.result(0).tenants

    @property
    def last_words(self) -> str:
        """Return the end of the process's error output."""
        return self.connection.last_words

    def await_hello(self, timeout: float = START_SECONDS) -> None:
        """Wait for the stage's hello and check its protocol version; kills a stage that fails."""
        try:
            self._check_hello(timeout)
        except PluginError:
            self.close(grace=0)
            raise

    def _check_hello(self, timeout: float) -> None:
        hello: Future[Hello] = self.connection.hello
        try:
            version = self._await(hello, timeout, self._unwanted).protocol
        except ChannelClosed:
            raise self.died() from None
        except FutureTimeoutError:
            raise self.timed_out("start", timeout) from None
        if version != PROTOCOL_VERSION:
            raise PluginError(f"the stage process speaks protocol {version}, this host {PROTOCOL_VERSION}")

    def call(self, call: Call[R], timeout: float | None = None) -> R:
        """Send a call and wait for its answer.

        Raises ``RemoteError`` (a ``PluginError``) with what the plugin raised, ``StageDied``, ``StageBroken`` or
        ``StageTimeout``.
        """
        return self.result(self.begin(call), call.op, timeout)

    def begin(self, call: Call[R]) -> Future[R]:
        """Send a call; ``result`` waits for its answer."""
        try:
            return self.connection.channel.begin(call, self._tenant)
        except ChannelClosed:
            raise self.died() from None

    def result(
        self, answer: Future[R], op: str, timeout: float | None = None, unwanted: Future[None] | None = None
    ) -> R:
        """Wait for an answer of ``begin``; if ``unwanted`` fails first, raise its error."""
        seconds = self.limit if timeout is None else timeout
        try:
            return self._await(answer, seconds, unwanted or self._unwanted)
        except ChannelClosed:
            raise self.died() from None
        except FutureTimeoutError:
            raise self.timed_out(op, seconds or 0) from None
        except ValueError as error:
            raise self.broken(error) from error

    def let_go(self, error: Exception) -> None:
        """Fail every wait for an answer, now and later, with an error; ``close`` ends the process.

        May be called from any thread and more than once: a waiting thread returns although the plugin still works.
        """
        with contextlib.suppress(InvalidStateError):  # the first error wins
            self._unwanted.set_exception(error)

    @staticmethod
    def _await(answer: Future[T], seconds: float | None, unwanted: Future[None]) -> T:
        either: tuple[Future[Any], ...] = (answer, unwanted)
        wait(either, seconds, FIRST_COMPLETED)
        if unwanted.done() and (not answer.done() or isinstance(answer.exception(), ChannelClosed)):
            unwanted.result()  # also if the process has been ended since: that is no answer
        return answer.result(0)

    def timed_out(self, op: str, seconds: float) -> PluginError:
        """Return the error for a call that was not answered in time, with the stacks of all threads of the stage."""
        try:
            stacks = self.connection.channel.call(AskStacks(), timeout=STACKS_SECONDS).stacks
        except (ConnectError, ValueError):
            stacks = ""
        return self._with_plugins(StageTimeout(self.name, op, seconds, cut(stacks, TRACE_CHARACTERS), self.last_words))

    def broken(self, fault: Exception) -> PluginError:
        """Kill the process after a malformed message, and return the error that describes it."""
        self.close(grace=0)
        return self._with_plugins(StageBroken(self.name, cut(str(fault), 1000), self.last_words))

    def notify(self, notice: Notice) -> None:
        """Send a notice."""
        try:
            self.connection.channel.notify(notice, self._tenant)
        except ChannelClosed:
            raise self.died() from None

    def died(self) -> PluginError:
        """Return the error that describes how the process ended."""
        fault = self.connection.channel.fault
        status = self.connection.await_end(END_SECONDS if fault is None else 0)
        if self.connection.excess:
            return self._with_plugins(StageOverLimit(self.name, self.connection.excess, self.last_words))
        if fault is not None:
            return self._with_plugins(StageBroken(self.name, fault, self.last_words))
        return self._with_plugins(StageDied(self.name, status, self.last_words))

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return self.connection.is_alive

    def close(self, grace: float = 1.0) -> None:
        """Close the connection, which ends the process; kills it after ``grace`` seconds."""
        self.connection.close(grace)

    def kill(self) -> None:
        """Kill the process."""
        self.connection.process.end(grace=0)

    def _with_plugins(self, error: E) -> E:
        """Return an error with the stage's plugins in the second line of its trace: a task may have several stages."""
        first, *rest = (error.trace or str(error)).split("\n", 1)
        error.trace = "\n".join(filter(None, [first, self._plugins, *rest]))
        return error


def named(plugins: Sequence[str], environment: Environment) -> str:
    """Return the line of a message that names the plugins of a stage."""
    return f"in it: {', '.join(plugins)} of {environment.bundle or 'the host'}" if plugins else ""


def _refuse(request: Request) -> None:
    _ = request.message  # raises if it is malformed
    request.fail(LookupError(f"no handler answers {request.op!r}"))


__all__ = ["RemoteError", "Stage", "StageBroken", "StageDied", "StageNotStarted", "StageOverLimit", "StageTimeout"]
