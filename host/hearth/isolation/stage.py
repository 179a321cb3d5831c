"""A stage process, seen from the process that started it."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import platform
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any, TypeVar

from hearth.foundation.descriptor import FILES_HINT, OUT_OF_FILES
from hearth.foundation.log_context import hand_on
from hearth.foundation.log_level import Rules, levels
from hearth.isolation.environment import Environment
from hearth.isolation.forked_process import ForkPlan, NotForked, is_able
from hearth.isolation.output import ProcessOutput
from hearth.isolation.stage_process import StageProcess, StartedProcess
from hearth_api import ConnectError, PluginError
from hearth_execution.failure import TRACE_CHARACTERS, RemoteError, cut
from hearth_stage.call import Call, Notice
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.frame import PROTOCOL_VERSION, widen
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.operation import FROM_STAGE, Hello
from hearth_stage.plugin_call import AskStacks

START_SECONDS = 30
END_SECONDS = 5
STACKS_SECONDS = 2
FRAME_BYTES = 1 << 30
"""Longest frame that is taken from the stage of a task."""

_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""Allocators that give memory back: a stage holds one batch at a time, not the largest it ever had."""

ARROW = ("hearth_stage.first_array",)
"""What a stage loads through which batches go."""

_SPARKS_OWN = ("PYSPARK_", "PYTHON_WORKER_FACTORY_")

E = TypeVar("E", "StageDied", "StageBroken", "StageTimeout")
R = TypeVar("R")
T = TypeVar("T")

P = TypeVar("P", bound=StageProcess)

log = logging.getLogger(__name__)


class StageDied(PluginError):
    """The stage process ended while it was needed; its last words are in the trace."""

    code = "stage.died"

    def __init__(self, name: str, status: int | None, words: str) -> None:
        super().__init__(f"the stage process of {name} {_how(status)}")
        self.trace = f"{self}\nits last words:\n{words}" if words else f"{self}, without a word"


def _how(status: int | None) -> str:
    """Return in words how a process ended."""
    if status is None:
        return "ended, and so did its fork server, which alone could tell how"
    return f"was killed by signal {-status}" if status < 0 else f"exited with {status}"


class StageNotStarted(PluginError):
    """The machine does not let the stage process start, or lacks the program that the environment names."""

    code = "stage.start"

    def __init__(self, name: str, error: OSError) -> None:
        is_full = error.errno in OUT_OF_FILES
        place = "" if is_full or error.filename is None else f": {os.fsdecode(error.filename)!r}"
        hint = FILES_HINT if is_full else None
        if error.errno == errno.ENOENT:
            hint = f"its environment names this program, which {platform.node()} has to have at the same path"
        super().__init__(f"the stage process of {name} was not started: {error.strerror or error}{place}", hint=hint)
        self.trace = f"{self}\n{hint}" if hint else str(self)


class StageBroken(PluginError):
    """The stage process said something that the protocol does not know, so it was ended."""

    code = "stage.protocol"

    def __init__(self, name: str, fault: str, words: str) -> None:
        super().__init__(f"the stage process of {name} broke the protocol and was ended: {fault}")
        self.trace = f"{self}\nits last words:\n{words}" if words else str(self)


class StageTimeout(PluginError):
    """The stage process did not answer in time."""

    code = "stage.timeout"

    def __init__(self, name: str, op: str, seconds: float, stacks: str, words: str) -> None:
        super().__init__(f"the stage process of {name} did not answer {op!r} within {seconds:g} s")
        self.op = op
        where = f"\nwhat it was doing:\n{stacks}" if stacks else "\nit did not even say what it was doing"
        self.trace = f"{self}{where}" + (f"\nits last words:\n{words}" if words else "")


