"""Recognizes the causes of failures by the words of their traces, Kafka Connect's, librdkafka's or a plugin's."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.herder.connector_fact import ReportFacts

Found = tuple[str, str]
"""A likely cause and its remedy."""


@dataclass(frozen=True)
class KnownError:
    """An error of which any of the words tells.

    The remedy may contain ``{name}`` (of the connector), ``{group}`` (of a sink) and ``{size}``, the largest request
    of a source's producer in bytes.
    """

    words: tuple[str, ...]
    cause: str
    remedy: str


_KNOWN = (
    KnownError(("found: null",), "a transformation cannot handle a record whose value is null (a tombstone)",
      "leave tombstones out: predicates=tombstone, predicates.tombstone.type=org.apache.kafka.connect.transforms."
      "predicates.RecordIsTombstone, and for the transformation .predicate=tombstone and .negate=true"),
    KnownError(("Unknown magic byte", "unknown magic byte"), "the records are not those of a schema registry",
      "set the converter of the format that the topic has; the key's and the value's may differ"),
    KnownError(("JSONDecodeError", 'requires "schema" and "payload"', "JsonParseException"),
      "the records are no JSON, or plain JSON without schemas",
      "set the converter of the topic's format, or value.converter.schemas.enable=false for plain JSON"),
    KnownError(("MSG_SIZE_TOO_LARGE", "RecordTooLarge", "Message size too large", "serialized which is larger than"),
      "a record is larger than its producer, its topic or the broker takes",
      "raise producer.override.max.request.size (now {size}), and max.message.bytes of the topic; a topic without it "
      "has message.max.bytes of the broker"),
    KnownError(("opic authorization failed", "TOPIC_AUTHORIZATION_FAILED", "Not authorized to access topics"),
      "the connector's principal may not use a topic",
      "allow it DESCRIBE and READ (a sink) or WRITE (a source, a dead letter queue) on the topic; CREATE as well, if "
      "it does not exist"),
    KnownError(("roup authorization failed", "GROUP_AUTHORIZATION_FAILED", "Not authorized to access group"),
      "the connector's principal may not use its consumer group",
      "allow it READ on group {group}, or set consumer.override.group.id to one that it may use"),
    KnownError(("ransactional Id authorization failed", "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
      "the connector's principal may not use the transactional ids of its tasks",
      "allow it DESCRIBE and WRITE on the transactional ids that begin with the worker's group.id and {name}"),
    KnownError(("luster authorization failed", "CLUSTER_AUTHORIZATION_FAILED"),
      "the connector's principal may not do that on the cluster",
      "allow it IDEMPOTENT_WRITE and CREATE on the cluster, or create the topics yourself"),
    KnownError(("SASL authentication", "SaslAuthentication", "SSL handshake", "Authentication failed",
      "certificate verify failed"), "a login or a certificate is refused",
      "correct the credentials or the trust store of this client (producer.override., consumer.override., or the "
      "plugin's own keys)"),
    KnownError(("No such topic", "UNKNOWN_TOPIC", "Unknown topic or partition"), "the topic does not exist",
      "create it, or let the connector create it (topic.creation.default.partitions)"),
    KnownError(("MemoryError", "OutOfMemoryError", "of memory, more than", "it used all of plugin.limits.memory"),
      "the plugin needs more memory than it has",
      "lower max.poll.records or the connector's batch size, or raise plugin.limits.memory.bytes"),
    KnownError(("killed by signal 9",), "the process of the plugin was killed, usually by a system without memory",
      "look for the kernel's word on it (dmesg); lower batch sizes, or limit plugin.limits.memory.bytes"),
    KnownError(("Failed to find any class that implements", "is not on plugin.path", "ClassNotFound",
      "No module named", "NoClassDefFoundError"), "a plugin or a package of it is missing",
      "install the bundle; `hearth plugins list` says which are there, and which were turned away"),
    KnownError(("did not answer",), "a method of the plugin does not return",
      "look at its threads in the trace: they say what it waits for; plugin.call.timeout.ms is the limit"),
    KnownError(("max.poll.interval.ms", "MAX_POLL_EXCEEDED", "aximum application poll interval", "CommitFailed"),
      "a put took longer than max.poll.interval.ms, so the group removed the task",
      "lower consumer.override.max.poll.records, or raise consumer.override.max.poll.interval.ms"),
    KnownError(("ProducerFenced", "INVALID_PRODUCER_EPOCH", "TransactionExpired", "fenced by"),
      "another task with the same transactional id took over, or a transaction took too long",
      "look for a second cluster with the same group.id, and raise producer.override.transaction.timeout.ms"),
    KnownError(("MSG_TIMED_OUT", "essage timed out", "Failed to flush", "delivery.timeout.ms", "_TIMED_OUT"),
      "the brokers did not acknowledge in time: they are away, or slower than the connector",
      "check the brokers and min.insync.replicas of the topic; raise producer.override.delivery.timeout.ms"),
    KnownError(("being registered is incompatible", "IncompatibleSchema"), "the registry refuses the new schema",
      "keep to the compatibility of the subject, or change it"),
    KnownError(("Connection refused", "ConnectionRefused", "Name or service not known", "UnknownHost",
      "ould not connect", "No route to host"), "another system does not answer",
      "check the address in the configuration and whether that system runs"),
    KnownError(("No space left on device",), "a disk is full", "free space"),
)  # fmt: skip
"""The first whose words are there counts."""
_LABELLED = re.compile(r"^(record|records|stage): (.*)$", re.MULTILINE)
_LOOKS = re.compile(r"(key|value) (schema id \d+|JSON with a schema|JSON|text|binary)")
_CONVERTERS = {
    "schema": "the schema registry's (AvroConverter, ProtobufConverter or JsonSchemaConverter)",
    "JSON": "org.apache.kafka.connect.json.JsonConverter, with {}.converter.schemas.enable=false",
    "JSON with a schema": "org.apache.kafka.connect.json.JsonConverter",
    "text": "org.apache.kafka.connect.storage.StringConverter",
    "binary": "org.apache.kafka.connect.converters.ByteArrayConverter",
}
_PUT_FAILED = "Exiting WorkerSinkTask due to unrecoverable exception"
_ROLES = {"KEY_CONVERTER": "key", "VALUE_CONVERTER": "value"}


def cause_of(trace: str, facts: ReportFacts) -> Found | None:
    """Return the likely cause of a trace and its remedy, None if its words are not known."""
    labelled = dict(_LABELLED.findall(trace))
    stage = labelled.get("stage", "").partition(" ")[0]
    found = _known(trace, facts)
    if stage in _ROLES:
        return _conversion(_ROLES[stage], labelled.get("record", ""), found)
    if found is None and stage == "TRANSFORMATION" and ("NoneType" in trace or "NullPointer" in trace):
        return _KNOWN[0].cause, _KNOWN[0].remedy
    if _PUT_FAILED in trace and facts.get(DEAD_LETTER_TOPIC):
        cause = "an error of put has no dead letter: that has only what the task reports, or a step before put refuses"
        if found is not None:
            return f"{found[0]}; {cause}", found[1]
        return cause, "correct the records or the target; ask for a connector that reports records (KIP-610)"
    if found is not None:
        return found
    if "Tolerance exceeded" in trace and facts.get("errors.tolerance", "none") != "all":
        return (
            "a record could not be processed, and none is tolerated",
            "correct the record or the step; or set errors.tolerance=all, for a sink with a dead letter queue "
            f"({DEAD_LETTER_TOPIC}); or move the offset beyond it while the connector is stopped",
        )
    return None


def place_of(trace: str) -> str:
    """Return which record and stage a trace is about, with a comma before it; empty if it does not say."""
    labelled = dict(_LABELLED.findall(trace))
    record = labelled.get("record") or labelled.get("records")
    return f", {record} in {labelled.get('stage', '?').partition(' ')[0]}" if record else ""


def _known(trace: str, facts: ReportFacts) -> Found | None:
    for each in _KNOWN:
        if any(words in trace for words in each.words):
            name = facts.report["name"]
            size = facts.get("producer.override.max.request.size", "1048576")
            return each.cause, each.remedy.format(name=name, group=facts.group, size=size)
    return None


def _conversion(role: str, record: str, known: Found | None) -> Found:
    """Return what a converter could not read, with the converter for what the bytes look like."""
    looks = dict(_LOOKS.findall(record.rpartition(" bytes (")[2])).get(role)
    cause = f"{role}.converter cannot read it" if known is None else known[0]
    if looks is None:
        remedy = f"set {role}.converter to the format of the topic" if known is None else known[1]
        return cause, remedy
    kind = "schema" if looks.startswith("schema") else looks
    return f"{cause}: the {role} looks like {looks}", f"set {role}.converter={_CONVERTERS[kind].format(role)}"
