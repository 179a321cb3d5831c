"""A sink's calls and commits; a source's positions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from tests.integration.conftest import Host, MakeRecorder
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

WORDS = ["zero", "one", "two", "three", "four", "five"]


def produce(topics: Topics, topic: str, words: list[str]) -> None:
    """Write words to a topic."""
    topics.produce(topic, [Record(None, word.encode()) for word in words])


def committed(topics: Topics, group: str, topic: str) -> int:
    """Return a group's committed offset, -1 if there is none."""
    consumer: Any = Consumer({"bootstrap.servers": topics.bootstrap_servers, "group.id": group})
    try:
        return max(int(consumer.committed([TopicPartition(topic, 0)], timeout=20)[0].offset), -1)
    finally:
        consumer.close()


def test_a_sink_commits_to_the_group_named_after_it(topics: Topics, name: str, recorder: MakeRecorder) -> None:
    """`connect-NAME` as in Kafka Connect, so that every tool finds it; committed at the flush interval."""
    topics.create(name)
    produce(topics, name, WORDS)
    sink = recorder(name)
    assert eventually(lambda: committed(topics, f"connect-{name}-recorder", name) == 6, TIMEOUT)
    sink.await_values(WORDS)


def test_an_offset_is_committed_only_as_far_as_the_task_agrees(
    topics: Topics, name: str, recorder: MakeRecorder, host: Host
) -> None:
    """The result of pre_commit counts, not the delivery; the remaining records come again after a restart."""
    topics.create(name)
    produce(topics, name, WORDS)
    sink = recorder(name, hold_below="2")
    assert eventually(lambda: committed(topics, f"connect-{name}-recorder", name) == 2, TIMEOUT)
    sink.await_values(WORDS)
    assert host.rest.call("POST", f"/connectors/{name}-recorder/tasks/0/restart").status == 204
    sink.await_values(WORDS + WORDS[2:])
    assert committed(topics, f"connect-{name}-recorder", name) == 2


def test_records_refused_with_a_retriable_error_are_put_again(
    topics: Topics, name: str, recorder: MakeRecorder
) -> None:
    """RetriableError: the same records are put again, in order, and no offset after them is committed meanwhile."""
    topics.create(name)
    produce(topics, name, WORDS)
    sink = recorder(name, retry_at="3", retry_times="3")
    sink.await_values(WORDS)
    puts = sink.calls("put")
    refused = [each["records"] for each in puts if each["outcome"] == "refused"]
    assert len(refused) == 3
    again = next(each["records"] for each in puts if each["outcome"] == "taken" and each["records"][-1][2] >= 3)
    assert refused == [again] * 3
    assert eventually(lambda: committed(topics, f"connect-{name}-recorder", name) == 6, TIMEOUT)


def test_flush_excludes_refused_records(topics: Topics, name: str, recorder: MakeRecorder) -> None:
    """Between the refusals, flush covers only records that the task accepted."""
    topics.create(name)
    sink = recorder(name, retry_at="3", retry_times="4")
    produce(topics, name, WORDS)
    sink.await_values(WORDS)
    reached = 0
    for call in sink.calls("put", "flush"):
        if call["call"] == "put" and call["outcome"] == "taken":
            reached = call["records"][-1][2] + 1
        for _, _, offset in call.get("offsets", ()):
            assert offset <= reached


def test_a_sink_rewinds_with_context_offset(topics: Topics, name: str, recorder: MakeRecorder) -> None:
    """`context.offset` rewinds before the next poll; prefetched records are dropped."""
    topics.create(name)
    produce(topics, name, WORDS)
    sink = recorder(name, rewind_at="5")
    sink.await_values(WORDS + WORDS)
    assert eventually(lambda: committed(topics, f"connect-{name}-recorder", name) == 6, TIMEOUT)


def test_a_sink_opens_flushes_closes_and_stops_in_this_order(
    topics: Topics, name: str, recorder: MakeRecorder, host: Host
) -> None:
    """The order of calls over the whole life of a sink task."""
    topics.create(name)
    sink = recorder(name)
    produce(topics, name, WORDS)
    sink.await_values(WORDS)
    host.delete(sink.config["name"])
    kinds = [call["call"] for call in sink.calls()]
    assert kinds[:2] == ["start", "open"]
    assert kinds[-3:] == ["flush", "close", "stop"]
    assert sink.calls("flush")[-1]["offsets"] == [[name, 0, 6]]
    assert committed(topics, f"connect-{name}-recorder", name) == 6


def test_a_source_position_is_stored_at_the_flush_interval(
    host: Host, topics: Topics, name: str, tmp_path: Path
) -> None:
    """The offset file has the position after the last line that the broker acknowledged."""
    file = tmp_path / "in.txt"
    file.write_text("one\ntwo\n")
    files = "org.apache.kafka.connect.file.FileStreamSourceConnector"
    host.run({"name": name, "connector.class": files, "file": str(file), "topic": name})
    assert eventually(stored(host, name, {"filename": str(file)}, {"position": 8}), TIMEOUT)
    assert topics.count(name) == 2


def stored(host: Host, name: str, partition: dict[str, Any], offset: dict[str, Any]) -> Callable[[], bool]:
    """Return a check whether exactly this offset is stored for a connector."""
    path = host.folder / "connect.offsets"
    return lambda: path.exists() and json.loads(path.read_text())["offsets"].get(name) == [[partition, offset]]