class Stage:
    """A running stage process: the first of an environment is started, others are forked where that can be done.

    ``on_request`` answers what the stage asks (``offsets.read`` and the like) and takes its notices; it runs on the
    stage's reader thread, so it must be quick. So must ``on_death``, which is given the stage when its connection
    ends: that may be before whoever starts the stage has it. ``limit`` bounds, in seconds, every call that names no
    timeout of its own: a plugin that hangs is told from one that works by nothing else.

    What its plugins log and print goes to the log of this process, under ``label``, or where several share the stage
    under that of the tenant in ``labels``; both may change with whom the stage works for. Their levels are those of
    this process. ``plugins`` are those that run in it, for messages.

    The process leads a session and a group of its own: a signal that a plugin sends to its group, or a terminal to
    its, reaches no neighbour, and what a plugin started ends with it. What it sends is not trusted: no frame may be
    longer than ``frame_limit``, columns are checked, texts are cut. Where it ``has_columns`` it is forked from a
    process that has Arrow.
    """

    def __init__(
        self,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None] | None = None,
        on_death: Callable[[Stage], None] | None = None,
        limit: float | None = None,
        frame_limit: int = FRAME_BYTES,
        label: str | None = None,
        plugins: Sequence[str] = (),
        has_columns: bool = False,
    ) -> None:
        self.name = name
        self._plugins = f"in it: {', '.join(plugins)} of {environment.bundle or 'the host'}" if plugins else ""
        self.limit = limit
        self.label = label
        self.labels: dict[int, str | None] = {}
        self._on_request = on_request
        self._on_death = on_death
        self._words = ProcessOutput(self._say)
        self._hello: Future[Hello] = Future()
        self._unwanted: Future[None] = Future()
        ours, self._process = _begun(environment, name, ARROW if has_columns else ())
        self._listener = threading.Thread(target=self._listen, name=f"{name}-output", daemon=True)
        self._listener.start()
        self._channel = Channel(
            ours, FROM_STAGE, self._receive, self._end, name=name, limit=frame_limit, is_trusted=False
        )
        self._channel.start()
        levels.tell(self)

    @classmethod
    def start(
        cls,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None] | None = None,
        on_death: Callable[[Stage], None] | None = None,
        frame_limit: int = FRAME_BYTES,
    ) -> Stage:
        """Start a stage process in an environment and wait until it speaks."""
        stage = cls(environment, name, on_request, on_death, frame_limit=frame_limit)
        stage.await_hello()
        return stage

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def takes_tenants(self) -> bool:
        """Return whether several may share the process; asked when it has spoken."""
        return self._hello.result(0).tenants

    def share_log(self, tenants: int) -> None:
        """Take as much to the log as of so many processes; each of its tenants keeps to its own part."""
        self._words.budget.sharers = max(1, tenants)

    @property
    def last_words(self) -> str:
        """Return the end of what the process wrote to its error output."""
        return self._words.end

    def await_hello(self, timeout: float = START_SECONDS) -> None:
        """Wait for the stage's first word and check its protocol version; one that fails here is ended."""
        try:
            self._check_hello(timeout)
        except PluginError:
            self.close(grace=0)
            raise

    def _check_hello(self, timeout: float) -> None:
        try:
            version = self._await(self._hello, timeout, self._unwanted).protocol
        except ChannelClosed:
            raise self._died() from None
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

    def begin(self, call: Call[R], tenant: int = 0) -> Future[R]:
        """Send a call, perhaps to one of several tenants; ``result`` waits for its answer."""
        try:
            return self._channel.begin(call, tenant)
        except ChannelClosed:
            raise self._died() from None

    def result(
        self, answer: Future[R], op: str, timeout: float | None = None, unwanted: Future[None] | None = None
    ) -> R:
        """Wait for the answer of ``begin``, unless ``unwanted`` is over first, whose error is raised then."""
        seconds = self.limit if timeout is None else timeout
        try:
            return self._await(answer, seconds, unwanted or self._unwanted)
        except ChannelClosed:
            raise self._died() from None
        except FutureTimeoutError:
            raise self.timed_out(op, seconds or 0) from None
        except ValueError as error:
            self.close(grace=0)
            raise self._told(StageBroken(self.name, cut(str(error), 1000), self.last_words)) from error

    def let_go(self, error: Exception) -> None:
        """End every wait for an answer, now and from now on, with an error; the process is left to ``close``.

        May be called once, from any thread: whoever waits for a plugin hears in time that nobody wants its answer.
        """
        self._unwanted.set_exception(error)

    @staticmethod
    def _await(answer: Future[T], seconds: float | None, unwanted: Future[None]) -> T:
        either: tuple[Future[Any], ...] = (answer, unwanted)
        wait(either, seconds, FIRST_COMPLETED)
        if unwanted.done() and (not answer.done() or isinstance(answer.exception(), ChannelClosed)):
            unwanted.result()  # also where the process has been ended since: that is no answer
        return answer.result(0)

    def timed_out(self, op: str, seconds: float) -> StageTimeout:
        """Return the error that says that the stage did not answer, and what all its threads were doing."""
        try:
            stacks = self._channel.call(AskStacks(), timeout=STACKS_SECONDS).stacks
        except (ConnectError, ValueError):
            stacks = ""
        return self._told(StageTimeout(self.name, op, seconds, cut(stacks, TRACE_CHARACTERS), self.last_words))

    def notify(self, notice: Notice) -> None:
        """Send a notice."""
        try:
            self._channel.notify(notice)
        except ChannelClosed:
            raise self._died() from None

    def died(self) -> StageDied | StageBroken:
        """Return the error that describes the end of the process."""
        return self._died()

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._channel.closed.is_set() and not self._process.has_ended

    def close(self, grace: float = 1.0) -> None:
        """End the process: it goes when its connection does, and is killed when it has not after ``grace`` seconds."""
        self._channel.close()
        self._await_end(grace)

    def kill(self) -> None:
        """End the process by force."""
        self._process.end(grace=0)

    def on_levels(self, rules: Rules) -> None:
        """Tell the process what is to be logged from now on."""
        with contextlib.suppress(ChannelClosed):
            self._channel.notify(SetLevels(dict(rules)))

    def _receive(self, request: Request) -> None:
        if isinstance(hello := request.message, Hello):
            self._hello.set_result(hello)
        elif self._on_request is not None:
            self._on_request(request)
        else:
            request.fail(LookupError(f"nobody here answers {request.op!r}"))

    def _end(self) -> None:
        if not self._hello.done():
            self._hello.set_exception(ChannelClosed("the stage ended before it spoke"))
        if self._on_death is not None:
            self._on_death(self)

    def _died(self) -> StageDied | StageBroken:
        fault = self._channel.fault
        status = self._await_end(END_SECONDS if fault is None else 0)
        if fault is not None:
            return self._told(StageBroken(self.name, fault, self.last_words))
        return self._told(StageDied(self.name, status, self.last_words))

    def _told(self, error: E) -> E:
        """Return an error whose trace says in its second line whose process it is about: a task may have several."""
        first, *rest = (error.trace or str(error)).split("\n", 1)
        error.trace = "\n".join(filter(None, [first, self._plugins, *rest]))
        return error

    def _await_end(self, grace: float) -> int | None:
        """Wait for the process to end, by force after ``grace`` seconds, with what it started; returns its status."""
        status = self._process.end(grace)
        self._listener.join(timeout=1)
        return status

    def _listen(self) -> None:
        with self._process.output as output:
            self._words.copy(output)

    def _say(self, line: LogLine) -> None:
        hand_on(line, self.labels.get(line.tenant, self.label))


