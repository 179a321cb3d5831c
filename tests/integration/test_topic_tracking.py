"""The host records the topics of each connector (KIP-558)."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.integration.thread_host import ThreadHost, file_sink, file_source
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually


@pytest.mark.parametrize("is_tracked", [True, False])
def test_topics_are_tracked_until_their_connectors_are_deleted(
    broker: KafkaBroker, tmp_path: Path, is_tracked: bool
) -> None:
    """A source's topic counts after an acknowledged record, a sink's after a record was passed to its task."""
    kind = "tracked" if is_tracked else "untracked"
    topics = [f"{kind}-{number}" for number in range(3)]
    for topic in topics:
        Topics(broker.bootstrap_servers).create(topic)
    lines, copy = tmp_path / "lines", tmp_path / "copy"
    lines.touch()
    with ThreadHost(broker.bootstrap_servers, topic_tracking_enable=str(is_tracked).lower()) as host:
        host.run(file_source("source", lines, topics[0]))
        host.run(file_sink("sink", copy, ",".join(topics)))
        assert host.statuses.topics("source") == host.statuses.topics("sink") == []
        lines.write_text("one\ntwo\n")
        assert eventually(lambda: copy.exists() and copy.read_text() == "one\ntwo\n", TIMEOUT)
        wanted = [topics[0]] if is_tracked else []
        assert eventually(lambda: host.statuses.topics("source") == host.statuses.topics("sink") == wanted, TIMEOUT)
        host.herder.delete("source").result(TIMEOUT)
        assert (host.statuses.topics("source"), host.statuses.topics("sink")) == ([], wanted)
