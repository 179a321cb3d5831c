"""The messages between a task and its host; ``PROTOCOL.md`` lists them in section 11."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, Notice, operations
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets
from hearth_stage.plugin_call import Metric
from hearth_stage.token_call import GivenToken


@dataclass(frozen=True)
class Admitted:
    """A task's plan, whether it starts paused, the command it has missed, if any, and its log levels."""

    plan: dict[str, Any] = field(repr=False)
    paused: bool = False
    command: str | None = None
    levels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Introduce(Call[Admitted], op="hello"):
    """A task's first message: its id, and the token that proves it."""

    task: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class TellStatus(Call[None], op="status"):
    """Reports the task's state; the one that ends a run has its last counts, see ``Alive``."""

    state: str
    trace: str | None = None
    counts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class AddTopics(Notice, op="topics.add"):
    """Reports topics that the task has used for the first time, or since the host last forgot them."""

    topics: list[str]


@dataclass(frozen=True)
class WriteOffsets(Call[None], op="offsets.write"):
    """Source offsets to store, each with its partition; answered when they are durable."""

    offsets: list[tuple[Any, Any]]


@dataclass(frozen=True)
class GetToken(Call[GivenToken], op="tokens.get"):
    """Requests a token with which a client of the task logs in; ``source`` comes from that client's settings."""

    source: str = field(repr=False)


@dataclass(frozen=True)
class Alive(Notice, op="alive"):
    """Heartbeat of this side; a task's has the ``TaskCounts`` that have changed since those that it sent before.

    With ``is_watched`` the host asks for ``TellPlugins`` as well: somebody has read its metrics lately.
    """

    counts: dict[str, float] = field(default_factory=dict)
    is_watched: bool = False


@dataclass(frozen=True)
class TellPlugins(Notice, op="plugins.metrics"):
    """What the plugins of the task measure: all that is known now."""

    metrics: list[Metric]


@dataclass(frozen=True)
class Pause(Notice, op="pause"):
    """Pauses the task."""


@dataclass(frozen=True)
class Resume(Notice, op="resume"):
    """Resumes the task."""


@dataclass(frozen=True)
class Stop(Notice, op="stop"):
    """Stops the task."""


@dataclass(frozen=True)
class Replace(Notice, op="replace"):
    """Stops the task, which restarts at once."""


@dataclass(frozen=True)
class ForgetTopics(Notice, op="topics.forget"):
    """Makes the task report its topics again as it uses them."""


@dataclass(frozen=True)
class ExecutorUsage:
    """CPU seconds that an executor has used since it started, the processors it may use, and the time of the sample.

    The time is in seconds of the executor's clock. ``cpu`` is null if it is unknown.
    """

    cpu: float | None
    processors: float
    at: float


@dataclass(frozen=True)
class AskUsage(Call[ExecutorUsage], op="executor.usage"):
    """Asks for the CPU usage of the task's executor."""


Command = Pause | Resume | Stop | Replace | ForgetTopics
"""Commands of a host to a task."""
COMMANDS: dict[str, type[Command]] = {kind.op: kind for kind in (Pause, Resume, Stop, Replace)}
"""Commands that set the task's state."""
ENDS = (Stop, Replace)
"""Commands that end a task."""
TO_TASK = {**COMMANDS, **operations(ForgetTopics, SetLevels, Alive, AskUsage)}
TO_HOST = operations(
    Introduce, TellStatus, LogLine, AddTopics, ReadOffsets, WriteOffsets, GetToken, Alive, TellPlugins
)
