"""Lists of topic partitions, between Python and ``rd_kafka_topic_partition_list_t``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hearth.kafka.library import OFFSET_INVALID, library
from hearth_api import TopicPartition


@contextmanager
def partition_list(partitions: Iterable[TopicPartition] | Mapping[TopicPartition, int]) -> Iterator[Any]:
    """Lend a C list of these partitions, with their offsets where a mapping gives them."""
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
    """Return the first error that stands at a partition of a C list, 0 when there is none."""
    content = pointer.contents
    errors = (content.elements[index].error for index in range(content.count))
    return next((error for error in errors if error), 0)
