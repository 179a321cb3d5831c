"""The process of a stage and the connection to it, shared by all its tenants."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar, cast

from hearth.foundation.log_context import hand_on
from hearth.foundation.log_level import Rules, levels
from hearth.isolation.enforcement import Enforcement
from hearth.isolation.environment import Environment
from hearth.isolation.forked_process import ForkPlan, NotForked, is_able
from hearth.isolation.output import ProcessOutput
from hearth.isolation.stage_error import EnvironmentMissing, StageNotStarted
from hearth.isolation.stage_lineage import forget, note
from hearth.isolation.stage_process import StageProcess, StartedProcess
from hearth_stage.channel import Channel, ChannelClosed, Request
from hearth_stage.forked import NAME
from hearth_stage.frame import widen
from hearth_stage.limit import NO_LIMITS
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.operation import FROM_STAGE, Hello
from hearth_stage.preload import AGREED

_KEPT_BYTES = str(8 << 20)
_MEMORY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_MMAP_THRESHOLD_": _KEPT_BYTES,
    "MALLOC_TRIM_THRESHOLD_": _KEPT_BYTES,
}
"""Makes the allocators return memory: a stage holds one batch at a time, not the largest it ever had.

They keep 8 MiB, so that the batches of a running task need not be mapped and cleared one after the other.
"""

ARROW = ("hearth_stage.first_array",)
"""Modules that a stage with columns loads."""

FRAME_BYTES = 1 << 30
"""Longest frame accepted from the stage of a task."""

P = TypeVar("P", bound=StageProcess)

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class StageKind:
    """How to start a stage process, and how much it may send at once.

    A stage that ``has_columns`` is forked from a process that has loaded Arrow. With ``more_follow`` even the first
    stage of an environment is forked, and ``close`` does not wait for the process to end.
    """

    has_columns: bool = False
    more_follow: bool = False
    frame_limit: int = FRAME_BYTES


PLAIN = StageKind()
TASKS = StageKind(has_columns=True)
BRIEF_TASKS = StageKind(has_columns=True, more_follow=True)
"""Short tasks followed by others: the next stages of an environment start at once."""


class StageConnection:
    """A running stage process: the first of an environment is started, others are forked if possible.

    ``on_request`` receives the stage's requests and notices on the reader thread; ``on_end`` is called there when the
    connection ends. What its plugins log and print goes to this process's log under ``label``, or under the tenant's
    label in ``labels`` if several share the stage; both may change with the stage's user. Log levels are those of this
    process.

    The process leads its own session and group: a signal that a plugin sends to its group, or a terminal to its own,
    does not reach other stages, and what a plugin started ends with it. Its messages are not trusted: no frame may be
    longer than its kind allows, columns are checked, texts are cut.
    """

    def __init__(
        self,
        environment: Environment,
        name: str,
        on_request: Callable[[Request], None],
        on_end: Callable[[], None],
        label: str | None = None,
        kind: StageKind = PLAIN,
    ) -> None:
        self.label = label
        self.labels: dict[int, str | None] = {}
        self.hello: Future[Hello] = Future()
        self._on_request = on_request
        self._on_end = on_end
        self._process_output = ProcessOutput(self._log_line)
        self._enforcement = Enforcement(environment.confinement.limits)
        try:
            limited = environment.limited(self._enforcement.limits)
            modules = _loaded(limited) if kind.has_columns else ()
            wanted = limited if kind.has_columns else limited.brief()
            ours, self.process = _open_process(wanted, name, modules, more_follow=kind.more_follow)
        except BaseException:
            self._enforcement.end()
            raise
        note(self.process.lineage, name)
        self._enforcement.begin(self.process)
        self._is_brief = kind.more_follow
        self._listener = threading.Thread(target=self._listen, name=f"{name}-output", daemon=True)
        self._listener.start()
        self.channel = Channel(
            ours, FROM_STAGE, self._receive, self._end, name=name, limit=kind.frame_limit, is_trusted=False
        )
        self.channel.start()
        levels.subscribe(self)

    @property
    def is_alive(self) -> bool:
        """Return whether the process can still be called."""
        return not self.channel.closed.is_set() and not self.process.has_ended

    @property
    def last_words(self) -> str:
        """Return the end of the process's error output."""
        return self._process_output.end

    @property
    def excess(self) -> str:
        """Return which limit the process exceeded, if it was killed for that; known once it has ended."""
        return self._enforcement.excess

    def share_log(self, tenants: int) -> None:
        """Allow the log volume of several processes; each tenant keeps to its share."""
        self._process_output.budget.tenants = max(1, tenants)

    def close(self, grace: float) -> None:
        """Close the connection, which ends the process; kills it after ``grace`` seconds."""
        self.channel.close()
        if self._is_brief and grace > 0:
            threading.Thread(target=self.await_end, args=[grace], name="stage-end").start()
        else:
            self.await_end(grace)

    def await_end(self, grace: float) -> int | None:
        """Wait for the process and its children to end; kills them after ``grace`` seconds. Returns its status."""
        self._enforcement.rest()
        status = self.process.end(grace)
        forget(self.process.lineage)
        self._enforcement.end()
        self._listener.join(timeout=1)
        return status

    def on_levels(self, rules: Rules) -> None:
        """Send the process its new log levels."""
        with contextlib.suppress(ChannelClosed):
            self.channel.notify(SetLevels(dict(rules)))

    def _receive(self, request: Request) -> None:
        if request.kind is Hello:
            self.hello.set_result(cast(Hello, request.message))
        else:
            self._on_request(request)

    def _end(self) -> None:
        if not self.hello.done():
            self.hello.set_exception(ChannelClosed("the stage ended before its hello"))
        self._on_end()

    def _listen(self) -> None:
        with self.process.output as output:
            self._process_output.copy(output)

    def _log_line(self, line: LogLine) -> None:
        hand_on(line, self.labels.get(line.tenant, self.label))


