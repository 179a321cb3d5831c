"""The plan a task receives when it joins its host: everything it needs, typed, and nothing else.

The host makes it (``hearth.herder.planner``): it parses every setting, fills in the defaults and sends the plan over
the authenticated link. Values that are still text belong to plugins and to librdkafka.
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
    ``TransactionBoundary``, defines where transactions end; ``interval`` is in seconds, for the boundary by time.
    """

    id: str
    topics: tuple[str, ...]
    boundary: str
    interval: float

    @property
    def is_bound_by_task(self) -> bool:
        """Return whether the task itself ends its transactions."""
        return self.boundary == TransactionBoundary.CONNECTOR


@dataclass(frozen=True)
class SourcePlan:
    """Client settings of a source's tasks, and the topics they create; without topic creation ``admin`` is None.

    Without a ``transaction`` records are written at least once.
    """

    producer: dict[str, str] = field(repr=False)
    topic_groups: tuple[TopicGroup, ...] = ()
    admin: dict[str, str] | None = field(default=None, repr=False)
    transaction: TransactionPlan | None = None


@dataclass(frozen=True)
class DeadLetterPlan:
    """Dead letter topic for records that a sink could not process."""

    topic: str
    replication_factor: int
    has_context: bool
    producer: dict[str, str] = field(repr=False)
    admin: dict[str, str] = field(repr=False)


@dataclass(frozen=True)
class SinkPlan:
    """What the tasks of a sink read, and their group.

    They read ``topics``, or, if there are none, all topics that match ``topics_regex`` and none of ``hidden_topics``,
    checked every ``metadata_age`` seconds. ``group`` identifies the group's members, of which there are ``members``.
    ``max_poll_records`` is ``None`` unless the user set it.
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
    """One task of a connector: its plugins and its Kafka clients.

    ``shares`` names the group of tasks that share a process on an executor; empty for none.
    """

    source: SourcePlan | None = None
    sink: SinkPlan | None = None
    shares: str = ""

    def named(self, client: str, config: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a client, with Kafka Connect's ``client.id`` unless the user set one."""
        return {"client.id": f"connector-{client}-{self.name}", **config}

    def token_sources(self) -> set[str]:
        """Return the token sources with which clients of the task log in."""
        clients: list[Mapping[str, str] | None] = []
        if self.source is not None:
            clients += [self.source.producer, self.source.admin]
        if self.sink is not None:
            clients.append(self.sink.consumer)
            if (letters := self.sink.dead_letters) is not None:
                clients += [letters.producer, letters.admin]
        return {each[SOURCE] for each in clients if each is not None and SOURCE in each}

    def to_json(self) -> dict[str, Any]:
        """Return the plan as a JSON object."""
        return codec_of(TaskPlan).write(self)

    @classmethod
    def from_json(cls, members: Mapping[str, Any]) -> TaskPlan:
        """Read what ``to_json`` returned."""
        return codec_of(cls).read(members)
