"""Case jar-mirror: MirrorMaker's source connector copies a topic of eight partitions."""

from __future__ import annotations

from confluent_kafka import Producer

from tests.bench.bench import Bench, running
from tests.bench.jar import unpacked
from tests.bench.result import Metric, Result
from tests.bench.throughput import LINE_BYTES, Liveness, follow, lines
from tests.peer.worker import Worker

PARTITIONS = 8
_BYTES = "org.apache.kafka.connect.converters.ByteArrayConverter"


def measure(bench: Bench) -> Result:
    """Copy the records in alternating pairs, each to a topic of its own."""
    metrics = (
        Metric("rate", "records/s", goal=1.5, format="{:,.0f}"),
        Metric("cpu", "CPU s per million", "lower", format="{:.2f}"),
    )
    title = f"MirrorSource, one task, {PARTITIONS} partitions, {bench.records:,} records of {LINE_BYTES} bytes"
    result = Result("jar-mirror", title, metrics)
    settings = {"plugin.path": str(unpacked(bench, "connect-mirror"))}
    topic = bench.fresh("mirrored")
    _fill(bench, topic)
    for pair, side in bench.runs():
        values = _run(bench, bench.worker(side, settings), topic)
        result.add(side, **values)
        bench.say(f"jar-mirror {pair}/{bench.pairs} {side}: {values['rate']:,.0f} records/s")
    bench.topics.delete([topic])
    return result


def _fill(bench: Bench, topic: str) -> None:
    bench.topics.create(topic, PARTITIONS)
    producer = Producer({"bootstrap.servers": bench.broker.bootstrap_servers, "linger.ms": 20})
    for number, block in enumerate(lines(bench.records)):
        for line in block.splitlines():
            producer.produce(topic, line, partition=number % PARTITIONS)
        producer.flush(60)
    assert bench.topics.count(topic) == bench.records


def _run(bench: Bench, worker: Worker, topic: str) -> dict[str, float]:
    alias = bench.fresh("near")
    copy = f"{alias}.{topic}"
    bench.topics.create(copy, PARTITIONS)
    try:
        with running(worker) as meter, bench.topics.watched(copy, partitions=PARTITIONS) as count:
            answer = worker.rest.create(_connector(bench, alias, topic))
            assert answer.status == 201, answer.text
            costs: list[float] = []
            is_alive = Liveness(worker, alias)
            progress = follow(count, bench.records, is_alive, lambda: costs.append(meter.refreshed().cpu))
            cpu = meter.refreshed().cpu - costs[0]
            return {"rate": progress.rate, "cpu": cpu / (progress.count - progress.first_count) * 1e6}
    finally:
        bench.topics.delete([copy])


def _connector(bench: Bench, alias: str, topic: str) -> dict[str, str]:
    servers = bench.broker.bootstrap_servers
    return {
        "name": alias,
        "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
        "source.cluster.alias": alias,
        "target.cluster.alias": "far",
        "source.cluster.bootstrap.servers": servers,
        "target.cluster.bootstrap.servers": servers,
        "topics": topic,
        "tasks.max": "1",
        "consumer.auto.offset.reset": "earliest",
        "replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "sync.topic.acls.enabled": "false",
        "sync.topic.configs.enabled": "false",
        **dict.fromkeys(("key.converter", "value.converter", "header.converter"), _BYTES),
    }
