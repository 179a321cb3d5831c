"""Keys of Java's clients that are translated together, or whose values are more than words."""

from __future__ import annotations

import pytest

from hearth.kafka.client import grouped
from hearth.kafka.client.rule import ClientRequest
from hearth_api import ConfigError

CLIENTS = "org.apache.kafka.clients."


def request(role: str = "producer", **java: str) -> ClientRequest:
    """Return a translation of some keys; ``_`` replaces a dot, and the user wrote each with a prefix."""
    keys = {name.replace("_", "."): value for name, value in java.items()}
    return ClientRequest(role, keys, {name: f"{role}.{name}" for name in keys})


def test_blanks_between_servers_are_left_out() -> None:
    """Java allows them, and an empty place in the list."""
    asked = request(bootstrap_servers=" a:1 , b:2,, ")
    grouped.servers(asked, "bootstrap.servers")
    assert asked.result.config == {"bootstrap.servers": "a:1,b:2"}


@pytest.mark.parametrize(
    ("first", "last", "used"), [("10000", "30000", "30000"), ("40000", "30000", "40000"), ("1", "2", "1000")]
)
def test_longest_wait_for_a_connection_is_used(first: str, last: str, used: str) -> None:
    """librdkafka knows one, and none below a second."""
    asked = request(socket_connection_setup_timeout_ms=first, socket_connection_setup_timeout_max_ms=last)
    grouped.connection_setup(asked, "socket.connection.setup.timeout.max.ms")
    assert asked.result.config == {"socket.connection.setup.timeout.ms": used}


@pytest.mark.parametrize(
    ("codec", "level", "config", "warnings"),
    [
        ("zstd", "3", {"compression.level": "3"}, 0),
        ("zstd", "22", {"compression.level": "12"}, 1),
        ("lz4", "3", {}, 0),
    ],
)
def test_level_of_the_codec_that_is_chosen_counts(
    codec: str, level: str, config: dict[str, str], warnings: int
) -> None:
    """A level that librdkafka does not accept becomes the nearest; the warning has the name that the user wrote."""
    asked = request(compression_type=codec, compression_zstd_level=level)
    grouped.compression_level(asked, "compression.zstd.level")
    assert asked.result.config == config
    assert len(asked.result.warnings) == warnings
    assert all(
        each.startswith("producer.compression.zstd.level: 22 is out of librdkafka's range")
        for each in asked.result.warnings
    )


@pytest.mark.parametrize(
    ("java", "partitioner"),
    [
        ({}, "murmur2_random"),
        ({"partitioner_class": "null"}, "murmur2_random"),
        ({"partitioner_class": f"{CLIENTS}producer.internals.DefaultPartitioner"}, "murmur2_random"),
        ({"partitioner_class": "com.example.Mine", "partitioner_ignore_keys": "TRUE"}, "random"),
    ],
)
def test_records_go_where_javas_partitioner_sends_them(java: dict[str, str], partitioner: str) -> None:
    """By the hash of their keys, unless these do not count."""
    asked = request(**java)
    grouped.partitioner(asked, "partitioner.class")
    assert asked.result.config == {"partitioner": partitioner}


def test_custom_partitioner_is_refused_with_the_remedy() -> None:
    """Records would be in other partitions than intended."""
    with pytest.raises(ConfigError, match=r"producer\.partitioner\.class: com\.example\.Mine") as caught:
        grouped.partitioner(request(partitioner_class="com.example.Mine"), "partitioner.class")
    assert "remove it" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("listed", "used", "warnings"),
    [
        ("RangeAssignor", "range", 0),
        (f" {CLIENTS}consumer.RoundRobinAssignor , RangeAssignor", "roundrobin,range", 0),
        ("CooperativeStickyAssignor", "cooperative-sticky", 0),
        ("RangeAssignor,CooperativeStickyAssignor", "range", 0),
        ("CooperativeStickyAssignor,RangeAssignor", "cooperative-sticky", 1),
    ],
)
def test_assignors_of_one_protocol_stay(listed: str, used: str, warnings: int) -> None:
    """Java's default loses one of its two without a warning, because the user did not set it."""
    asked = request("consumer", partition_assignment_strategy=listed)
    grouped.assignors(asked, "partition.assignment.strategy")
    assert asked.result.config == {"partition.assignment.strategy": used}
    assert len(asked.result.warnings) == warnings


@pytest.mark.parametrize(("text", "hidden"), [("true", True), (" True ", True), ("false", False)])
def test_kafkas_own_topics_are_hidden_by_default(text: str, hidden: bool) -> None:
    """A pattern of topics would read them."""
    asked = request("consumer", exclude_internal_topics=text)
    grouped.internal_topics(asked, "exclude.internal.topics")
    assert ("__consumer_offsets" in asked.result.config.get("topic.blacklist", "")) is hidden
