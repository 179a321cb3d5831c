"""What a task is told when it has joined its host: all that it needs, typed, and nothing else.

The plan is made on the host (``hearth.herder.planner``), where every setting is parsed and every default filled in,
and comes to the task over the authenticated link. What is text here belongs to plugins and to librdkafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hearth.config.topic_key import TopicGroup
from hearth.kafka.token_source import SOURCE
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import TransactionBoundary
from hearth_stage.form import codec_of


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
class TaskPlan(PluginPlan):
    """One task of a connector: its plugins, and what it has of Kafka.

    ``shares`` is with whom tasks share their processes, on an executor all that say the same; nobody where it says
    nothing.
    """

    source: SourcePlan | None = None
    sink: SinkPlan | None = None
    shares: str = ""

    def named(self, client: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a client of the task, with Kafka Connect's name for it unless the user named it."""
        return {"client.id": f"connector-{client}-{self.name}", **config}

    def token_sources(self) -> set[str]:
        """Return the sources of the tokens by which clients of the task log in."""
        clients: list[Mapping[str, str] | None] = []
        if self.source is not None:
            clients += [self.source.producer, self.source.admin]
        if self.sink is not None:
            clients.append(self.sink.consumer)
            if (letters := self.sink.dead_letters) is not None:
                clients += [letters.producer, letters.admin]
        return {each[SOURCE] for each in clients if each is not None and SOURCE in each}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as an object of JSON."""
        return codec_of(TaskPlan).write(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> TaskPlan:
        """Read what ``to_json`` returned."""
        return codec_of(cls).read(members)
