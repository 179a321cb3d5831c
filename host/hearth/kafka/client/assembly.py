"""The configurations of a task's clients: defaults, then the worker's keys, then the connector's own."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from hearth.kafka.client.key import RULES
from hearth.kafka.client.rule import Translation
from hearth.kafka.client.translate import Role, translate

_EVERYWHERE = {
    "reconnect.backoff.ms": "50",  # Java's; librdkafka's own would wait up to 10 s for a broker that is back
    "reconnect.backoff.max.ms": "1000",
    "librdkafka.socket.keepalive.enable": "true",  # as Java's sockets
}

_WORKERS_OWN = (
    "client.id",
    "config.providers",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
)
"""Admin keys that, written without prefix, configure the worker itself."""

_LISTENERS = "admin.listeners"
"""What begins so is for the REST server, and no key of an admin client."""

_ACCESS = ("bootstrap.servers", "security.", "sasl.", "ssl.")

PRODUCER_DEFAULTS: dict[str, str] = _EVERYWHERE | {
    # Kafka Connect's: nothing is given up
    "acks": "all",
    # Hearth's (invariant 4): librdkafka keeps order over a retry only when it is idempotent; with one request in
    # flight it has built the next before the first comes back, which a new topic's first batches showed
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "5",
    "delivery.timeout.ms": "2147483647",
    "max.block.ms": "9223372036854775807",
    # Java's, where librdkafka's differ and a record would be refused or land elsewhere
    "max.request.size": "1048576",
    "buffer.memory": "33554432",
    "partitioner.class": "",
    # Hearth's: full batches are what makes the producer fast, and 5 ms is not felt
    "batch.size": "1000000",
    "linger.ms": "5",
}
"""A source task's producer, and the producer of dead letters."""

CONSUMER_DEFAULTS: dict[str, str] = _EVERYWHERE | {
    # Kafka Connect's
    "auto.offset.reset": "earliest",
    # Java's, where librdkafka's differ
    "isolation.level": "read_uncommitted",
    "allow.auto.create.topics": "true",
    "exclude.internal.topics": "true",
    # Java's, and librdkafka's as well; here it also says how often a pattern of topics is looked at
    "metadata.max.age.ms": "300000",
    # Hearth's: a rebalance is noticed soon by those who are in it
    "heartbeat.interval.ms": "1000",
    # Hearth's, measured: librdkafka stands still for a second when its queue was full, and keeps 64 MB in it
    "librdkafka.fetch.queue.backoff.ms": "2",
    "librdkafka.queued.min.messages": "20000",
    "librdkafka.queued.max.messages.kbytes": "6144",
    "librdkafka.enable.auto.commit": "false",
    "librdkafka.enable.auto.offset.store": "false",
}
"""A sink task's consumer."""

_INTERNAL: dict[Role, dict[str, str]] = {
    # Kafka Connect's, but for idempotence: librdkafka keeps order over a retry with it alone, at no cost
    "producer": {
        "acks": "all",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "delivery.timeout.ms": "2147483647",
        "partitioner.class": "",
    },
    "consumer": {
        "auto.offset.reset": "earliest",
        "allow.auto.create.topics": "false",
        # Kafka Connect's where sources write in transactions; here the host itself always does
        "isolation.level": "read_committed",
        "librdkafka.enable.auto.commit": "false",
        "librdkafka.enable.auto.offset.store": "false",
        # they are told where the end is, and little is read ahead of what is done with it
        "librdkafka.enable.partition.eof": "true",
        "librdkafka.queued.max.messages.kbytes": "4096",
    },
    "admin": {},
}
"""What the clients of the host itself do whatever its file says."""

_INTERNAL_DEFAULTS: dict[Role, dict[str, str]] = {
    "producer": {"max.request.size": PRODUCER_DEFAULTS["max.request.size"]},
    # how long it may take until the end of a topic is seen whose last record ends a transaction, and what that costs
    # while nothing happens: 0.5 ms a second with 500 ms, 2 ms with 100
    "consumer": {"fetch.max.wait.ms": "250"},
    "admin": {},
}


def producer_config(
    worker: Mapping[str, str], connector_config: Mapping[str, str], transactional_id: str | None = None
) -> Translation:
    """Return the configuration of the producers of a connector's tasks, of a source's records or of dead letters.

    As with the others' it has a name only if the user gave one: a task names its clients for itself. With a
    ``transactional_id`` nobody else gives one, or rules out what transactions need, as in Kafka Connect.
    """
    own = {"bootstrap.servers": worker.get("bootstrap.servers", "")}
    if transactional_id is not None:
        forced = {"enable.idempotence": "true", "transactional.id": transactional_id}
        return _layered("producer", PRODUCER_DEFAULTS | own, worker, connector_config, forced=forced)
    return _layered(
        "producer", PRODUCER_DEFAULTS | own | _plain_sends(worker, connector_config), worker, connector_config
    )


def consumer_config(worker: Mapping[str, str], connector_config: Mapping[str, str], connector: str) -> Translation:
    """Return the configuration of the consumers of a sink's tasks."""
    own = {"bootstrap.servers": worker.get("bootstrap.servers", ""), "group.id": f"connect-{connector}"}
    return _layered("consumer", CONSUMER_DEFAULTS | own, worker, connector_config)


