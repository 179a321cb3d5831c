"""The calls to a connector in a stage, and the connector's notices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hearth_stage.call import Call, Notice, operations


@dataclass(frozen=True)
class ConnectorLoaded:
    """The loaded connector."""

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
    """One configuration per task, however many were requested, and the class name of the tasks."""

    configs: list[dict[str, Any]] = field(default_factory=list, repr=False)
    task_class: str | None = None


@dataclass(frozen=True)
class AskTaskConfigs(Call[TaskConfigs], op="connector.task_configs"):
    """Requests the configurations of at most ``max`` tasks."""

    max: int


@dataclass(frozen=True)
class StopConnector(Call[None], op="connector.stop"):
    """Stops the instance, which may be started again."""


@dataclass(frozen=True)
class OffsetsAltered:
    """Whether the connector itself handled the change; null if it does not support altering offsets."""

    is_seen_to: bool | None = None


@dataclass(frozen=True)
class AlterOffsets(Call[OffsetsAltered], op="connector.alter_offsets"):
    """Asks a connector that is not started whether offsets may be changed; null resets a partition.

    The offsets of a sink are rows of topic, partition and offset, those of a source of partition and offset.
    """

    config: dict[str, str] = field(repr=False)
    offsets: list[Any]


@dataclass(frozen=True)
class ExactlyOnceAnswer:
    """The connector's answer, a value of Kafka Connect's enumeration; null if it does not know."""

    support: str | None = None


@dataclass(frozen=True)
class AskExactlyOnce(Call[ExactlyOnceAnswer], op="connector.exactly_once"):
    """Asks a connector that is not started whether it delivers exactly once with this configuration (KIP-618).

    With ``boundaries``, asks whether its tasks can define their transaction boundaries.
    """

    config: dict[str, str] = field(repr=False)
    boundaries: bool = False


@dataclass(frozen=True)
class RequestReconfiguration(Notice, op="task_reconfiguration"):
    """The connector requests reconfiguration of its tasks."""


@dataclass(frozen=True)
class RaiseError(Notice, op="raise_error"):
    """The connector cannot continue."""

    message: str
    trace: str


TO_STAGE = operations(LoadConnector, StartConnector, AskTaskConfigs, AlterOffsets, AskExactlyOnce, StopConnector)
FROM_STAGE = operations(RequestReconfiguration, RaiseError)
