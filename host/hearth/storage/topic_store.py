"""The stores of a distributed host: Kafka topics that all hosts read and the leader writes."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from hearth.config import DistributedConfig
from hearth.config.distributed_key import (
    CONFIG_STORAGE,
    CONFIG_TOPIC,
    HMACS,
    OFFSET_STORAGE,
    OFFSET_TOPIC,
    STATUS_STORAGE,
    STATUS_TOPIC,
)
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.client import ROLES, access_of, internal_config, offset_config
from hearth.kafka.topic_reader import TopicReader
from hearth.kafka.topic_writer import TopicWriter
from hearth.storage.config_topic import TopicConfigStore
from hearth.storage.fenced_producer import FencedProducer
from hearth.storage.interface import ConfiguredConnector, SessionKey
from hearth.storage.internal_topic import InternalTopic
from hearth.storage.offset_topic import TopicOffsetStore
from hearth.storage.remote_offset_topic import OwnTopic, RemoteOffsetTopic
from hearth.storage.status_topic import TopicStatusStore
from hearth_api import ConfigError

log = logging.getLogger(__name__)

Resolve = Callable[[ConfiguredConnector], tuple[Mapping[str, str], Mapping[str, str]]]

START_SECONDS = 60.0
"""Time limit for reading the topics at startup."""
OWN_TOPIC = "offsets.storage.topic"
RESOLVED_SECONDS = 10.0
"""Time for which a connector's resolved variables are reused when its offsets are written."""


