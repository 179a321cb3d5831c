"""Settings of Java's clients reach librdkafka, or the user gets a warning or an error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from hearth.kafka.client import translate
from hearth.kafka.client.client_definition import client_definition
from hearth.kafka.client.key import TABLE
from hearth.kafka.client.translate import Role
from hearth_api import ConfigError
from hearth_api.java import config_key_to_json

ROLES: tuple[Role, ...] = ("producer", "consumer", "admin")


def java_keys(role: Role) -> dict[str, str | None]:
    """Return the defaults of a client's keys, as the classes of kafka-clients 4.3.1 tell them."""
    keys = [config_key_to_json(key) for key in client_definition(role).keys.values()]
    return {key["name"]: key["default_value"] and key["default_value"].replace("class ", "") for key in keys}


JAVA_KEYS = {role: java_keys(role) for role in ROLES}

SAMPLES = {
    "bootstrap.servers": "127.0.0.1:1, 127.0.0.1:2",
    "client.id": "a client",
    "client.rack": "rack-1",
    "group.id": "g",
    "group.instance.id": "g-1",
    "partitioner.class": "",
    "transactional.id": "t",
    "sasl.kerberos.service.name": "kafka",
    "sasl.oauthbearer.assertion.claim.aud": "aud",
    "sasl.oauthbearer.assertion.claim.iss": "iss",
    "sasl.oauthbearer.assertion.claim.sub": "sub",
    "sasl.oauthbearer.client.credentials.client.id": "id",
    "sasl.oauthbearer.client.credentials.client.secret": "secret",
    "sasl.oauthbearer.scope": "scope",
}
"""Values of keys that have no default in Java."""

NOT_AS_JAVA = {"enable.auto.commit"}
"""Keys whose default in Java is not what Hearth does."""


def clients_keys(with_default: bool) -> list[tuple[Role, str]]:
    """Return client and key of all of Java's keys, or of those with a usable default or sample."""
    return [
        (client, key)
        for client, keys in JAVA_KEYS.items()
        for key, default in keys.items()
        if not with_default or default or key in SAMPLES
    ]


def value(client: Role, key: str) -> str:
    """Return a value that Java takes for the key."""
    return SAMPLES.get(key) or JAVA_KEYS[client][key] or ""


def create(client: Role, config: Mapping[str, str]) -> Any:
    """Make a real client of librdkafka, which checks every key and value."""
    quiet = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", **config}
    if client == "consumer":
        return confluent_kafka.Consumer({"group.id": "g", **quiet})
    return confluent_kafka.Producer(quiet) if client == "producer" else confluent_kafka.admin.AdminClient(quiet)


@pytest.mark.parametrize("client", list(JAVA_KEYS))
def test_table_holds_exactly_the_keys_of_java(client: Role) -> None:
    """No key of Java's client is forgotten, and none is invented."""
    assert {row.name for row in TABLE if client in row.clients.split()} == set(JAVA_KEYS[client])


@pytest.mark.parametrize(("client", "key"), clients_keys(with_default=True))
def test_javas_own_value_is_taken_in_silence_by_the_real_client(client: Role, key: str) -> None:
    """Writing out what is the default in Java warns of nothing, and librdkafka accepts it."""
    result = translate(client, {key: value(client, key)})
    assert result.warnings == [] or key in NOT_AS_JAVA
    create(client, result.config)


@pytest.mark.parametrize("client", list(JAVA_KEYS))
def test_all_keys_together_make_a_real_client(client: Role) -> None:
    """The translated keys do not contradict each other."""
    names = {key for each, key in clients_keys(with_default=True) if each == client}
    java = {key: value(client, key) for key in sorted(names - {"transactional.id", "sasl.mechanism"})}
    create(client, translate(client, java).config)


