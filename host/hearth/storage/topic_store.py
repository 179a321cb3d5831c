"""The stores of a host that works with others: Kafka topics that all hosts read and the one that leads writes."""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Callable

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
from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.admin import TopicAdmin
from hearth.kafka.client import internal_config
from hearth.kafka.topic_reader import TopicReader
from hearth.kafka.topic_writer import TopicWriter
from hearth.storage.config_topic import TopicConfigStore
from hearth.storage.fenced_producer import FencedProducer
from hearth.storage.interface import SessionKey
from hearth.storage.internal_topic import InternalTopic
from hearth.storage.offset_topic import TopicOffsetStore
from hearth.storage.status_topic import TopicStatusStore
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

START_SECONDS = 60.0
"""How long it may take to read what the topics hold."""
OWN_TOPIC = "offsets.storage.topic"
ELSEWHERE = "producer.override.bootstrap.servers"


class TopicStores:
    """The stores of one host, which share a consumer that follows the topics, and the right to write.

    All hosts read. Configurations and offsets are written by the host that has claimed the right to, and by no other:
    as soon as another claims it, the broker refuses what comes from this one. Statuses are written by the same host,
    without that certainty.
    """

    def __init__(self, worker: DistributedConfig, on_fenced: Callable[[], None] = lambda: None) -> None:
        """``on_fenced`` is called when a write finds that another host leads, on the thread that wrote."""
        self._worker = worker
        self._on_fenced = on_fenced
        self._told: set[str] = set()
        self.followed = 0
        """The offset behind the session key that was there when this host claimed the right; 0 without one."""
        settings, base = worker.originals, worker.client_base
        quiet = {"logger": logging.getLogger(CLIENT)}
        self._admin = TopicAdmin(internal_config("admin", settings, f"{base}shared-admin").config | quiet)
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
            worker.offset_topic, self._reader, self._producer, self._prepare_own, self._own_topic
        )

    def start(self) -> None:
        """Make the topics that are missing, and read what they hold; raises ConfigError for one that is not fit.

        Nobody waits for the offsets here: a task that was killed may have left a transaction open on them, which ends
        when its successor begins, or after a minute. Who asks for one reads to the end first.
        """
        if self._worker.named_offset_topic is None:
            log.info("%s names no topic: offsets are kept in %r", OFFSET_TOPIC, self._worker.offset_topic)
        partitions = {topic.name: topic.prepare(self._admin) for topic in self._topics()}
        count = partitions[self._worker.config_topic]
        if count > 1:
            raise ConfigError(
                f"Topic '{self._worker.config_topic}' supplied via the '{CONFIG_TOPIC}' property is required to have "
                "a single partition in order to guarantee consistency of connector configurations, but found "
                f"{count} partitions.",
                code="topics.partitions",
                hint=f"name another topic by {CONFIG_TOPIC}; one that is missing is made as it has to be",
            )
        takers = {
            self._worker.config_topic: self.configs.take,
            self._worker.status_topic: self.statuses.take,
        }
        self._reader.begin({self._worker.offset_topic: self.offsets.take}, partitions)
        self._reader.follow(takers, partitions, START_SECONDS)
        self.configs.start()

    def claim(self) -> int:
        """Take the right to write from whichever host has it, and return the number of the term that begins.

        It is the offset of a new session key in the topic of configurations, so it is greater than those of all terms
        before, on any host. All that others wrote in theirs is read when this returns, but for offsets (see `start`).
        """
        self._producer.claim()
        self._reader.read_to_end([self._worker.config_topic, self._worker.status_topic], START_SECONDS)
        self.followed = self.configs.key_offset
        return self.exchange_key()

    def exchange_key(self) -> int:
        """Write another key by which hosts sign from now on, and return the offset behind it; raises ConnectError."""
        return self.configs.put_session_key(self.new_session_key())

    def relinquish(self) -> None:
        """Write nothing any more, of what is still on its way as well."""
        self._producer.relinquish()
        self._stop_statuses()

    def close(self) -> None:
        """Write the last statuses, and read nothing more."""
        self._writer.close()
        self._producer.relinquish()
        self._reader.close()

    def new_session_key(self) -> SessionKey:
        """Make a key by which hosts sign, as the worker's keys have it."""
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

    def _prepare_own(self, topic: str) -> int:
        return self._offset_topic(topic, OWN_TOPIC).prepare(self._admin)

    def _own_topic(self, connector: str) -> str | None:
        """Return the topic a connector names for its offsets; raises LookupError where there is no such connector.

        With exactly once a task writes them where it writes its records, which has to be the Kafka of its host: those
        of another would never be read again.
        """
        config = self.configs.snapshot().entries[connector].config
        elsewhere = config.get(ELSEWHERE)
        here = self._worker.bootstrap_servers
        is_elsewhere = bool(elsewhere) and {*map(str.strip, str(elsewhere).split(","))} != {*here}
        if self._worker.is_exactly_once and is_elsewhere:
            raise ConnectError(
                f"{ELSEWHERE}={elsewhere!r} of connector {connector!r}: with exactly once its offsets would be in "
                "that Kafka as well, and a host reads those of its own alone",
                code="offsets.elsewhere",
                hint="leave the override out, or run the connector on hosts of that Kafka",
            )
        own = config.get(OWN_TOPIC)
        if own and is_elsewhere and connector not in self._told:
            self._told.add(connector)
            log.warning(
                "%s=%s of connector %r is a topic of this host's Kafka, and not of %s=%s",
                OWN_TOPIC, own, connector, ELSEWHERE, elsewhere,
            )  # fmt: skip
        return own
