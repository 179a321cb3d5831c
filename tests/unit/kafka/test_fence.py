"""Fencing by a real broker."""

from __future__ import annotations

import confluent_kafka
import pytest

from hearth.broker import KafkaBroker
from hearth.kafka import fence
from hearth.kafka.fence import fence_producers
from hearth_api import ConnectError


def test_a_producer_that_is_fenced_commits_nothing(broker: KafkaBroker) -> None:
    """Its transaction is aborted, and it cannot start another."""
    settings = {"bootstrap.servers": broker.bootstrap_servers}
    producers = [confluent_kafka.Producer({**settings, "transactional.id": f"fenced-{number}"}) for number in range(2)]
    for producer in producers:
        producer.init_transactions(30)
        producer.begin_transaction()
        producer.produce("fenced", b"x")
        producer.flush(30)
    fence_producers(settings, ["fenced-0", "fenced-1"])
    for producer in producers:
        with pytest.raises(confluent_kafka.KafkaException) as caught:
            producer.commit_transaction(30)
        assert caught.value.args[0].fatal()


def test_failed_fencing_names_the_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the reason."""
    monkeypatch.setattr(fence, "FENCE_SECONDS", 0.1)
    with pytest.raises(ConnectError, match="zombie fencing: nobody cannot be claimed"):
        fence_producers({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}, ["nobody"])