def _loaded(environment: Environment) -> Sequence[str]:
    """Return the modules to preload; none of a bundle with limits, which preloading would not respect."""
    return ARROW if environment.confinement.limits != NO_LIMITS else (*ARROW, AGREED)


def _open_process(
    environment: Environment, name: str, modules: Sequence[str], *, more_follow: bool
) -> tuple[socket.socket, StageProcess]:
    """Fork or start the process; returns this side of the connection as well."""
    if (path := environment.missing) is not None:
        raise EnvironmentMissing(name, environment.bundle, path)
    confinement = environment.confinement
    variables = {**confinement.passed_of(os.environ), **_MEMORY, **confinement.variables}
    try:
        if environment.is_forkable:
            programs = os.path.dirname(environment.start_line()[0])
            variables["PATH"] = os.pathsep.join([programs, variables.get("PATH", os.defpath)])
        if environment.is_forkable and is_able():
            plan = ForkPlan(environment, variables, modules)
            if not more_follow and (claim := plan.claim_first()) is not None:
                return _started(environment, name, variables, claim)
            try:
                return _connected(lambda connection: plan.fork(connection, name))
            except NotForked as error:
                log.warning("cannot fork the stage process of %s, starting it without shared memory: %s", name, error)
        return _started(environment, name, variables)
    except OSError as error:
        raise StageNotStarted(name, error) from error


def _started(
    environment: Environment, name: str, variables: Mapping[str, str], claim: socket.socket | None = None
) -> tuple[socket.socket, StageProcess]:
    limits = environment.confinement.limits
    command, is_ours = limits.bound(environment.start_line()), environment.is_forkable or limits != NO_LIMITS
    if environment.is_forkable:
        variables = {**variables, NAME: name.replace("\0", " ")}
    with contextlib.ExitStack() as failed:
        if claim is not None:
            failed.push(claim)
        begun = _connected(lambda connection: StartedProcess(command, variables, connection, claim, is_ours=is_ours))
        failed.pop_all()
        return begun


def _connected(begin: Callable[[int], P]) -> tuple[socket.socket, P]:
    """Start a process with one side of a connection; returns the other side as well."""
    ours, theirs = socket.socketpair()
    with contextlib.ExitStack() as failed, theirs:
        failed.push(ours)
        widen(ours)
        widen(theirs)
        process = begin(theirs.fileno())
        failed.pop_all()
        return ours, process
