"""Keys that are translated together or have complex values: partitioner, assignors, offset reset."""

from __future__ import annotations

from hearth.kafka.client.rule import ClientRequest, whole_number
from hearth_api import ConfigError

_CLIENTS = "org.apache.kafka.clients."
_LEVELS = {"gzip": (-1, 9), "lz4": (-1, 12), "zstd": (-1, 12)}
_EAGER = {"RangeAssignor": "range", "RoundRobinAssignor": "roundrobin"}
_COOPERATIVE = {"CooperativeStickyAssignor": "cooperative-sticky"}
_JAVAS_DEFAULT = ["RangeAssignor", "CooperativeStickyAssignor"]
_INTERNAL_TOPICS = "^__consumer_offsets$,^__transaction_state$"


def servers(request: ClientRequest, key: str) -> None:
    """Pass a list without the blanks Java allows in it."""
    listed = [server.strip() for server in request.java[key].split(",")]
    request.set(key, ",".join(server for server in listed if server))


def connection_setup(request: ClientRequest, _key: str) -> None:
    """Use the longer of Java's initial and maximum timeout: librdkafka has one."""
    names = ("socket.connection.setup.timeout.ms", "socket.connection.setup.timeout.max.ms")
    given = [whole_number(request, name) for name in names if name in request.java]
    request.set(names[0], str(max(1000, *given)))


def compression_level(request: ClientRequest, key: str) -> None:
    """Use the level of the selected codec; librdkafka has one setting for all."""
    codec = key.split(".")[1]
    if request.get("compression.type") != codec:
        return
    lowest, highest = _LEVELS[codec]
    given = whole_number(request, key)
    level = min(max(given, lowest), highest)
    if level != given:
        request.warn(key, f"{given} is out of librdkafka's range, {level} is used")
    request.set("compression.level", str(level))


def partitioner(request: ClientRequest, key: str) -> None:
    """Choose the partitioner that selects the same partitions as Java's."""
    if (request.get("partitioner.ignore.keys") or "false").lower() == "true":
        request.set("partitioner", "random")
        return
    name = request.get("partitioner.class")
    if name in (None, "null", f"{_CLIENTS}producer.internals.DefaultPartitioner"):
        request.set("partitioner", "murmur2_random")
        return
    raise request.refuse(
        key,
        f"{name} cannot be honoured, Hearth's Kafka clients run no Java class",
        "remove it for Java's default partitioner, or set the partition of each record in the connector",
    )


def offset_reset(request: ClientRequest, key: str) -> None:
    """Translate the start position of a group without offsets."""
    word = request.java[key].strip().lower()
    known = {"earliest": "earliest", "latest": "latest", "none": "error"}
    if word.startswith("by_duration:"):
        raise request.refuse(
            key, "by_duration cannot be honoured, librdkafka does not know it", "use earliest or latest"
        )
    if word not in known:
        raise ConfigError(request.name(key), request.java[key], f"must be one of {', '.join(known)}")
    request.set(key, known[word])


def internal_topics(request: ClientRequest, key: str) -> None:
    """Hide Kafka's own topics from a pattern of topics, as Java does by default."""
    if request.java[key].strip().lower() == "true":
        request.set("topic.blacklist", _INTERNAL_TOPICS)


def assignors(request: ClientRequest, key: str) -> None:
    """Translate class names; drop assignors with another protocol than the first one's."""
    listed = [name.strip().removeprefix(f"{_CLIENTS}consumer.") for name in request.java[key].split(",")]
    names = [name for name in listed if name]
    for name in names:
        if name not in _EAGER | _COOPERATIVE:
            known = ", ".join(_EAGER | _COOPERATIVE)
            raise request.refuse(key, f"{name} cannot be honoured, librdkafka has no such assignor", f"use {known}")
    family = _COOPERATIVE if names and names[0] in _COOPERATIVE else _EAGER
    if any(name not in family for name in names) and names != _JAVAS_DEFAULT:
        request.warn(key, "eager and cooperative assignors cannot be mixed, those like the first are used")
    request.set(key, ",".join(family[name] for name in names if name in family))
