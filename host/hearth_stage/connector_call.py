"""What a stage is asked of its connector, and what that says by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, Notice, operations


@dataclass(frozen=True)
class ConnectorLoaded:
    """What a connector is."""

    version: str | None = None


@dataclass(frozen=True)
class LoadConnector(Call[ConnectorLoaded], op="connector.load"):
    """Creates the instance that is started."""

    reference: str


@dataclass(frozen=True)
class StartConnector(Call[None], op="connector.start"):
    """Initializes and starts the instance."""

    config: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class TaskConfigs:
    """One configuration for each task, however many were wanted, and the name of their class."""

    configs: list[dict[str, Any]] = field(default_factory=list, repr=False)
    task_class: str | None = None


@dataclass(frozen=True)
class AskTaskConfigs(Call[TaskConfigs], op="connector.task_configs"):
    """Asks for the configurations of at most so many tasks."""

    max: int


@dataclass(frozen=True)
class StopConnector(Call[None], op="connector.stop"):
    """Stops the instance, which may be started again."""


@dataclass(frozen=True)
class OffsetsAltered:
    """Whether the connector saw to it, and not its host alone; null where its offsets are not to be altered at all."""

    is_seen_to: bool | None = None


@dataclass(frozen=True)
class AlterOffsets(Call[OffsetsAltered], op="connector.alter_offsets"):
    """Asks an instance that is not started whether offsets may become these, null for a partition that is reset.

    Those of a sink are rows of topic, partition and offset, those of a source of partition and offset.
    """

    config: dict[str, str] = field(repr=False)
    offsets: list[Any]


@dataclass(frozen=True)
class ExactlyOnceAnswer:
    """The word of Kafka Connect's enumeration by which a connector answers; null where it does not know."""

    support: str | None = None


@dataclass(frozen=True)
class AskExactlyOnce(Call[ExactlyOnceAnswer], op="connector.exactly_once"):
    """Asks an instance that is not started whether it delivers exactly once with these settings (KIP-618).

    With ``boundaries`` it is asked whether its tasks may say where their transactions end.
    """

    config: dict[str, str] = field(repr=False)
    boundaries: bool = False


@dataclass(frozen=True)
class RequestReconfiguration(Notice, op="task_reconfiguration"):
    """The connector wants to be asked for its task configurations again."""


@dataclass(frozen=True)
class RaiseError(Notice, op="raise_error"):
    """The connector cannot go on."""

    message: str
    trace: str


TO_STAGE = operations(LoadConnector, StartConnector, AskTaskConfigs, AlterOffsets, AskExactlyOnce, StopConnector)
FROM_STAGE = operations(RequestReconfiguration, RaiseError)
