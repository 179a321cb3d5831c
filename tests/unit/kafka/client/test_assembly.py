"""A task's clients get the defaults, then the worker's settings, then the connector's."""

from __future__ import annotations

import re

import confluent_kafka
import confluent_kafka.admin
import pytest

from hearth.kafka.client import admin_config, consumer_config, group_name, producer_config

WORKER = {
    "bootstrap.servers": "127.0.0.1:1",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "10000",
    "producer.linger.ms": "20",
    "consumer.fetch.min.bytes": "1000",
    "security.protocol": "PLAINTEXT",
}


def test_source_producer_has_connects_defaults_and_is_real() -> None:
    """Nothing is given up and order holds, unless the user says otherwise."""
    result = producer_config(WORKER, {})
    wanted = {
        "bootstrap.servers": "127.0.0.1:1",
        "acks": "all",
        "enable.idempotence": "true",
        "max.in.flight.requests.per.connection": "5",
        "message.timeout.ms": "2147483647",
        "partitioner": "murmur2_random",
        "message.max.bytes": "1048576",
        "batch.size": "1000000",
        "linger.ms": "20",
    }
    assert wanted.items() <= result.config.items()
    assert result.warnings == []
    confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_a_producer_with_transactions_has_its_own_id_and_no_limit_beyond_them() -> None:
    """Another id, or no idempotence, causes a warning that it has no effect, as in Kafka Connect."""
    result = producer_config(WORKER, {}, "g-c")
    assert result.warnings == []
    assert (result.config["transactional.id"], result.config["enable.idempotence"]) == ("g-c", "true")
    assert "message.timeout.ms" not in result.config
    theirs = {"producer.override.transactional.id": "theirs", "producer.override.enable.idempotence": "false"}
    result = producer_config(WORKER, theirs, "g-c")
    assert (result.config["transactional.id"], result.config["enable.idempotence"]) == ("g-c", "true")
    assert sorted(warning.split()[0] for warning in result.warnings) == [
        "producer.override.enable.idempotence", "producer.override.transactional.id",
    ]  # fmt: skip
    confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_connector_overrides_worker() -> None:
    """`producer.override.` of the connector wins over `producer.` of the worker, which wins over defaults."""
    result = producer_config(WORKER, {"producer.override.linger.ms": "0", "producer.override.acks": "1"})
    assert (result.config["linger.ms"], result.config["acks"]) == ("0", "1")


@pytest.mark.parametrize(
    ("key", "text"), [("acks", "1"), ("retries", "0"), ("max.in.flight.requests.per.connection", "10")]
)
def test_setting_that_excludes_idempotence_turns_it_off(key: str, text: str) -> None:
    """Such a configuration runs on Kafka Connect, so it runs here; librdkafka would refuse the combination."""
    result = producer_config(WORKER, {f"producer.override.{key}": text})
    assert result.config["enable.idempotence"] == "false"
    assert result.config["max.in.flight.requests.per.connection"] == ("10" if text == "10" else "1")
    confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_configured_idempotence_is_not_given_up() -> None:
    """The client reports the contradiction to the user."""
    asked = {"producer.override.enable.idempotence": "true", "producer.override.acks": "1"}
    result = producer_config(WORKER, asked)
    with pytest.raises(confluent_kafka.KafkaException, match="acks"):
        confluent_kafka.Producer({**result.config, "log_level": "0"})


def test_sink_consumer_is_in_connects_group_and_is_real() -> None:
    """The group is Kafka Connect's, so offsets are found again."""
    result = consumer_config(WORKER, {}, "files")
    wanted = {
        "group.id": "connect-files",
        "topic.metadata.refresh.interval.ms": "300000",
        "enable.auto.commit": "false",
        "enable.auto.offset.store": "false",
        "auto.offset.reset": "earliest",
        "isolation.level": "read_uncommitted",
        "heartbeat.interval.ms": "1000",
        "fetch.min.bytes": "1000",
        "queued.min.messages": "20000",
        "queued.max.messages.kbytes": "6144",
    }
    assert wanted.items() <= result.config.items()
    assert result.warnings == []
    confluent_kafka.Consumer({**result.config, "log_level": "0"}).close()


def test_members_are_known_by_host_and_connector() -> None:
    """Two hosts with the same connector share its partitions, and its next runs find what its last ones left."""
    assert group_name("machine:/offsets", "files") == "connect-files-5a6199f89c3c"
    assert group_name("other:/offsets", "files") != group_name("machine:/offsets", "files")
    assert group_name("machine:/offsets", "a b") != group_name("machine:/offsets", "a/b")


def test_what_members_are_known_by_keeps_to_kafkas_rules() -> None:
    """Whatever the connector is called, and with a task and a token behind it."""
    name = group_name("machine:/offsets", "Dünne \ud800" + "x" * 300)
    assert re.fullmatch(r"[A-Za-z0-9._-]{1,230}", name)


def test_a_members_own_name_is_kept() -> None:
    """As every key of the consumer it may be overridden."""
    result = consumer_config(WORKER, {"consumer.override.group.instance.id": "mine"}, "files")
    assert result.config["group.instance.id"] == "mine"


def test_new_group_protocol_leaves_sessions_to_the_broker() -> None:
    """Hearth's default session gives way to the protocol, which librdkafka would refuse together."""
    result = consumer_config(WORKER, {"consumer.override.group.protocol": "consumer"}, "files")
    assert not {"session.timeout.ms", "heartbeat.interval.ms"} & result.config.keys()
    confluent_kafka.Consumer({**result.config, "log_level": "0"}).close()


def test_admin_client_reads_the_workers_plain_keys_too() -> None:
    """As in Kafka Connect only the admin client reads keys without prefix, and the prefix wins."""
    worker = {**WORKER, "request.timeout.ms": "20000", "admin.request.timeout.ms": "15000"}
    result = admin_config(worker, {})
    assert result.config["socket.timeout.ms"] == "15000"
    assert result.config["security.protocol"] == "plaintext"
    assert "client.id" not in result.config
    assert admin_config(worker).config["client.id"] == "hearth-adminclient"
    assert result.warnings == []
    confluent_kafka.admin.AdminClient({**result.config, "log_level": "0"})


def test_producer_does_not_read_the_workers_plain_keys() -> None:
    """Security settings of tasks need their prefix, as every user of Kafka Connect has learnt."""
    worker = {**WORKER, "security.protocol": "SSL"}
    assert "security.protocol" not in producer_config(worker, {}).config
    assert admin_config(worker).config["security.protocol"] == "ssl"


def test_warning_names_the_key_with_its_prefix() -> None:
    """The user looks for what was written, in the file where it was written."""
    connector = {"consumer.override.interceptor.classes": "com.example.Audit"}
    (warning,) = consumer_config(WORKER, connector, "f").warnings
    assert warning.startswith("consumer.override.interceptor.classes: ")
