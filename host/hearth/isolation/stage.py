"""A stage process, seen from the process that started it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from concurrent.futures import TimeoutError as FutureTimeoutError
from pathlib import Path
from typing import Any, TypeVar

import hearth_api
import hearth_stage
from hearth.isolation.environment import Environment
from hearth_api import Batch, PluginError
from hearth_stage.channel import CallTimeout, Channel, ChannelClosed, Reply, Request
from hearth_stage.failure import RemoteError
from hearth_stage.frame import PROTOCOL_VERSION, widen

START_SECONDS = 30
STACKS_SECONDS = 2
LAST_WORDS = 200
"""Lines of a stage's error output that are kept for the trace."""

_PROGRAM = str(Path(hearth_stage.__file__).parent)

_MEMORY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "2"}
"""Allocators that give memory back: a stage holds one batch at a time, not the largest it ever had."""

_SPARKS_OWN = ("PYSPARK_", "PYTHON_WORKER_FACTORY_")

T = TypeVar("T")

# Linux kills a stage when the *thread* that started it ends, so one thread that never ends starts them all.
_starter = ThreadPoolExecutor(max_workers=1, thread_name_prefix="stage-starter")


class StageDied(PluginError):
    """The stage process ended while it was needed; its last words are in the trace."""

    code = "stage.died"

    def __init__(self, name: str, status: int | None, words: str) -> None:
        how = f"was killed by signal {-status}" if status is not None and status < 0 else f"exited with {status}"
        super().__init__(f"the stage process of {name} {how}")
        self.trace = f"{self}\nits last words:\n{words}" if words else f"{self}, without a word"


class StageTimeout(PluginError):
    """The stage process did not answer in time."""

    code = "stage.timeout"

    def __init__(self, name: str, op: str, seconds: float, stacks: str, words: str) -> None:
        super().__init__(f"the stage process of {name} did not answer {op!r} within {seconds:g} s")
        self.op = op
        where = f"\nwhat it was doing:\n{stacks}" if stacks else "\nit did not even say what it was doing"
        self.trace = f"{self}{where}" + (f"\nits last words:\n{words}" if words else "")


