"""The internal topics of a cluster: created if missing, rejected if their settings could lose data."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaException

from hearth.kafka.admin import CREATE_SECONDS, FORBIDDEN, LOOK_SECONDS, TopicAdmin, code_of
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

COMPACT = {"cleanup.policy": "compact"}
RETRIED = ("INVALID_REPLICATION_FACTOR", "REQUEST_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT")
"""Errors that pass once all brokers of a starting cluster have joined, as in Java's ``createTopicsWithRetry``."""
KNOWN_SECONDS = 30.0
"""Time for a topic to become known to the brokers, as Java's ``CREATE_TOPIC_TIMEOUT_NS``."""
_PAUSE_SECONDS = 0.5
_PROGRESS_SECONDS = 5.0


@dataclass(frozen=True)
class InternalTopic:
    """An internal topic: its name, the key that sets it, its purpose and its creation settings."""

    name: str
    key: str
    purpose: str
    partitions: int
    replication: int
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, admin: TopicAdmin, timeout: float = CREATE_SECONDS) -> int:
        """Create the topic unless it exists, and return its number of partitions.

        Raises ConfigError if it is not compacted or must have one partition and has more, ConnectError if it cannot be
        created within ``timeout`` seconds. A host that may not create topics uses the existing one.
        """
        if self._make(admin, timeout):
            return len(self._look(admin, timeout))
        self._check_policy(admin)
        found = self._look(admin, timeout)
        self._compare(len(found), min((len(each.replicas) for each in found), default=0))
        return len(found)

    def _make(self, admin: TopicAdmin, timeout: float) -> bool:
        """Return whether the topic was created."""
        deadline, reported_at = time.monotonic() + timeout, 0.0
        wanted = {**self.settings, **COMPACT}
        while True:
            try:
                admin.make(self.name, self.partitions, self.replication, wanted).result(CREATE_SECONDS + 1)
                return True
            except KafkaException as error:
                code = code_of(error)
                if code == "TOPIC_ALREADY_EXISTS" or code in FORBIDDEN:
                    return False
                if code not in RETRIED or time.monotonic() > deadline:
                    raise self._unmade(error) from error
                if time.monotonic() - reported_at > _PROGRESS_SECONDS:
                    log.info("topic %r cannot be created yet: %s", self.name, error.args[0].str())
                    reported_at = time.monotonic()
            time.sleep(_PAUSE_SECONDS)

    def _unmade(self, error: KafkaException) -> ConnectError:
        hint = "create the topic yourself, compacted, or correct the keys with its settings"
        if code_of(error) == "INVALID_REPLICATION_FACTOR":
            prefix = self.key.removesuffix("topic")
            hint = f"{prefix}replication.factor={self.replication} exceeds the number of brokers: use 1 or -1"
        return ConnectError(
            f"Error while attempting to create/find topic(s) '{self.name}' ({self.key}): {error.args[0].str()}",
            code="topics.unmade",
            hint=hint,
        )

    def _check_policy(self, admin: TopicAdmin) -> None:
        try:
            policies = admin.cleanup_policies(self.name)
        except KafkaException as error:
            if code_of(error) != "UNKNOWN_TOPIC_OR_PART":
                raise self._unknown(error) from error
            return  # reported when its partitions are read
        if policies is None:
            log.info("this host is not authorized to check whether topic %r is compacted", self.name)
        elif policies != {"compact"}:
            found = ",".join(sorted(policies))
            raise ConfigError(
                f"Topic '{self.name}' supplied via the '{self.key}' property is required to have "
                f"'cleanup.policy=compact' to guarantee consistency and durability of {self.purpose}, but found the "
                f"topic currently has 'cleanup.policy={found}'. Continuing would likely result in eventually losing "
                f"{self.purpose} and problems restarting this Connect cluster in the future. Change the '{self.key}' "
                "property in the Connect worker configurations to use a topic with 'cleanup.policy=compact'.",
                code="topics.policy",
            )

    def _compare(self, partitions: int, replication: int) -> None:
        """Warn if an existing topic has fewer partitions or replicas than configured; as in Java, it is used."""
        found = {"partitions": (partitions, self.partitions), "replication.factor": (replication, self.replication)}
        for setting, (has, wanted) in found.items():
            if has < wanted:
                key = f"{self.key.removesuffix('topic')}{setting}"
                log.warning(
                    "topic %r has %d, not %s=%d: the existing topic is used unchanged", self.name, has, key, wanted
                )

    def _look(self, admin: TopicAdmin, timeout: float) -> list[Any]:
        """Return the number of partitions once the brokers know the topic."""
        deadline = time.monotonic() + min(timeout, KNOWN_SECONDS)
        while True:
            answer: Any = admin.look(self.name)
            try:
                return list(answer.result(LOOK_SECONDS + 1).partitions)
            except KafkaException as error:
                if time.monotonic() > deadline or code_of(error) in FORBIDDEN:
                    raise self._unknown(error) from error
            time.sleep(_PAUSE_SECONDS / 10)

    def _unknown(self, error: KafkaException) -> ConnectError:
        return ConnectError(
            f"Could not look up partition metadata for topic '{self.name}' ({self.key}): {error.args[0].str()}",
            code="topics.unknown",
            hint=f"create the topic, compacted and with {self.partitions} partitions, or authorize this host "
            "to create, describe, read and write it",
        )
