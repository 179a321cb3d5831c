"""What a task and its host say to each other; ``PROTOCOL.md`` lists the same in section 11."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, Notice, operations
from hearth_stage.log_call import LogLine, SetLevels
from hearth_stage.offset_call import ReadOffsets
from hearth_stage.token_call import GivenToken


@dataclass(frozen=True)
class Admitted:
    """A task's plan, whether the task is to rest, how it is to end where it is to, and what it is to log."""

    plan: dict[str, Any] = field(repr=False)
    paused: bool = False
    command: str | None = None
    levels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Introduce(Call[Admitted], op="hello"):
    """A task's first word: which it is, and the token that proves it."""

    task: str
    token: str = field(repr=False)


@dataclass(frozen=True)
class TellStatus(Call[None], op="status"):
    """The task has come to a state."""

    state: str
    trace: str | None = None


@dataclass(frozen=True)
class AddTopics(Notice, op="topics.add"):
    """The task has touched these topics, none of which it told since they were last forgotten."""

    topics: list[str]


@dataclass(frozen=True)
class WriteOffsets(Call[None], op="offsets.write"):
    """Source offsets to store, each with its partition; answered when they are durable."""

    offsets: list[tuple[Any, Any]]


@dataclass(frozen=True)
class GetToken(Call[GivenToken], op="tokens.get"):
    """Asks for a token by which a client of the task logs in; ``source`` stands in that client's settings."""

    source: str = field(repr=False)


@dataclass(frozen=True)
class Alive(Notice, op="alive"):
    """This side is there."""


@dataclass(frozen=True)
class Pause(Notice, op="pause"):
    """The task is to rest."""


@dataclass(frozen=True)
class Resume(Notice, op="resume"):
    """The task is to go on."""


@dataclass(frozen=True)
class Stop(Notice, op="stop"):
    """The task is to end."""


@dataclass(frozen=True)
class Replace(Notice, op="replace"):
    """The task is to end, and another run of it follows at once."""


@dataclass(frozen=True)
class ForgetTopics(Notice, op="topics.forget"):
    """The task is to tell the topics again that it touches from now on."""


@dataclass(frozen=True)
class ExecutorUsage:
    """CPU seconds that an executor has taken since it began, how many processors it may use, and when that was.

    The moment is in seconds of its own clock. Where nothing is known ``cpu`` is null.
    """

    cpu: float | None
    processors: float
    at: float


@dataclass(frozen=True)
class AskUsage(Call[ExecutorUsage], op="executor.usage"):
    """What does the executor of the task take?"""


Command = Pause | Resume | Stop | Replace | ForgetTopics
"""What a host tells a task to do."""
COMMANDS: dict[str, type[Command]] = {kind.op: kind for kind in (Pause, Resume, Stop, Replace)}
"""Those that tell in which state a task is wanted."""
ENDS = (Stop, Replace)
"""Commands that end a task."""
TO_TASK = {**COMMANDS, **operations(ForgetTopics, SetLevels, Alive, AskUsage)}
TO_HOST = operations(Introduce, TellStatus, LogLine, AddTopics, ReadOffsets, WriteOffsets, GetToken, Alive)