def group_name(host: str, connector: str) -> str:
    """Return what the members of a sink are known by: its next runs find by it what killed ones have left there.

    The connector of the same name on another host has another. It keeps to Kafka's rules for ``group.instance.id``,
    with room for a task and a token: letters, digits, ``.``, ``_`` and ``-``, 249 of them at most.
    """
    digest = hashlib.sha256(f"{host}\0{connector}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"connect-{re.sub(r'[^A-Za-z0-9._-]', '_', connector)[:200]}-{digest[:12]}"


def admin_config(worker: Mapping[str, str], connector_config: Mapping[str, str] | None = None) -> Translation:
    """Return the configuration of the admin clients of a connector's tasks, or of the worker's own.

    Admin clients alone also read the worker's keys without prefix, as in Kafka Connect.
    """
    own = {"client.id": "hearth-adminclient"} if connector_config is None else {}
    plain = {key: value for key, value in worker.items() if key in RULES["admin"] and key not in _WORKERS_OWN}
    return _layered("admin", _EVERYWHERE | plain | own, worker, connector_config or {}, plain)


def internal_config(role: Role, worker: Mapping[str, str], client: str) -> Translation:
    """Return the configuration of a client by which the host itself reads or writes the topics of its cluster.

    As in Kafka Connect these read the worker's keys without prefix, and none of those that tasks' clients read
    (`KafkaConfigBackingStore.baseProducerProps` and its like). ``client`` is what brokers know it by.
    """
    plain = {key: value for key, value in worker.items() if key in RULES[role] and key not in _WORKERS_OWN}
    java = _EVERYWHERE | _INTERNAL_DEFAULTS[role] | plain | {"client.id": client} | _INTERNAL[role]
    return translate(role, java, {key: key for key in plain if key not in _INTERNAL[role]})


def offset_config(
    role: Role, worker: Mapping[str, str], connector_config: Mapping[str, str], name: str
) -> Translation:
    """Return the configuration of a client by which a host reads or writes offsets where a connector's clients go.

    As in Kafka Connect that is what the connector's own client is told (`offsetStoreForRegularSourceConnector`), and
    what a host itself does whatever its file says. ``name`` is what brokers know it by.
    """
    own = {"bootstrap.servers": worker.get("bootstrap.servers", ""), "client.id": name, "group.id": name}
    plain = {key: value for key, value in worker.items() if key in RULES[role] and key not in _WORKERS_OWN}
    defaults = _EVERYWHERE | _INTERNAL_DEFAULTS[role] | {key: own[key] for key in own if key in RULES[role]}
    inherited = plain if role == "admin" else {}
    return _layered(role, defaults | inherited, worker, connector_config, inherited, _INTERNAL[role])


def access_of(config: Mapping[str, str]) -> dict[str, str]:
    """Return which Kafka a client of librdkafka speaks to, and as whom."""
    return {key: value for key, value in config.items() if key.startswith(_ACCESS)}


def _plain_sends(worker: Mapping[str, str], connector_config: Mapping[str, str]) -> dict[str, str]:
    """Return Kafka Connect's own defaults where the user's settings rule idempotence out, as in Java's producer."""
    wanted = dict(_prefixed("producer.", worker)) | dict(_prefixed("producer.override.", connector_config))
    refused = (
        wanted.get("enable.idempotence", "true").strip().lower() != "true"
        or wanted.get("acks", "all").strip() not in ("all", "-1")
        or wanted.get("retries", "1").strip() == "0"
        or wanted.get("max.in.flight.requests.per.connection", "5").strip() not in ("1", "2", "3", "4", "5")
    )
    if not refused:
        return {}
    return {"enable.idempotence": "false", "max.in.flight.requests.per.connection": "1"}


def _prefixed(prefix: str, source: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((name.removeprefix(prefix), value) for name, value in source.items() if name.startswith(prefix))


def _layered(
    role: Role,
    defaults: Mapping[str, str],
    worker: Mapping[str, str],
    connector_config: Mapping[str, str],
    plain: Mapping[str, str] | None = None,
    forced: Mapping[str, str] | None = None,
) -> Translation:
    """Lay the worker's and then the connector's keys over the defaults, and keep how the user wrote each.

    What is ``forced`` has the last word, which is told where the user's was another, as what it is for needs its own.
    """
    java = dict(defaults)
    written = {key: key for key in plain or ()}
    for prefix, source in ((f"{role}.", worker), (f"{role}.override.", connector_config)):
        for name, value in source.items():
            if name.startswith(prefix) and not name.startswith(_LISTENERS):
                key = name.removeprefix(prefix)
                java[key], written[key] = value, name
    replaced = [name for name, value in (forced or {}).items() if name in written and java[name].strip() != value]
    found = translate(role, java | dict(forced or {}), written)
    need = "exactly once" if "transactional.id" in (forced or {}) else "a topic of offsets"
    found.warnings.extend(f"{written[name]} has no effect, {need} needs its own" for name in replaced)
    return found