class Stage:
    """A running stage process.

    ``on_request`` answers what the stage asks (``offsets.read`` and the like) and takes its notices; it runs on the
    stage's reader thread, so it must be quick. ``limit`` bounds, in seconds, every call that names no timeout of its
    own: a plugin that hangs is told from one that works by nothing else.
    """

    def __init__(
        self,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None] | None = None,
        on_death: Callable[[], None] | None = None,
        limit: float | None = None,
    ) -> None:
        self.name = name
        self.limit = limit
        self._on_request = on_request
        self._on_death = on_death
        self._words: deque[str] = deque(maxlen=LAST_WORDS)
        self._hello: Future[dict[str, Any]] = Future()
        self._unwanted: Future[None] = Future()
        ours, theirs = socket.socketpair()
        widen(ours)
        widen(theirs)
        with theirs:
            command = _command(environment, theirs.fileno())
            self._process = _starter.submit(_spawn, command, theirs.fileno()).result()
        self._listener = threading.Thread(target=self._listen, name=f"{name}-stderr", daemon=True)
        self._listener.start()
        self._channel = Channel(ours, self._receive, self._end, name=name).start()

    @classmethod
    def start(
        cls,
        environment: Environment,
        name: str,
        on_request: Callable[[str, dict[str, Any]], dict[str, Any] | None] | None = None,
        on_death: Callable[[], None] | None = None,
    ) -> Stage:
        """Start a stage process in an environment and wait until it speaks."""
        answer = None
        if on_request is not None:
            answers = on_request

            def answer(request: Request) -> None:
                request.answer(lambda each: Reply(answers(each.op, each.args) or {}))

        stage = cls(environment, name, answer, on_death)
        stage.await_hello()
        return stage

    @property
    def pid(self) -> int:
        """Return the process id."""
        return self._process.pid

    @property
    def last_words(self) -> str:
        """Return the end of what the process wrote to its error output."""
        return "".join(self._words)

    def await_hello(self, timeout: float = START_SECONDS) -> None:
        """Wait for the stage's first word and check its protocol version; one that fails here is ended."""
        try:
            self._check_hello(timeout)
        except PluginError:
            self.close(grace=0)
            raise

    def _check_hello(self, timeout: float) -> None:
        try:
            version = self._await(self._hello, timeout).get("protocol")
        except ChannelClosed:
            raise self._died() from None
        except FutureTimeoutError:
            raise self.timed_out("start", timeout) from None
        if version != PROTOCOL_VERSION:
            raise PluginError(f"the stage process speaks protocol {version}, this host {PROTOCOL_VERSION}")

    def call(
        self,
        op: str,
        args: dict[str, Any] | None = None,
        batches: Sequence[Batch] = (),
        timeout: float | None = None,
    ) -> Reply:
        """Send a request and wait for its answer.

        Raises ``RemoteError`` (a ``PluginError``) with what the plugin raised, ``StageDied`` or ``StageTimeout``.
        """
        return self.result(self.begin(op, args, batches), op, timeout)

    def begin(self, op: str, args: dict[str, Any] | None = None, batches: Sequence[Batch] = ()) -> Future[Reply]:
        """Send a request; ``result`` waits for its answer."""
        try:
            return self._channel.begin(op, args, batches)
        except ChannelClosed:
            raise self._died() from None

    def result(self, answer: Future[Reply], op: str, timeout: float | None = None) -> Reply:
        """Wait for the answer of ``begin``."""
        seconds = self.limit if timeout is None else timeout
        try:
            return self._await(answer, seconds)
        except ChannelClosed:
            raise self._died() from None
        except FutureTimeoutError:
            raise self.timed_out(op, seconds or 0) from None

    def let_go(self, error: Exception) -> None:
        """End every wait for an answer, now and from now on, with an error; the process is left to ``close``.

        May be called once, from any thread: whoever waits for a plugin hears in time that nobody wants its answer.
        """
        self._unwanted.set_exception(error)

    def _await(self, answer: Future[T], seconds: float | None) -> T:
        either: tuple[Future[Any], ...] = (answer, self._unwanted)
        wait(either, seconds, FIRST_COMPLETED)
        if self._unwanted.done() and not answer.done():
            self._unwanted.result()
        return answer.result(0)

    def timed_out(self, op: str, seconds: float) -> StageTimeout:
        """Return the error that says that the stage did not answer, and what all its threads were doing."""
        try:
            stacks = self._channel.call("stacks", timeout=STACKS_SECONDS).args["stacks"]
        except (ChannelClosed, CallTimeout):
            stacks = ""
        return StageTimeout(self.name, op, seconds, stacks, self.last_words)

    def notify(self, op: str, args: dict[str, Any] | None = None) -> None:
        """Send a notice."""
        try:
            self._channel.notify(op, args)
        except ChannelClosed:
            raise self._died() from None

    def died(self) -> StageDied:
        """Return the error that describes the end of the process."""
        return self._died()

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self._channel.closed.is_set() and self._process.returncode is None

    def close(self, grace: float = 1.0) -> None:
        """End the process: it goes when its connection does, and is killed when it has not after ``grace`` seconds."""
        self._channel.close()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
        self._listener.join(timeout=1)

    def kill(self) -> None:
        """End the process by force."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()

    def _receive(self, request: Request) -> None:
        if request.op == "hello":
            self._hello.set_result(request.args)
        elif self._on_request is not None:
            self._on_request(request)
        else:
            request.fail(LookupError(f"nobody here answers {request.op!r}"))

    def _end(self) -> None:
        if not self._hello.done():
            self._hello.set_exception(ChannelClosed("the stage ended before it spoke"))
        if self._on_death is not None:
            self._on_death()

    def _died(self) -> StageDied:
        try:
            status: int | None = self._process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
            status = self._process.returncode
        self._listener.join(timeout=1)
        return StageDied(self.name, status, self.last_words)

    def _listen(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            for line in errors:
                self._words.append(line)
                sys.stderr.write(f"[{self.name}] {line}")


def _spawn(command: list[str], descriptor: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        env={**_environment(), **_MEMORY},
        pass_fds=[descriptor],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def _environment() -> dict[str, str]:
    """Return this process's environment without what Spark put there for itself, its workers' secret among it."""
    return {key: value for key, value in os.environ.items() if not key.startswith(_SPARKS_OWN)}


def _command(environment: Environment, descriptor: int) -> list[str]:
    base = [str(Path(hearth_api.__file__).parent.parent), str(Path(hearth_stage.__file__).parent.parent)]
    sites = list(environment.paths)
    return [environment.python, "-I", "-S", _PROGRAM, str(descriptor), *sites, "--", *base, *_packages()]


def _packages() -> list[str]:
    """Return the host's package directories, which hold the base layer."""
    return [entry for entry in sys.path if entry.endswith(("site-packages", "dist-packages"))]


__all__ = ["RemoteError", "Stage", "StageDied", "StageTimeout"]
