"""What a task is told when it has joined its host: all that it needs, typed, and nothing else.

The plan is made on the host (``hearth.herder.planner``), where every setting is parsed and every default filled in,
and comes to the task over the authenticated link. What is text here belongs to plugins and to librdkafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.config.topic_key import TopicGroup
from hearth.isolation.environment import Environment
from hearth_api import TransactionBoundary
from hearth_stage.form import codec_of


@dataclass(frozen=True)
class PluginSpec:
    """One plugin of a pipeline.

    ``role`` is ``task`` (``reference`` names the connector, which is asked for its task class), ``key.converter``,
    ``value.converter``, ``header.converter``, ``transforms.ALIAS`` or ``predicates.ALIAS``. ``environment`` keys
    ``TaskPlan.environments``, or ``None`` for a plugin installed with the host. ``config`` holds the plugin's own
    settings without their prefix. ``predicate`` is the role of the predicate that guards a transformation.
    """

    role: str
    class_name: str
    reference: str
    version: str | None = None
    environment: str | None = None
    config: dict[str, str] = field(default_factory=dict, repr=False)
    predicate: str | None = None
    negate: bool = False


@dataclass(frozen=True)
class TaskSettings:
    """What the runtime itself is told of worker and connector; times are in seconds where they do not say otherwise.

    ``flush_interval`` is between commits, ``flush_timeout`` for one of them, ``graceful_timeout`` for a stop that
    drains, ``call_timeout`` for one call of a plugin. The two of ``Retry`` are counted as it does. ``names_keys`` is
    whether the trace of a task may tell by its key which record it failed with.
    """

    flush_interval: float
    flush_timeout: float
    graceful_timeout: float
    call_timeout: float
    retry_timeout_ms: int
    retry_delay_max_ms: int
    is_tolerant: bool
    logs_failures: bool
    logs_records: bool
    tracks_topics: bool
    names_keys: bool = True


@dataclass(frozen=True)
class TransactionPlan:
    """How the tasks of a source write exactly once (KIP-618).

    A task's producer has the id ``ID-TASK``, and writes its offsets to all of ``topics``. ``boundary``, a value of
    ``TransactionBoundary``, says where its transactions end, ``interval`` after how many seconds where that is by
    time.
    """

    id: str
    topics: tuple[str, ...]
    boundary: str
    interval: float

    @property
    def is_bound_by_task(self) -> bool:
        """Return whether the task says where its transactions end."""
        return self.boundary == TransactionBoundary.CONNECTOR


@dataclass(frozen=True)
class SourcePlan:
    """The clients of a source's tasks, and the topics they create; where they create none there is no ``admin``.

    Without a ``transaction`` its records are written at least once.
    """

    producer: dict[str, str] = field(repr=False)
    topic_groups: tuple[TopicGroup, ...] = ()
    admin: dict[str, str] | None = field(default=None, repr=False)
    transaction: TransactionPlan | None = None


@dataclass(frozen=True)
class DeadLetterPlan:
    """Where records go that a sink could not process."""

    topic: str
    replication_factor: int
    has_context: bool
    producer: dict[str, str] = field(repr=False)
    admin: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class SinkPlan:
    """What the tasks of a sink read, and as whom.

    They read ``topics``, or where there are none all whose names match ``topics_regex`` and none of ``hidden_topics``,
    looked for every ``metadata_age`` seconds. ``group`` is what the members are known by, of which there are
    ``members``. ``max_poll_records`` is ``None`` where nobody said how many.
    """

    topics: tuple[str, ...]
    topics_regex: str | None
    hidden_topics: tuple[str, ...]
    metadata_age: float
    group: str
    members: int
    max_poll_records: int | None
    consumer: dict[str, str] = field(repr=False)
    dead_letters: DeadLetterPlan | None = None


@dataclass(frozen=True)
class TaskPlan:
    """One task of a connector: the same from one run of it to the next.

    Tasks of one connector share every part that is the same for all of them. ``shares`` is with whom they share their
    processes, on an executor all that say the same; nobody where it says nothing. No text of it shows settings: they
    may be secret.
    """

    connector: str
    task: int
    connector_class: str
    plugins: tuple[PluginSpec, ...]
    environments: dict[str, Environment]
    task_config: Mapping[str, str] = field(repr=False)
    settings: TaskSettings
    source: SourcePlan | None = None
    sink: SinkPlan | None = None
    shares: str = ""

    @property
    def name(self) -> str:
        """Return the task's name, as Kafka Connect writes it: ``connector-0``."""
        return f"{self.connector}-{self.task}"

    @property
    def type(self) -> str:
        """Return ``source`` or ``sink``."""
        return "sink" if self.source is None else "source"

    def plugin(self, role: str) -> PluginSpec:
        """Return the plugin of a role."""
        return next(plugin for plugin in self.plugins if plugin.role == role)

    @property
    def transformations(self) -> list[PluginSpec]:
        """Return the transformations in the order of the chain."""
        return [plugin for plugin in self.plugins if plugin.role.startswith("transforms.")]

    def named(self, client: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a client of the task, with Kafka Connect's name for it unless the user named it."""
        return {"client.id": f"connector-{client}-{self.name}", **config}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as an object of JSON."""
        return codec_of(TaskPlan).write(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> TaskPlan:
        """Read what ``to_json`` returned."""
        return codec_of(cls).read(members)
