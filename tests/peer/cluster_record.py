"""The records that Java's distributed worker writes to its cluster's topics, kept as data for the stores' tests.

`python -m tests.peer.cluster_record` runs it and keeps its records.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from hearth.broker import KafkaBroker
from tests.peer.distributed import JavaDistributed
from tests.peer.kept import GOLDEN
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

PATH = GOLDEN / "cluster_record.jsonl"
KINDS = ("config", "status", "offset")
GROUP = "golden"
SOURCE, SINK, GONE = "source-1", "sink-2", "gone"
STRING = "org.apache.kafka.connect.storage.StringConverter"


@dataclass(frozen=True)
class KeptRecord:
    """A record of one of the three topics, its key and value as text; no value is a tombstone."""

    kind: str
    partition: int
    key: str
    value: str | None


def kept_records() -> list[KeptRecord]:
    """Return the kept records, by topic and partition."""
    return [KeptRecord(**json.loads(line)) for line in PATH.read_text("utf-8").splitlines()]


def story(worker: JavaDistributed) -> None:
    """Make it write every kind of record: connectors that run, pause, stop, fail, restart and are deleted."""
    text = worker.folder / "lines.txt"
    text.write_text("one\ntwo\n", encoding="utf-8")
    source = {
        "name": SOURCE, "connector.class": "FileStreamSource", "tasks.max": "1", "topic": "golden-lines",
        "file": str(text), "key.converter": STRING, "value.converter": STRING, "comment": "tab\t, \x1f, é, 😀, \\",
    }  # fmt: skip
    sink = {
        "name": SINK, "connector.class": "FileStreamSink", "tasks.max": "2", "topics": "golden-lines",
        "file": str(worker.folder / "sunk.txt"),
    }  # fmt: skip
    worker.run(source)
    call = worker.rest.call
    assert eventually(lambda: call("GET", f"/connectors/{SOURCE}/offsets").json["offsets"], TIMEOUT)
    assert call("POST", "/connectors", {"name": SINK, "config": sink, "initial_state": "PAUSED"}).status == 201
    assert eventually(lambda: worker.rest.states(SINK) == ["PAUSED"], TIMEOUT)
    assert call("PUT", f"/connectors/{SINK}/resume").status == 202
    worker.wait_for_state(SINK, "FAILED")  # the lines are not JSON
    assert call("POST", f"/connectors/{SINK}/restart?includeTasks=true&onlyFailed=true").status == 202
    assert call("PUT", "/admin/loggers/org.example?scope=cluster", {"level": "DEBUG"}).status == 204
    worker.run({**source, "name": GONE})
    assert call("DELETE", f"/connectors/{GONE}").status == 204
    assert call("PUT", f"/connectors/{SOURCE}/stop").status == 204
    assert eventually(lambda: worker.rest.states(SOURCE) == ["STOPPED"], TIMEOUT)
    changed = {"offsets": [{"partition": {"filename": "é", "n": 1}, "offset": {"position": 7, "part": 2.5}}]}
    assert call("PATCH", f"/connectors/{SOURCE}/offsets", changed).status == 200
    gone = {"offsets": [{"partition": {"filename": str(text)}, "offset": None}]}
    assert call("PATCH", f"/connectors/{SOURCE}/offsets", gone).status == 200


def read_records(bootstrap_servers: str, group: str) -> Iterator[KeptRecord]:
    """Yield all records of a cluster's topics, in order within each partition."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "reader", "enable.partition.eof": True}
    consumer = Consumer({**settings, "isolation.level": "read_committed", "fetch.wait.max.ms": 20})
    kinds = {f"{group}-{kind}s": kind for kind in KINDS}
    topics = {topic: consumer.list_topics(topic).topics[topic].partitions for topic in kinds}
    places = [TopicPartition(topic, number, OFFSET_BEGINNING) for topic, found in topics.items() for number in found]
    consumer.assign(places)
    ends = 0
    while ends < len(places):
        message = consumer.poll(10)
        assert message is not None, "the topics cannot be read to their ends"
        if message.error() is not None:
            assert message.error().code() == KafkaError._PARTITION_EOF
            ends += 1
            continue
        value = message.value()
        text = None if value is None else value.decode()
        yield KeptRecord(kinds[message.topic()], message.partition(), message.key().decode(), text)
    consumer.close()


def record(folder: Path) -> list[KeptRecord]:
    """Run Java's worker in a folder, and return the records that it wrote."""
    with KafkaBroker(folder / "broker", reserve_port(), retention_bytes=64 << 20) as broker:
        settings = {"exactly.once.source.support": "enabled"}
        worker = JavaDistributed(folder / "java", broker.bootstrap_servers, GROUP, settings)
        worker.folder.mkdir()
        with worker:
            story(worker)
        return sorted(read_records(broker.bootstrap_servers, GROUP), key=lambda each: (each.kind, each.partition))


def main() -> None:
    """Run Java, in a folder with a fixed name since key hashes depend on it, and keep its records."""
    folder = Path(tempfile.gettempdir(), "golden")
    folder.mkdir()
    try:
        records = record(folder)
    finally:
        shutil.rmtree(folder)
    lines = [json.dumps(asdict(each), ensure_ascii=False) for each in records]
    PATH.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
