"""The configurations of a task's clients: defaults, then the worker's keys, then the connector's."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping

from hearth.kafka.client.key import RULES
from hearth.kafka.client.rule import Translation
from hearth.kafka.client.translate import Role, translate

_EVERYWHERE = {
    "reconnect.backoff.ms": "50",  # Java's; with librdkafka's, up to 10 s until it reconnects
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
"""Admin keys that configure the worker itself when written without a prefix."""

_LISTENERS = "admin.listeners"
"""Prefix of keys for the REST server, not for an admin client."""

_ACCESS = ("bootstrap.servers", "security.", "sasl.", "ssl.")

PRODUCER_DEFAULTS: dict[str, str] = _EVERYWHERE | {
    # Kafka Connect's: retry without limit
    "acks": "all",
    # Hearth's (invariant 4): librdkafka keeps order over a retry only with idempotence. One request in flight is not
    # enough: it builds the next before the first is answered, as the first batches of a new topic showed.
    "enable.idempotence": "true",
    "max.in.flight.requests.per.connection": "5",
    "delivery.timeout.ms": "2147483647",
    "max.block.ms": "9223372036854775807",
    # Java's, where with librdkafka's a record would be refused or go to another partition
    "max.request.size": "1048576",
    "buffer.memory": "33554432",
    "partitioner.class": "",
    # Hearth's: full batches make the producer fast, and 5 ms do not matter
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
    # Java's and librdkafka's; here it is also the interval for matching topics.regex
    "metadata.max.age.ms": "300000",
    # Hearth's: members notice a rebalance sooner
    "heartbeat.interval.ms": "1000",
    # Hearth's, measured: by default librdkafka pauses for a second when its queue was full, and holds 64 MB
    "librdkafka.fetch.queue.backoff.ms": "2",
    "librdkafka.queued.min.messages": "20000",
    "librdkafka.queued.max.messages.kbytes": "6144",
    "librdkafka.enable.auto.commit": "false",
    "librdkafka.enable.auto.offset.store": "false",
}
"""A sink task's consumer."""

_INTERNAL: dict[Role, dict[str, str]] = {
    # Kafka Connect's, except idempotence: librdkafka needs it to keep order over a retry, and it costs nothing
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
        # they need to know the end, and read little ahead
        "librdkafka.enable.partition.eof": "true",
        "librdkafka.queued.max.messages.kbytes": "4096",
    },
    "admin": {},
}
"""Settings of the host's own clients that its file cannot change."""

_INTERNAL_DEFAULTS: dict[Role, dict[str, str]] = {
    "producer": {"max.request.size": PRODUCER_DEFAULTS["max.request.size"]},
    # how long it takes to see the end of a topic whose last record ends a transaction; the idle cost is 0.5 ms per
    # second with 500 ms, 2 ms with 100
    "consumer": {"fetch.max.wait.ms": "250"},
    "admin": {},
}


def producer_config(
    worker: Mapping[str, str], connector_config: Mapping[str, str], transactional_id: str | None = None
) -> Translation:
    """Return the configuration of the producers of a connector's tasks, of a source's records or of dead letters.

    As for the other clients, it has a ``client.id`` only if the user set one: tasks name their clients. A
    ``transactional_id`` overrides the user's, and the settings that transactions need, as in Kafka Connect.
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
    """Return the name of a sink's members, by which its next runs find members left by killed ones.

    It differs for a connector of the same name on another host. It follows Kafka's rules for ``group.instance.id``,
    with room for a task and a token: letters, digits, ``.``, ``_`` and ``-``, at most 249.
    """
    digest = hashlib.sha256(f"{host}\0{connector}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"connect-{re.sub(r'[^A-Za-z0-9._-]', '_', connector)[:200]}-{digest[:12]}"


def admin_config(worker: Mapping[str, str], connector_config: Mapping[str, str] | None = None) -> Translation:
    """Return the configuration of the admin clients of a connector's tasks, or of the worker.

    Only admin clients also read the worker's keys without prefix, as in Kafka Connect.
    """
    own = {"client.id": "hearth-adminclient"} if connector_config is None else {}
    plain = {key: value for key, value in worker.items() if key in RULES["admin"] and key not in _WORKERS_OWN}
    return _layered("admin", _EVERYWHERE | plain | own, worker, connector_config or {}, plain)


def internal_config(role: Role, worker: Mapping[str, str], client: str) -> Translation:
    """Return the configuration of a host's client for its cluster's topics.

    As in Kafka Connect these read the worker's keys without prefix, and none of those for tasks' clients
    (`KafkaConfigBackingStore.baseProducerProps` and similar). ``client`` is its ``client.id``.
    """
    plain = {key: value for key, value in worker.items() if key in RULES[role] and key not in _WORKERS_OWN}
    java = _EVERYWHERE | _INTERNAL_DEFAULTS[role] | plain | {"client.id": client} | _INTERNAL[role]
    return translate(role, java, {key: key for key in plain if key not in _INTERNAL[role]})


def offset_config(
    role: Role, worker: Mapping[str, str], connector_config: Mapping[str, str], name: str
) -> Translation:
    """Return the configuration of a host's client for offsets in a connector's Kafka cluster.

    As in Kafka Connect those are the settings of the connector's own client (`offsetStoreForRegularSourceConnector`),
    and the fixed ones of the host's clients. ``name`` is its ``client.id``.
    """
    own = {"bootstrap.servers": worker.get("bootstrap.servers", ""), "client.id": name, "group.id": name}
    plain = {key: value for key, value in worker.items() if key in RULES[role] and key not in _WORKERS_OWN}
    defaults = _EVERYWHERE | _INTERNAL_DEFAULTS[role] | {key: own[key] for key in own if key in RULES[role]}
    inherited = plain if role == "admin" else {}
    return _layered(role, defaults | inherited, worker, connector_config, inherited, _INTERNAL[role])


def access_of(config: Mapping[str, str]) -> dict[str, str]:
    """Return a client's settings for the address and the login."""
    return {key: value for key, value in config.items() if key.startswith(_ACCESS)}


def _plain_sends(worker: Mapping[str, str], connector_config: Mapping[str, str]) -> dict[str, str]:
    """Return Kafka Connect's own defaults if the user's settings exclude idempotence, as in Java's producer."""
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
    """Merge the worker's and then the connector's keys over the defaults, and record the user's key names.

    ``forced`` settings override all, with a warning if the user set another value.
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
