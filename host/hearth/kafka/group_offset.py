"""Committed offsets of a consumer group: list, alter, delete."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hearth.kafka.c_object import first_error, new_client, new_configuration, partition_list, read_list
from hearth.kafka.kafka_error import KafkaError, check
from hearth.kafka.library import (
    ADMIN_ALTER_OFFSETS,
    ADMIN_DELETE_GROUPS,
    ADMIN_DELETE_OFFSETS,
    ADMIN_LIST_OFFSETS,
    CONSUMER,
    DESTROY_IMMEDIATE,
    ERR_TIMED_OUT,
    library,
)
from hearth_api import TopicPartition

ANSWER_SECONDS = 20.0
"""Seconds for one request, and for retries while the group has no coordinator."""
_SPARE_SECONDS = 5.0
_PAUSE_SECONDS = 0.2
_NO_COORDINATOR = ("COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR")
_HAS_MEMBERS = ("UNKNOWN_MEMBER_ID", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC")
_NOT_THERE = "GROUP_ID_NOT_FOUND"

_NUMBERS = {
    "ListConsumerGroupOffsets": ADMIN_LIST_OFFSETS,
    "AlterConsumerGroupOffsets": ADMIN_ALTER_OFFSETS,
    "DeleteConsumerGroupOffsets": ADMIN_DELETE_OFFSETS,
    "DeleteGroups": ADMIN_DELETE_GROUPS,
}
"""Admin requests of librdkafka with the same form."""


class GroupOffsets:
    """Reads and changes a group's committed offsets; every method asks a broker, and raises ``KafkaError``.

    The client is a consumer that never joins. confluent-kafka's admin client is a producer: with it librdkafka aborts
    the process if a broker does not coordinate the group (yet), and cannot delete offsets.
    """

    def __init__(self, config: Mapping[str, str], group: str) -> None:
        self._config = {**config, "group.id": group}
        self._group = group.encode()

    def list(self) -> dict[TopicPartition, int]:
        """Return the offset of every partition that has one; a group that does not exist has none."""
        found = self._ask("ListConsumerGroupOffsets", None)
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def alter(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commit offsets for a group without members."""
        with partition_list(offsets) as wanted:
            self._ask("AlterConsumerGroupOffsets", wanted)

    def delete(self, partitions: Collection[TopicPartition]) -> None:
        """Delete a memberless group's committed offsets of some partitions."""
        with partition_list(partitions) as wanted:
            self._ask("DeleteConsumerGroupOffsets", wanted)

    def forget_group(self) -> None:
        """Delete a group without members and all its offsets; one that does not exist is fine."""
        try:
            self._ask("DeleteGroups")
        except KafkaError as error:
            if error.name != _NOT_THERE:
                raise

    def _ask(self, request: str, *partitions: Any) -> dict[TopicPartition, int]:
        """Return the partitions of an answer; retry while brokers look for the group's coordinator."""
        give_up_at = time.monotonic() + ANSWER_SECONDS
        client = new_client(CONSUMER, new_configuration(self._config))
        try:
            while True:
                try:
                    with _answer(client, request, self._group, partitions) as event:
                        return _read(request, event)
                except KafkaError as error:
                    if error.name not in _NO_COORDINATOR or time.monotonic() > give_up_at:
                        raise
                time.sleep(_PAUSE_SECONDS)
        finally:
            library().destroy_flags(client, DESTROY_IMMEDIATE)


def has_members(error: KafkaError) -> bool:
    """Return whether an error means that the group's offsets cannot change because it has members."""
    return error.name in _HAS_MEMBERS


@contextmanager
def _answer(client: int, request: str, group: bytes, partitions: tuple[Any, ...]) -> Iterator[int]:
    """Send a request, and yield the event with its answer."""
    rdkafka = library()
    queue = rdkafka.queue_new(client)
    try:
        _send(client, request, group, partitions, queue)
        event = rdkafka.queue_poll(queue, int((ANSWER_SECONDS + _SPARE_SECONDS) * 1000))
        if not event:
            raise KafkaError(ERR_TIMED_OUT)
        try:
            yield event
        finally:
            rdkafka.event_destroy(event)
    finally:
        rdkafka.queue_destroy(queue)


def _send(client: int, request: str, group: bytes, partitions: tuple[Any, ...], queue: int) -> None:
    rdkafka = library()
    text = ctypes.create_string_buffer(512)
    kind = request if partitions else request.removesuffix("s")
    options = rdkafka.AdminOptions_new(client, _NUMBERS[request])
    wanted = ctypes.c_void_p(getattr(rdkafka, f"{kind}_new")(group, *partitions))
    try:
        milliseconds = int(ANSWER_SECONDS * 1000)
        check(rdkafka.AdminOptions_set_request_timeout(options, milliseconds, text, len(text)))
        getattr(rdkafka, request)(client, ctypes.byref(wanted), 1, options, queue)
    finally:
        getattr(rdkafka, f"{kind}_destroy")(wanted)
        rdkafka.AdminOptions_destroy(options)


def _read(request: str, event: int) -> dict[TopicPartition, int]:
    """Return the partitions of an answer; raises the error of the request, the group or a partition."""
    rdkafka = library()
    if error := rdkafka.event_error(event):
        raise KafkaError(error, rdkafka.event_error_string(event).decode())
    count = ctypes.c_size_t()
    result = getattr(rdkafka, f"event_{request}_result")(event)
    group = getattr(rdkafka, f"{request}_result_groups")(result, ctypes.byref(count))[0]
    if failure := rdkafka.group_result_error(group):  # owned by the event
        raise KafkaError(rdkafka.error_code(failure), rdkafka.error_string(failure).decode())
    partitions = rdkafka.group_result_partitions(group)
    if not partitions:
        return {}
    check(first_error(partitions))
    return read_list(partitions)