class TopicStores:
    """The stores of one host, which share a consumer and the right to write.

    All hosts read. Configurations and offsets are written only by the host that has claimed the right: as soon as
    another host claims it, the broker rejects this one's writes. Statuses are written by the same host, but without
    this fencing.
    """

    def __init__(
        self, worker: DistributedConfig, on_fenced: Callable[[], None] = lambda: None, resolve: Resolve | None = None
    ) -> None:
        """``on_fenced`` is called on the writing thread when a write finds that another host leads.

        ``resolve`` returns a connector's worker settings and its configuration, with variables resolved.
        """
        self._worker = worker
        self._on_fenced = on_fenced
        self._resolve = resolve or (lambda entry: (worker.originals, entry.config))
        self._own_topics: dict[str, _FoundOwnTopic] = {}
        self.followed = 0
        """The offset after the session key that existed when this host claimed the right; 0 without one."""
        settings, base = worker.originals, worker.client_base
        self._admin = TopicAdmin(internal_config("admin", settings, f"{base}shared-admin").config)
        self._writer = TopicWriter(internal_config("producer", settings, f"{base}statuses").config)
        writing = {**settings, "transactional.id": worker.transactional_id}
        self._producer = FencedProducer(
            internal_config("producer", writing, f"{base}configs-leader").config, self._lose
        )
        self._reader = TopicReader(
            internal_config("consumer", settings, f"{base}stores").config, self._admin, self._writer.poll
        )
        self.configs = TopicConfigStore(worker.config_topic, self._reader, self._producer, self._writer)
        self.statuses = TopicStatusStore(
            worker.status_topic, self._reader, self._writer, lambda: self._producer.has_right
        )
        self.offsets = TopicOffsetStore(
            worker.offset_topic, self._reader, self._producer, self._prepare_own, self._own_topic,
            lambda topic: RemoteOffsetTopic(topic, self._prepare_own),
        )  # fmt: skip

    def start(self) -> None:
        """Create missing topics and read their content; raise ConfigError for an unsuitable one.

        Does not wait for the offsets: a killed task may have left a transaction open there, which ends when its
        successor starts, or after a minute. Reading an offset reads to the end first.
        """
        if self._worker.named_offset_topic is None:
            log.info("%s is not set: offsets are kept in %r", OFFSET_TOPIC, self._worker.offset_topic)
        partitions = {topic.name: topic.prepare(self._admin) for topic in self._topics()}
        count = partitions[self._worker.config_topic]
        if count > 1:
            raise ConfigError(
                f"Topic '{self._worker.config_topic}' supplied via the '{CONFIG_TOPIC}' property is required to have "
                "a single partition in order to guarantee consistency of connector configurations, but found "
                f"{count} partitions.",
                code="topics.partitions",
                hint=f"name another topic by {CONFIG_TOPIC}; a missing topic is created correctly",
            )
        takers = {
            self._worker.config_topic: self.configs.take,
            self._worker.status_topic: self.statuses.take,
        }
        self._reader.begin({self._worker.offset_topic: self.offsets.take}, partitions)
        self._reader.follow(takers, partitions, START_SECONDS)
        self.configs.start()

    def claim(self) -> int:
        """Claim the right to write, and return the number of the new term.

        The number is the offset of a new session key in the config topic, so it is greater than that of every earlier
        term on any host. When this returns, everything that earlier leaders wrote has been read, except offsets (see
        `start`).
        """
        self._producer.claim()
        self._reader.read_to_end([self._worker.config_topic, self._worker.status_topic], START_SECONDS)
        self.followed = self.configs.key_offset
        return self.exchange_key()

    def exchange_key(self) -> int:
        """Write a new session key, and return the offset after it; raise ConnectError on failure."""
        return self.configs.put_session_key(self.new_session_key())

    def relinquish(self) -> None:
        """Stop writing, and discard pending writes."""
        self._producer.relinquish()
        self._stop_statuses()

    def close(self) -> None:
        """Write the last statuses, and stop reading."""
        self._writer.close()
        self._producer.relinquish()
        self._reader.close()
        self.offsets.close()

    def new_session_key(self) -> SessionKey:
        """Return a new session key as the worker's settings require."""
        worker = self._worker
        algorithm = worker.inter_worker_key_generation_algorithm
        bits = worker.inter_worker_key_size or HMACS[algorithm][1]
        return SessionKey(secrets.token_bytes((bits + 7) // 8), algorithm, int(time.time() * 1000))

    def _lose(self) -> None:
        self._stop_statuses()
        self._on_fenced()

    def _stop_statuses(self) -> None:
        self._writer.drop()
        self.statuses.forget_writes()

    def _topics(self) -> list[InternalTopic]:
        worker = self._worker
        return [
            InternalTopic(
                worker.config_topic,
                CONFIG_TOPIC,
                "connector configurations",
                1,
                worker.config_replication_factor,
                worker.topic_settings(CONFIG_STORAGE),
            ),
            InternalTopic(
                worker.status_topic,
                STATUS_TOPIC,
                "connector and task statuses",
                worker.status_partitions,
                worker.status_replication_factor,
                worker.topic_settings(STATUS_STORAGE),
            ),
            self._offset_topic(worker.offset_topic, OFFSET_TOPIC),
        ]

    def _offset_topic(self, name: str, key: str) -> InternalTopic:
        worker = self._worker
        return InternalTopic(
            name,
            key,
            "source connector offsets",
            worker.offset_partitions,
            worker.offset_replication_factor,
            worker.topic_settings(OFFSET_STORAGE),
        )

    def _prepare_own(self, topic: str, admin: TopicAdmin | None = None) -> int:
        return self._offset_topic(topic, OWN_TOPIC).prepare(admin or self._admin)

    def _own_topic(self, connector: str) -> OwnTopic | None:
        """Return a connector's own offsets topic; raise LookupError if the connector does not exist.

        As in Kafka Connect, it is in the Kafka cluster of the connector's clients. With exactly once, a task writes
        its offsets where it writes its records, even if the connector names no topic.
        """
        entry = self.configs.snapshot().entries[connector]
        if not (entry.config.get(OWN_TOPIC) or self._worker.is_exactly_once):
            return None
        known = self._own_topics.get(connector)
        if known is None or known.config != entry.config or time.monotonic() >= known.until:
            topic = self._looked_up(*self._resolve(entry))
            known = self._own_topics[connector] = _FoundOwnTopic(
                entry.config, topic, time.monotonic() + RESOLVED_SECONDS
            )
        return known.topic

    def _looked_up(self, worker: Mapping[str, str], config: Mapping[str, str]) -> OwnTopic | None:
        base, named = f"{self._worker.client_base}offsets", config.get(OWN_TOPIC)
        clients = {role: offset_config(role, worker, config, base).config for role in ROLES}
        usual = {role: offset_config(role, self._worker.originals, {}, base).config for role in ROLES}
        if any(access_of(clients[role]) != access_of(usual[role]) for role in ROLES):
            return OwnTopic(named or self._worker.offset_topic, clients)
        return OwnTopic(named) if named else None


@dataclass(frozen=True)
class _FoundOwnTopic:
    """A connector's own topic for a configuration, and until when its resolved variables are reused."""

    config: Mapping[str, str] = field(repr=False)
    topic: OwnTopic | None
    until: float