def _begun(environment: Environment, name: str, modules: Sequence[str]) -> tuple[socket.socket, StageProcess]:
    """Fork the process, or start it; returns this side of the connection as well."""
    variables = {**_environment(), **_MEMORY}
    try:
        if environment.is_forkable and is_able():
            plan = ForkPlan(environment, variables, modules)
            if (claim := plan.claim_first()) is not None:
                return _started(environment, variables, claim)
            try:
                return _connected(lambda connection: plan.fork(connection, name))
            except NotForked as error:
                log.warning("the stage process of %s is started anew, and shares no memory: %s", name, error)
        return _started(environment, variables)
    except OSError as error:
        raise StageNotStarted(name, error) from error


def _started(
    environment: Environment, variables: Mapping[str, str], claim: socket.socket | None = None
) -> tuple[socket.socket, StageProcess]:
    command = environment.command_line()
    with contextlib.ExitStack() as failed:
        if claim is not None:
            failed.push(claim)
        begun = _connected(lambda connection: StartedProcess(command, variables, connection, claim))
        failed.pop_all()
        return begun


def _connected(begin: Callable[[int], P]) -> tuple[socket.socket, P]:
    """Begin a process with one side of a connection; returns the other as well."""
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as failed, theirs:
        failed.push(ours)
        widen(ours)
        widen(theirs)
        process = begin(theirs.fileno())
        failed.pop_all()
        return ours, process


def _environment() -> dict[str, str]:
    """Return this process's environment without what Spark put there for itself, its workers' secret among it."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_SPARKS_OWN)}


__all__ = ["RemoteError", "Stage", "StageBroken", "StageDied", "StageTimeout"]
