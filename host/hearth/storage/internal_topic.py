"""The topics in which a cluster keeps what it knows: made where they are missing, refused where they would lose it."""

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
"""What passes when the brokers of a cluster that starts have all come, as in Java's ``createTopicsWithRetry``."""
KNOWN_SECONDS = 30.0
"""How long a topic may take to be known to the brokers, as ``CREATE_TOPIC_TIMEOUT_NS`` of Java's."""
_PAUSE_SECONDS = 0.5
_PROGRESS_SECONDS = 5.0


@dataclass(frozen=True)
class InternalTopic:
    """A topic of the cluster: its name, the key that names it, what it keeps, and how it is made."""

    name: str
    key: str
    purpose: str
    partitions: int
    replication: int
    settings: Mapping[str, str] = field(default_factory=dict)

    def prepare(self, admin: TopicAdmin, timeout: float = CREATE_SECONDS) -> int:
        """Make the topic unless it is there, and return how many partitions it has.

        Raises ConfigError where it is not compacted, or has partitions beside the only one it may have; ConnectError
        where it cannot be made within ``timeout`` seconds. Whoever may not make topics works with the one there is.
        """
        if self._make(admin, timeout):
            return len(self._look(admin, timeout))
        self._check_policy(admin)
        found = self._look(admin, timeout)
        self._compare(len(found), min((len(each.replicas) for each in found), default=0))
        return len(found)

    def _make(self, admin: TopicAdmin, timeout: float) -> bool:
        """Return whether the topic is a new one."""
        deadline, told = time.monotonic() + timeout, 0.0
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
                if time.monotonic() - told > _PROGRESS_SECONDS:
                    log.info("topic %r cannot be made yet: %s", self.name, error.args[0].str())
                    told = time.monotonic()
            time.sleep(_PAUSE_SECONDS)

    def _unmade(self, error: KafkaException) -> ConnectError:
        hint = "make the topic yourself, compacted, or correct the keys that say how it is made"
        if code_of(error) == "INVALID_REPLICATION_FACTOR":
            prefix = self.key.removesuffix("topic")
            hint = f"{prefix}replication.factor={self.replication} asks for more brokers than there are: 1, or -1"
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
            return  # which is told when its partitions are counted
        if policies is None:
            log.info("nobody here may see whether topic %r is compacted", self.name)
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
        """Warn where a topic that was there has less than it would be made with: it stays as it is, as in Java."""
        found = {"partitions": (partitions, self.partitions), "replication.factor": (replication, self.replication)}
        for setting, (has, wanted) in found.items():
            if has < wanted:
                key = f"{self.key.removesuffix('topic')}{setting}"
                log.warning(
                    "topic %r has %d, and not %s=%d: it was there, and is used as it is", self.name, has, key, wanted
                )

    def _look(self, admin: TopicAdmin, timeout: float) -> list[Any]:
        """Return the partitions, once the brokers know the topic: a new one is known a moment later."""
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
            hint=f"make the topic, compacted and with {self.partitions} partitions, or let this host do so; it also "
            "has to describe, read and write it",
        )
