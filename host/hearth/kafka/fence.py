"""Fencing producers: whoever has one of these transactional ids may commit nothing more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from confluent_kafka import KafkaException, Producer

from hearth.kafka.token import authorized
from hearth_api import ConnectError

FENCE_SECONDS = 90.0
"""How long it may take, as long as Kafka Connect gives a request of its REST API."""
MOST_AT_ONCE = 8


def fence_producers(config: Mapping[str, str], ids: Sequence[str]) -> None:
    """Claim each id and let go of it: that aborts what its producer has begun, and refuses what it sends later.

    librdkafka has no request of its own for that, as Java's ``Admin.fenceProducers``. Raises ``ConnectError``.
    """
    with ThreadPoolExecutor(min(MOST_AT_ONCE, len(ids)), thread_name_prefix="fence") as threads:
        list(threads.map(lambda each: _fence(config, each), ids))


def _fence(config: Mapping[str, str], transactional_id: str) -> None:
    try:
        Producer(authorized({**config, "transactional.id": transactional_id})).init_transactions(FENCE_SECONDS)
    except KafkaException as error:
        told = error.args[0].str()
        raise ConnectError(
            f"Failed to perform zombie fencing: {transactional_id} cannot be claimed: {told}"
        ) from error