@pytest.mark.parametrize(
    ("client", "java", "expected"),
    [
        ("producer", {"buffer.memory": "33554433"}, {"queue.buffering.max.kbytes": "32769"}),
        ("producer", {"delivery.timeout.ms": "120000"}, {"message.timeout.ms": "120000"}),
        ("producer", {"acks": "-1"}, {"acks": "all"}),
        ("producer", {"max.request.size": "2000000"}, {"message.max.bytes": "2000000"}),
        ("producer", {"partitioner.ignore.keys": "true"}, {"partitioner": "random"}),
        (
            "producer",
            {"compression.type": "gzip", "compression.gzip.level": "6", "compression.lz4.level": "9"},
            {"compression.type": "gzip", "compression.level": "6"},
        ),
        (
            "producer",
            {"request.timeout.ms": "20000"},
            {"request.timeout.ms": "20000", "socket.timeout.ms": "20000"},
        ),
        ("admin", {"request.timeout.ms": "20000"}, {"socket.timeout.ms": "20000"}),
        ("consumer", {"auto.offset.reset": "none"}, {"auto.offset.reset": "error"}),
        ("consumer", {"fetch.max.wait.ms": "100"}, {"fetch.wait.max.ms": "100"}),
        ("consumer", {"max.partition.fetch.bytes": "1024"}, {"fetch.message.max.bytes": "1024"}),
        ("consumer", {"metadata.max.age.ms": "60000"}, {"topic.metadata.refresh.interval.ms": "60000"}),
        (
            "consumer",
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
            {"partition.assignment.strategy": "cooperative-sticky"},
        ),
        ("consumer", {"exclude.internal.topics": "false"}, {}),
        ("consumer", {"connections.max.idle.ms": "-1"}, {"connections.max.idle.ms": "0"}),
        (
            "consumer",
            {
                "socket.connection.setup.timeout.ms": "10000",
                "socket.connection.setup.timeout.max.ms": "20000",
            },
            {"socket.connection.setup.timeout.ms": "20000"},
        ),
        (
            "consumer",
            {"reconnect.backoff.ms": "5000", "reconnect.backoff.max.ms": "1000"},
            {"reconnect.backoff.ms": "1000", "reconnect.backoff.max.ms": "1000"},
        ),
        ("consumer", {"librdkafka.fetch.queue.backoff.ms": "7"}, {"fetch.queue.backoff.ms": "7"}),
        ("consumer", {"security.protocol": "SASL_SSL"}, {"security.protocol": "sasl_ssl"}),
    ],
)
def test_key_becomes_librdkafkas(client: Role, java: Mapping[str, str], expected: Mapping[str, str]) -> None:
    """Names, units and words are librdkafka's afterwards, without a warning."""
    result = translate(client, java)
    assert (result.config, result.warnings) == (expected, [])


def test_runtime_honours_what_librdkafka_lacks() -> None:
    """`max.poll.records` bounds what one poll hands to the sink; librdkafka has no such setting."""
    result = translate("consumer", {"max.poll.records": "100"})
    assert (result.config, result.runtime, result.warnings) == ({}, {"max.poll.records": "100"}, [])


@pytest.mark.parametrize(
    ("client", "java", "words"),
    [
        ("producer", {"interceptor.classes": "com.example.Audit"}, "Hearth's Kafka clients run no Java class"),
        ("producer", {"nonsense.key": "1"}, "not a key of Kafka's producer client"),
        ("producer", {"compression.type": "lz4", "compression.lz4.level": "17"}, "12 is used"),
        ("consumer", {"enable.auto.commit": "true"}, "committed when the sink has the records"),
        ("consumer", {"session.timeout.ms": "9999999"}, "3600000 is used"),
        ("consumer", {"ssl.enabled.protocols": "TLSv1.3"}, "OpenSSL negotiates"),
        (
            "consumer",
            {
                "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RoundRobinAssignor,"
                "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
            },
            "cannot be mixed",
        ),
        ("admin", {"metrics.recording.level": "DEBUG"}, "metrics do not exist"),
    ],
)
def test_key_that_is_not_honoured_is_named(client: Role, java: Mapping[str, str], words: str) -> None:
    """Nothing is dropped in silence: the warning begins with the key as the user wrote it."""
    key = list(java)[-1]
    (warning,) = translate(client, java, {key: f"{client}.{key}"}).warnings
    assert warning.startswith(f"{client}.{key}: ")
    assert words in warning


@pytest.mark.parametrize(
    ("client", "java", "words"),
    [
        ("producer", {"linger.ms": "soon"}, "Invalid value soon for configuration linger.ms: Not a number"),
        ("producer", {"enable.idempotence": "yes"}, "Expected value to be either true or false"),
        ("producer", {"compression.type": "brotli"}, "must be one of: none, gzip"),
        ("producer", {"partitioner.class": "com.example.Mine"}, "com.example.Mine cannot be honoured"),
        ("producer", {"transaction.two.phase.commit.enable": "true"}, "no prepared transactions"),
        ("consumer", {"auto.offset.reset": "by_duration:PT1H"}, "by_duration cannot be honoured"),
        ("consumer", {"auto.offset.reset": "middle"}, "must be one of earliest"),
        (
            "consumer",
            {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor"},
            "StickyAssignor cannot be honoured",
        ),
        ("consumer", {"ssl.engine.factory.class": "com.example.Factory"}, "librdkafka uses OpenSSL"),
        ("admin", {"bootstrap.controllers": "localhost:9093"}, "speaks to brokers"),
    ],
)
def test_key_that_must_not_be_passed_over_is_an_error(client: Role, java: Mapping[str, str], words: str) -> None:
    """What would change results or safety when left out ends the start, and the key is named."""
    with pytest.raises(ConfigError) as caught:
        translate(client, java)
    assert words in str(caught.value)
    assert next(iter(java)) in str(caught.value)


def test_transaction_bounds_the_time_of_a_delivery() -> None:
    """librdkafka refuses a transactional producer whose deliveries may take longer than its transactions."""
    java = {"transactional.id": "t", "delivery.timeout.ms": "2147483647"}
    result = translate("producer", java)
    assert (result.warnings, "message.timeout.ms" in result.config) == ([], False)
    create("producer", result.config)
    result = translate("producer", java, {"delivery.timeout.ms": "producer.delivery.timeout.ms"})
    assert result.warnings == ["producer.delivery.timeout.ms: is limited by transaction.timeout.ms, 60000 is used"]
