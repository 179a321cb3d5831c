"""Turns the configurations of worker, connector and tasks into the plan of each task."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hearth.config import (
    ConnectorConfig,
    DistributedConfig,
    SinkConnectorConfig,
    SourceConnectorConfig,
    TopicGroup,
    WorkerConfig,
    topic_groups,
)
from hearth.config.connector_key import NAME
from hearth.config.sink_key import TOPICS_REGEX, parse_topics
from hearth.config.variable import Variables
from hearth.discovery import Plugin, PluginType
from hearth.herder.cluster_lookup import client_config
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.token_stage import find_token_provider
from hearth.herder.plugin_planner import PluginPlanner
from hearth.herder.validation.override import ALL, refuse_overrides
from hearth.herder.worker_choice import worker_for
from hearth.kafka.client import Translation, admin_config, consumer_config, group_name, producer_config
from hearth.runtime.plan import (
    DeadLetterPlan,
    SinkPlan,
    SourcePlan,
    TaskPlan,
    TransactionPlan,
)
from hearth_api.worker import ConnectorClientConfigOverridePolicy

log = logging.getLogger(__name__)

METADATA_AGE = "topic.metadata.refresh.interval.ms"
HIDDEN_TOPICS = "topic.blacklist"
"""The consumer property for excluded topics, in librdkafka's spelling."""
_ACCESS = tuple(f"producer.override.{name}" for name in ("bootstrap.servers", "security.", "sasl.", "ssl."))
"""With one of these overrides, a producer may not be able to write to the worker's offsets topic."""
_PARSERS: Mapping[PluginType, type[ConnectorConfig]] = {
    PluginType.SOURCE: SourceConnectorConfig,
    PluginType.SINK: SinkConnectorConfig,
}


