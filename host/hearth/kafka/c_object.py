"""librdkafka's objects to and from Python values: lists, metadata, configurations, clients."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hearth.kafka.kafka_error import check, check_object
from hearth.kafka.library import OFFSET_INVALID, OK, MetadataStruct, library
from hearth.kafka.token import ask_for_tokens
from hearth.kafka.token_source import SOURCE
from hearth_api import ConfigError, TopicPartition


@contextmanager
def partition_list(partitions: Iterable[TopicPartition] | Mapping[TopicPartition, int]) -> Iterator[Any]:
    """Yield a C list of these partitions, with their offsets if a mapping gives them."""
    rdkafka = library()
    entries = dict(partitions) if isinstance(partitions, Mapping) else dict.fromkeys(partitions, OFFSET_INVALID)
    pointer = rdkafka.topic_partition_list_new(len(entries))
    try:
        for index, (partition, offset) in enumerate(entries.items()):
            rdkafka.topic_partition_list_add(pointer, partition.topic.encode(), partition.partition)
            pointer.contents.elements[index].offset = offset
        yield pointer
    finally:
        rdkafka.topic_partition_list_destroy(pointer)


def read_list(pointer: Any) -> dict[TopicPartition, int]:
    """Return the partitions of a C list with their offsets."""
    content = pointer.contents
    elements = [content.elements[index] for index in range(content.count)]
    return {TopicPartition(each.topic.decode(), each.partition): each.offset for each in elements}


def first_error(pointer: Any) -> int:
    """Return the first partition error of a C list, 0 if there is none."""
    content = pointer.contents
    errors = (content.elements[index].error for index in range(content.count))
    return next((error for error in errors if error), 0)


@contextmanager
def cluster_metadata(
    client: int | None, wait_ms: int, *, of_all_topics: bool = False, topic: int | None = None
) -> Iterator[MetadataStruct]:
    """Yield metadata of the brokers, and of all topics, of one, or of those that the client knows."""
    rdkafka = library()
    found = ctypes.POINTER(MetadataStruct)()
    check(rdkafka.metadata(client, int(of_all_topics), topic, ctypes.byref(found), wait_ms))
    try:
        yield found.contents
    finally:
        rdkafka.metadata_destroy(found)


def new_configuration(config: dict[str, str]) -> int:
    """Return an ``rd_kafka_conf_t *`` with these keys; raises ``ConfigError`` naming the key librdkafka rejects."""
    rdkafka = library()
    configuration = rdkafka.conf_new()
    text = ctypes.create_string_buffer(512)
    settings = dict(config)
    if (source := settings.pop(SOURCE, None)) is not None:
        settings |= [ask_for_tokens(configuration, source)]
    for key, value in settings.items():
        if rdkafka.conf_set(configuration, key.encode(), str(value).encode(), text, len(text)) != OK:
            rdkafka.conf_destroy(configuration)
            raise ConfigError(f"{key}={value!r} is not a setting librdkafka takes: {text.value.decode()}")
    return int(configuration)


def new_client(kind: int, configuration: int) -> int:
    """Create the ``rd_kafka_t *``; it owns ``configuration`` afterwards."""
    rdkafka = library()
    text = ctypes.create_string_buffer(512)
    client = rdkafka.new(kind, configuration, text, len(text))
    if not client:
        rdkafka.conf_destroy(configuration)
        raise ConfigError(f"librdkafka does not take this client configuration: {text.value.decode()}")
    if queue := rdkafka.queue_get_sasl(client):
        rdkafka.queue_destroy(queue)
        check_object(rdkafka.sasl_background_callbacks_enable(client))
    return int(client)
