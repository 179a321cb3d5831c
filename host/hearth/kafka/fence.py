"""Fences producers: those with one of these transactional ids can commit nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaException, Producer

from hearth.kafka.token import authorized
from hearth_api import ConnectError

FENCE_SECONDS = 90.0
"""Timeout in seconds, the one Kafka Connect applies to a REST request."""
MOST_AT_ONCE = 8


def fence_producers(config: Mapping[str, str], ids: Sequence[str]) -> None:
    """Initialize and drop a producer for each id: that aborts its open transaction and fences its producer.

    librdkafka lacks Java's ``Admin.fenceProducers``. Raises ``ConnectError``.
    """
    with ThreadPoolExecutor(min(MOST_AT_ONCE, len(ids)), thread_name_prefix="fence") as threads:
        list(threads.map(lambda each: _fence(config, each), ids))


def _fence(config: Mapping[str, str], transactional_id: str) -> None:
    try:
        Producer(authorized({**config, "transactional.id": transactional_id})).init_transactions(FENCE_SECONDS)
    except KafkaException as error:
        reason = error.args[0].str()
        raise ConnectError(
            f"Failed to perform zombie fencing: {transactional_id} cannot be claimed: {reason}"
        ) from error
