"""Case dirty:latency: the latency of a sink's record after one that is not JSON, and after one that is."""

from __future__ import annotations

import random
import statistics
import time
from pathlib import Path

from confluent_kafka import Producer

from tests.bench.bench import Bench, running
from tests.bench.result import Metric, Result
from tests.peer.case import SINK_CLASS, converter

SAMPLES = 100
_WARM_UP = 20
_TIMEOUT = 60.0
_POLL = 0.0005
_METRICS = tuple(
    Metric(f"{kind} {cut}", f"ms behind a {kind} record, {words}", "lower", goal=goal)
    for kind in ("good", "bad")
    for cut, words, goal in (("p50", "median", None), ("p99", "99th percentile", 1.0))
)


def measure(bench: Bench) -> Result:
    """Send a pair of records at random moments to a running sink, and wait for the second."""
    result = Result("dirty:latency", f"latency of a sink, {SAMPLES} records of each kind a run", _METRICS)
    for pair, side in bench.runs():
        worker = bench.worker(side, strings=False)
        with running(worker):
            topic = bench.fresh("bad-record")
            bench.topics.create(topic)
            file = bench.folder / f"{topic}.txt"
            plain = converter("value", "json", schemas_enable=False)
            config = {"name": topic, "connector.class": SINK_CLASS, "file": str(file), "topics": topic}
            worker.run({**config, **plain, "errors.tolerance": "all"})
            producer = Producer({"bootstrap.servers": bench.broker.bootstrap_servers, "linger.ms": 0})
            found = {
                kind: [_one(producer, topic, file, first) for _ in range(_WARM_UP + SAMPLES)][_WARM_UP:]
                for kind, first in (("good", b'{"a":0}'), ("bad", b"oops"))
            }
            producer.flush(10)
            worker.delete(topic)
        cuts = {kind: statistics.quantiles(own, n=100, method="inclusive") for kind, own in found.items()}
        places = ("p50", 49), ("p99", 98)
        latencies = {f"{kind} {name}": own[place] for kind, own in cuts.items() for name, place in places}
        result.add(side, **latencies)
        shown = ", ".join(f"{name}: {ms:.1f} ms" for name, ms in latencies.items())
        bench.say(f"latency {pair}/{bench.pairs} {side}: {shown}")
    return result


def _one(producer: Producer, topic: str, file: Path, first: bytes) -> float:
    """Send both records and return the milliseconds until the second is in the file."""
    time.sleep(random.uniform(0.0, 0.05))
    mark = b'{"mark":%d}' % random.getrandbits(60)
    wanted = mark.replace(b'"', b"").replace(b":", b"=")
    start = file.stat().st_size if file.exists() else 0
    started = time.monotonic()
    producer.produce(topic, first)
    producer.produce(topic, mark)
    producer.poll(0)
    while not (file.exists() and wanted in _since(file, start)):
        assert time.monotonic() - started < _TIMEOUT, "the record did not arrive"
        time.sleep(_POLL)
    return (time.monotonic() - started) * 1000


def _since(file: Path, start: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(start)
        return opened.read()
