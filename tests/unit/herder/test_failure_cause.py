"""Causes of failures by the words of their traces."""

from __future__ import annotations

import pytest

from hearth.herder.connector_fact import ReportFacts
from hearth.herder.failure_cause import cause_of, place_of
from tests.unit.herder.test_explanation import NOW, report

CONVERTING = (
    "a.ConnectException: Tolerance exceeded in error handler\nrecord: topic 't', partition 0, offset 5, 9 bytes ({})\n"
    "stage: VALUE_CONVERTER with class x\nCaused by: {}"
)


def facts(**config: str) -> ReportFacts:
    """Return the facts of a sink with some keys, whose dots are underscores."""
    return ReportFacts(report("sink"), {key.replace("_", "."): value for key, value in config.items()}, NOW)


@pytest.mark.parametrize(
    ("trace", "remedy"),
    [
        ("a.DataException: Unknown magic byte!", "set the converter of the format"),
        ("Caused by: json.decoder.JSONDecodeError: Expecting value", "schemas.enable=false"),
        (
            'a.DataException: JsonConverter with schemas.enable requires "schema" and "payload" fields',
            "schemas.enable",
        ),
        ("Broker: Message size too large", "max.message.bytes"),
        ("TOPIC_AUTHORIZATION_FAILED", "READ (a sink)"),
        ("Broker: Cluster authorization failed", "IDEMPOTENT_WRITE"),
        ("Local: Authentication failure: SASL authentication error", "correct the credentials"),
        ("Broker: Unknown topic or partition", "topic.creation.default.partitions"),
        ("ModuleNotFoundError: No module named 'x'", "install the bundle"),
        ("a.ConnectException: Tolerance exceeded in error handler", "errors.tolerance=all"),
        ("java.lang.OutOfMemoryError: Java heap space", "plugin.limits.memory.bytes"),
        ("the stage process of c was killed by signal 9", "dmesg"),
        ("java.net.ConnectException: Connection refused", "check the address"),
        ("InvalidProducerEpoch: INVALID_PRODUCER_EPOCH", "same group.id"),
        ("Schema being registered is incompatible with an earlier schema", "compatibility"),
        ("OSError: [Errno 28] No space left on device", "free space"),
    ],
)
def test_known_words_have_a_remedy(trace: str, remedy: str) -> None:
    """Those of Kafka Connect, librdkafka, Java and Python."""
    found = cause_of(trace, facts())
    assert found is not None
    assert remedy in found[1]


def test_unknown_words_have_none() -> None:
    """Whoever asks says something general."""
    assert cause_of("RuntimeError: no", facts()) is None


@pytest.mark.parametrize(
    ("looks", "remedy"),
    [
        ("key text, value JSON", "json.JsonConverter, with value.converter.schemas.enable=false"),
        ("value JSON with a schema", "value.converter=org.apache.kafka.connect.json.JsonConverter"),
        ("value schema id 7", "value.converter=the schema registry's"),
        ("value binary", "value.converter=org.apache.kafka.connect.converters.ByteArrayConverter"),
        ("key text", "set value.converter to the format of the topic"),
    ],
)
def test_a_converter_is_named_for_what_the_bytes_look_like(looks: str, remedy: str) -> None:
    """Those of the key do not count for the value."""
    found = cause_of(CONVERTING.format(looks, "x"), facts())
    assert found is not None
    assert remedy in found[1]


def test_a_key_cannot_pass_for_a_format() -> None:
    """It stands in front of the size."""
    record = "topic 't', partition 0, offset 5, key 'value JSON bytes (', 9 bytes (value text)"
    found = cause_of(f"x\nrecord: {record}\nstage: VALUE_CONVERTER with class x\n", facts())
    assert found is not None
    assert "StringConverter" in found[1]


def test_an_error_of_put_keeps_its_own_cause() -> None:
    """And says why there is no dead letter."""
    trace = "Exiting WorkerSinkTask due to unrecoverable exception.\nCaused by: Connection refused"
    found = cause_of(trace, facts(errors_deadletterqueue_topic_name="d"))
    assert found == (
        "another system does not answer; an error of put has no dead letter: that has only what the task reports, "
        "or a step before put refuses",
        "check the address in the configuration and whether that system runs",
    )


def test_the_place_of_a_record_is_in_the_trace() -> None:
    """With its stage."""
    place = ", topic 't', partition 0, offset 5, 9 bytes (value text) in VALUE_CONVERTER"
    assert place_of(CONVERTING.format("value text", "x")) == place
    assert place_of("a.B: no") == ""
