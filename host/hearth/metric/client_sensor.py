"""Sensors of Kafka clients: those of tasks, and those with which the hosts of a cluster elect their leader."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import chain

from hearth.kafka.client_statistics import ClientStatistics
from hearth.metric.sensor import ADMIN, CONNECT, CONSUMER, PRODUCER, Measurement, Sensor, SensorKind, Tags, measured
from hearth.metric.task_metric import TaskMetrics

_GROUPS = {
    CONSUMER: "consumer-metrics",
    PRODUCER: "producer-metrics",
    ADMIN: "admin-client-metrics",
    CONNECT: "connect-metrics",
}
_COUNTS = (
    ("bytes_received", "incoming-byte", "Bytes received"),
    ("bytes_sent", "outgoing-byte", "Bytes sent"),
    ("requests", "request", "Requests sent"),
    ("responses", "response", "Responses received"),
)


class ClientTags:
    """The tags of a client, and those of all of its brokers together."""

    def __init__(self, client: str) -> None:
        self.own = Tags.of(client_id=client)
        self.nodes = self.own.plus(node_id="all")


class ClientSensors:
    """The sensors of one kind of client."""

    def __init__(self, domain: str) -> None:
        group, total = _GROUPS[domain], SensorKind.TOTAL
        self._values = [
            Sensor(group, "connection-count", "Connections to brokers.", domain=domain),
            *(Sensor(group, f"{name}-total", f"{doc} by the client.", total, domain) for _, name, doc in _COUNTS),
            *(
                Sensor(group, f"{name}-rate", f"{doc} by the client per second.", domain=domain)
                for _, name, doc in _COUNTS
            ),
        ]
        node = group.replace("-metrics", "-node-metrics")
        self._of_nodes = [
            Sensor(node, f"{name}-total", f"{doc} by the client, of all brokers.", total, domain)
            for _, name, doc in _COUNTS[:2]
        ]

    def measure(self, metrics: TaskMetrics, tags: ClientTags) -> Iterable[Measurement]:
        """Return what a client has done, as far as librdkafka has told; brokers are not told apart."""
        counts = [metrics.count(name) for name, _, _ in _COUNTS]
        rates = [metrics.rate(name) for name, _, _ in _COUNTS]
        values = [metrics.count("connections"), *counts, *rates]
        return chain(measured(self._values, tags.own, values), measured(self._of_nodes, tags.nodes, counts))


SENSORS = {domain: ClientSensors(domain) for domain in _GROUPS}

_OF_CONNECT = _GROUPS[CONNECT]
_IO_RATIO = Sensor(_OF_CONNECT, "io-ratio", "Share of the time spent with input and output: NaN, librdkafka has none.")
_IO_RATE = Sensor(_OF_CONNECT, "network-io-rate", "Requests and responses of the client per second.")
_FAILED = Sensor(_OF_CONNECT, "failed-authentication-total", "Log-ins that brokers refused.", SensorKind.TOTAL)
_SUCCEEDED = Sensor(_OF_CONNECT, "successful-authentication-total", "Log-ins that brokers accepted.", SensorKind.TOTAL)
_SUCCESS_RATE = Sensor(_OF_CONNECT, "successful-authentication-rate", "Log-ins per second that brokers accepted.")


class WorkerClient:
    """A client of the worker itself, fed with librdkafka's statistics."""

    def __init__(self, metrics: TaskMetrics, *, logs_in: bool) -> None:
        """``logs_in`` is whether brokers ask the client for a log-in."""
        self._metrics, self._logs_in = metrics, logs_in
        self.refused = 0
        """How often a broker refused a log-in."""

    def take(self, text: str) -> None:
        """Take new statistics."""
        self._metrics.take(asdict(ClientStatistics.read(text)))

    def measure(self, domain: str, client: str) -> Iterator[Measurement]:
        """Yield what the client has done; its log-ins too if it counts as the worker's own (`kafka.connect`)."""
        metrics = self._metrics
        yield from SENSORS[domain].measure(metrics, ClientTags(client))
        if domain == CONNECT:
            tags = Tags.of(client_id=client)
            yield _IO_RATIO, tags, math.nan
            yield _IO_RATE, tags, metrics.rate("requests") + metrics.rate("responses")
            yield _FAILED, tags, self.refused
            yield _SUCCEEDED, tags, metrics.count("connects") if self._logs_in else 0
            yield _SUCCESS_RATE, tags, metrics.rate("connects") if self._logs_in else 0
