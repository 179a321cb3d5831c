"""Records are written in order, and their senders get the offsets."""

from __future__ import annotations

from hearth.broker import KafkaBroker
from hearth.kafka.client import internal_config
from hearth.kafka.topic_writer import SendOutcome, TopicWriter
from tests.reservation import reserve_port


def test_records_keep_their_order_and_report_offsets(broker: KafkaBroker) -> None:
    """One behind the other."""
    worker = {"bootstrap.servers": broker.bootstrap_servers}
    writer = TopicWriter(internal_config("producer", worker, "writer").config)
    outcomes: list[SendOutcome] = []
    for number in range(3):
        writer.send("written", b"k", b"%d" % number, outcomes.append)
    writer.close()
    assert outcomes == [SendOutcome(0), SendOutcome(1), SendOutcome(2)]


def test_dropped_records_are_reported() -> None:
    """An unavailable broker gets none of them."""
    worker = {"bootstrap.servers": f"127.0.0.1:{reserve_port()}"}
    writer = TopicWriter(internal_config("producer", worker, "writer").config)
    outcomes: list[SendOutcome] = []
    writer.send("written", b"k", None, outcomes.append)
    writer.drop()
    writer.close()
    assert [each.offset for each in outcomes] == [-1]
    assert outcomes[0].error is not None
