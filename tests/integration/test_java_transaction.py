"""A Java source that says where its transactions end, in a worker that writes exactly once."""

from __future__ import annotations

import zipfile
from pathlib import Path

import confluent_kafka
import pytest

from hearth.broker import KafkaBroker
from tests.java_sample import compile_sample
from tests.peer.distributed import HearthDistributed
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[1] / "contract" / "stage" / "java"
STRING = "org.apache.kafka.connect.storage.StringConverter"


def committed(broker: KafkaBroker, topic: str) -> list[bytes | None]:
    """Return the values of a topic's committed records."""
    settings = {"bootstrap.servers": broker.bootstrap_servers, "group.id": "reader", "enable.partition.eof": True}
    consumer = confluent_kafka.Consumer({**settings, "isolation.level": "read_committed"})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = []
    while (message := consumer.poll(TIMEOUT)) is not None and message.error() is None:
        found.append(message.value())
    consumer.close()
    return found


def test_transactions_of_a_java_task_are_written_whole(broker: KafkaBroker, tmp_path: Path) -> None:
    """Records of an aborted transaction are no records, but count as read; the offset is that of the last commit."""
    bundle, classes = tmp_path / "plugins" / "sample", tmp_path / "classes"
    bundle.mkdir(parents=True)
    compile_sample(SAMPLE, classes)
    with zipfile.ZipFile(bundle / "sample.jar", "w") as jar:
        for each in classes.rglob("*.class"):
            jar.write(each, each.relative_to(classes))
    topic = "bounded"
    Topics(broker.bootstrap_servers).create(topic)
    settings = {"plugin.path": str(bundle.parent), "exactly.once.source.support": "enabled", "key.converter": STRING}
    config = {
        "name": "bounded",
        "connector.class": "sample.BoundedSource",
        "topic": topic,
        "exactly.once.support": "required",
        "transaction.boundary": "connector",
        "value.converter": STRING,
    }
    with HearthDistributed(tmp_path, broker.bootstrap_servers, "bounded-group", settings) as worker:
        worker.run(config)
        stored = {"offsets": [{"partition": {"name": "n"}, "offset": {"position": 9}}]}
        offsets = "/connectors/bounded/offsets"
        assert eventually(lambda: bool(worker.rest.call("GET", offsets).json == stored), TIMEOUT), worker.last_words()
    assert committed(broker, topic) == [b"v0", b"v1", *(b"v%d" % number for number in range(4, 9))]