@dataclass(frozen=True)
class Planner:
    """Makes the plans of a connector's tasks: turns configuration strings into typed values.

    Defaults come from the keys' declarations. All tasks of a connector share their common parts.
    """

    directory: PluginDirectory
    worker: WorkerConfig
    policy: ConnectorClientConfigOverridePolicy = ALL
    variables: Variables = field(default_factory=Variables)
    logged: frozenset[str] | None = None
    """Warnings about the worker's own clients that were logged at startup, if this planner is for another worker."""

    def worker_for(self, config: Mapping[str, str]) -> WorkerConfig:
        """Return the worker settings that apply to a connector; raise ConfigError if its choice is invalid."""
        return worker_for(self.worker, config, self.variables)

    def plan(
        self, connector: Plugin, version: str | None, config: Mapping[str, str], tasks: Sequence[Mapping[str, str]]
    ) -> list[TaskPlan]:
        """Return the plans of all tasks of a connector, and log the client settings that have no effect.

        Raises ConfigError for the first plugin of its pipeline that does not exist and for the first invalid setting,
        and ConnectError for client overrides that the policy forbids.
        """
        refuse_overrides(self.policy, connector, config, self.worker)
        return self._chosen(config)._plan(connector, version, config, tasks)

    def _chosen(self, config: Mapping[str, str]) -> Planner:
        """Return the planner for the worker configuration that a connector names."""
        worker = self.worker_for(config)
        return self if worker is self.worker else replace(self, worker=worker, logged=self._warned)

    def _plan(
        self, connector: Plugin, version: str | None, config: Mapping[str, str], tasks: Sequence[Mapping[str, str]]
    ) -> list[TaskPlan]:
        parsed = _PARSERS[connector.type](config)
        parsed.refuse_too_many(len(tasks))
        plugins = PluginPlanner(self.directory, self.worker).plan(connector, version, parsed)
        plan = TaskPlan(**vars(plugins))
        if self.worker.shares_processes(config):
            plan = replace(plan, shares=plan.plugin("task").environment or "")
        if isinstance(parsed, SinkConnectorConfig):
            plan = replace(plan, sink=self._sink(parsed, len(tasks)))
        else:
            assert isinstance(parsed, SourceConnectorConfig), "a connector is a source or a sink"
            plan = replace(plan, source=self._source(parsed))
        return [replace(plan, task=number, task_config=own) for number, own in enumerate(tasks)]

    def topics_of(self, config: Mapping[str, str]) -> tuple[TopicGroup, ...]:
        """Return the topic groups that a source's tasks create; none if the worker leaves creation to the broker."""
        return self._chosen(config)._groups(config)

    def sink_group(self, config: Mapping[str, str]) -> tuple[dict[str, str], str]:
        """Return the admin client configuration for a sink, and the name of its consumer group."""
        worker = self.worker_for(config).originals
        consumer = consumer_config(worker, config, config[NAME])
        return admin_config(worker, config).config, consumer.config["group.id"]

    def fencing(self, config: Mapping[str, str]) -> tuple[dict[str, str], str] | None:
        """Return the admin client configuration and transactional id prefix for fencing a source's producers.

        None if they have no transactions.
        """
        worker = self.worker_for(config)
        if not worker.is_exactly_once:
            return None
        return admin_config(worker.originals, config).config, transactional_id(worker, config[NAME])

    def _source(self, config: SourceConnectorConfig) -> SourcePlan:
        groups, transaction = self._groups(config.originals), self._transaction(config)
        producer = self._producer(config, None if transaction is None else transaction.id)
        return SourcePlan(producer, groups, self._admin(config) if groups else None, transaction)

    def _transaction(self, config: SourceConnectorConfig) -> TransactionPlan | None:
        worker = self.worker
        if not isinstance(worker, DistributedConfig) or not worker.is_exactly_once:
            return None
        own = config.offsets_storage_topic or worker.offset_topic
        has_access = not any(name.startswith(_ACCESS) for name in config.originals)
        interval = config.transaction_boundary_interval_ms
        return TransactionPlan(
            id=transactional_id(worker, config.originals[NAME]),
            topics=tuple(dict.fromkeys((own, worker.offset_topic) if has_access else (own,))),
            boundary=config.transaction_boundary.lower(),
            interval=(worker.offset_flush_interval_ms if interval is None else interval) / 1000,
        )

    def _groups(self, config: Mapping[str, str]) -> tuple[TopicGroup, ...]:
        return tuple(topic_groups(config)) if self.worker.topic_creation_enable else ()

    def _sink(self, config: SinkConnectorConfig, members: int) -> SinkPlan:
        name = config.originals[NAME]
        consumer = consumer_config(self.worker.originals, config.originals, name)
        settings = self._honoured(config, consumer)
        topics, most = tuple(parse_topics(config.originals)), consumer.runtime.get("max.poll.records")
        return SinkPlan(
            topics=topics,
            topics_regex=None if topics else config.originals[TOPICS_REGEX],  # not stripped, as Java compiles it
            hidden_topics=tuple(each for each in settings.get(HIDDEN_TOPICS, "").split(",") if each),
            metadata_age=int(settings[METADATA_AGE]) / 1000,
            group=group_name(self.worker.identity, name),
            members=members,
            max_poll_records=None if most is None else int(most),
            consumer=settings,
            dead_letters=self._dead_letters(config) if config.dead_letter_topic else None,
        )

    def _dead_letters(self, config: SinkConnectorConfig) -> DeadLetterPlan:
        return DeadLetterPlan(
            topic=config.dead_letter_topic,
            replication_factor=config.dead_letter_replication_factor,
            has_context=config.dead_letter_headers,
            producer=self._producer(config),
            admin=self._admin(config),
        )

    def _producer(self, config: ConnectorConfig, transactional_id: str | None = None) -> dict[str, str]:
        return self._honoured(config, producer_config(self.worker.originals, config.originals, transactional_id))

    def _admin(self, config: ConnectorConfig) -> dict[str, str]:
        return self._honoured(config, admin_config(self.worker.originals, config.originals))

    def _honoured(self, config: ConnectorConfig, client: Translation) -> dict[str, str]:
        """Return a client's settings, and log those that have no effect unless startup logged them for the worker.

        Raises ConfigError if no installed provider creates the tokens that its login needs.
        """
        for warning in client.warnings:
            if warning not in self._warned:
                log.warning("%s", warning)
        find_token_provider(client.config, self.directory)
        return client.config

    @cached_property
    def _warned(self) -> frozenset[str]:
        if self.logged is not None:
            return self.logged
        worker = self.worker.originals
        clients = (producer_config(worker, {}), consumer_config(worker, {}, ""), client_config(worker))
        return frozenset(warning for client in clients for warning in client.warnings)


def transactional_id(worker: WorkerConfig, connector: str) -> str:
    """Return the prefix of the transactional ids of a connector's tasks, as ``Worker.taskTransactionalId``."""
    return f"{worker.identity}-{connector}"
