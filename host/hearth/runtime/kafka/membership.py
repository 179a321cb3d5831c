"""A consumer's membership of its group: taken from a run that died without leaving, given back at an orderly end."""

from __future__ import annotations

import ctypes
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from hearth.runtime.kafka.library import (
    ADMIN_DESCRIBE_GROUPS,
    CONSUMER,
    ERR_TIMED_OUT,
    OK,
    KafkaError,
    check,
    library,
    new_client,
    new_configuration,
)
from hearth.runtime.kafka.partition import partition_list
from hearth_api import TopicPartition

log = logging.getLogger(__name__)

ANSWER_MS = 1_000
"""How long a broker has to answer one question here; the caller serves its own inbox before it asks again."""

_POLL_MS = 10
_POLLS = 100
_PATIENT_POLLS = 300
_NOT_FOUND = 69
_NOT_WITH_CLASSIC = ("group.protocol", "group.remote.assignor")


class Membership:
    """What one run of a task hands to the next: a static membership (KIP-345), known by ``group.instance.id``.

    A broker gives a static member that joins again its old assignment, whatever it subscribes to now, and with the
    new protocol (KIP-848) it turns it away. So nobody joins in a dead run's place: that is taken and left first, by a
    client of its own, and what follows is an ordinary rebalance. Should the dead one live after all, its successor's
    joining fences it.
    """

    def __init__(self, config: Mapping[str, str]) -> None:
        self._config = dict(config)
        self._instance = config.get("group.instance.id")
        self._is_classic = config.get("group.protocol", "classic") == "classic"

    def vacate(self, client: int, topics: Iterable[str]) -> bool:
        """Remove an earlier run that never left; returns whether the place is free, else ask again.

        Joins for these topics, some of which exist, to do so. A broker that does not let its groups be described
        leaves no choice but to join.
        """
        if self._instance is None:
            return True
        try:
            holder = _holder(client, self._config["group.id"], self._instance)
        except KafkaError as error:
            log.debug("membership %s: who holds it is not known: %s", self._instance, error)
            return not error.is_passing
        if holder is None:
            return True
        log.info("membership %s is taken from an earlier run that did not leave (%s)", self._instance, holder)
        with self._stand_in() as successor:
            return _take_and_leave(successor, topics)

    def leave(self, client: int) -> bool:
        """Leave the group, which revokes all partitions; returns False when ``retire`` has to see to it.

        A static member of librdkafka leaves when it unsubscribes, and no more once it is being closed. With the new
        protocol it never does, and who is just joining does not know yet as whom.
        """
        if self._instance is None or library().fatal_error(client, None, 0):
            return True  # whoever was fenced has a successor
        return self._is_classic and bool(member_id(client)) and _leave(client)

    def retire(self, member: str, topics: Iterable[str]) -> None:
        """Remove the closed run, known as this member if at all, from the group it subscribed to these topics in."""
        if self._instance is None:
            return
        try:
            with self._stand_in() as successor:
                holder = _holder(successor, self._config["group.id"], self._instance)
                if holder is not None and member in ("", holder):
                    _take_and_leave(successor, topics, _PATIENT_POLLS)
        except KafkaError as error:
            log.info("membership %s ends with its session: %s", self._instance, error)

    @contextmanager
    def _stand_in(self) -> Iterator[int]:
        """Lend a consumer of the classic protocol, which brokers let take a static member's place in every group."""
        config = {key: value for key, value in self._config.items() if key not in _NOT_WITH_CLASSIC}
        client = new_client(CONSUMER, new_configuration(config))
        try:
            check(library().poll_set_consumer(client))
            yield client
        finally:
            library().destroy_flags(client, 0)  # which closes it, and waits until what it sent is answered


def member_id(client: int) -> str:
    """Return the id that the group's coordinator knows this consumer by, empty while it is no member."""
    pointer = library().memberid(client)
    if not pointer:
        return ""
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        library().mem_free(client, pointer)


def _take_and_leave(client: int, topics: Iterable[str], polls: int = _POLLS) -> bool:
    """Become the member with this client's ``group.instance.id`` and leave; returns whether it came to that.

    That takes as long as a rebalance that is under way, which waits for all other members.
    """
    with partition_list([TopicPartition(topic, -1) for topic in topics]) as wanted:
        check(library().subscribe(client, wanted))
    for _ in range(polls):
        if member_id(client):
            return _leave(client)
        _serve(client)
    return False


def _leave(client: int) -> bool:
    """Unsubscribe and serve the revocation, until librdkafka has asked the coordinator to forget this member."""
    if library().unsubscribe(client) != OK:
        return False
    for _ in range(_POLLS):
        if not member_id(client):
            return True
        _serve(client)
    return False


def _serve(client: int) -> None:
    """Let librdkafka call back; a message that comes is not read any more."""
    message = library().consumer_poll(client, _POLL_MS)
    if message:
        library().message_destroy(message)


def _holder(client: int, group: str, instance: str) -> str | None:
    """Return the member id of a group's static member, None when there is none; raises KafkaError without answer."""
    rdkafka = library()
    queue = rdkafka.queue_new(client)
    try:
        _ask(client, group, queue)
        event = rdkafka.queue_poll(queue, 2 * ANSWER_MS)
        if not event:
            raise KafkaError(ERR_TIMED_OUT)
        try:
            return _members(event).get(instance)
        finally:
            rdkafka.event_destroy(event)
    finally:
        rdkafka.queue_destroy(queue)


def _ask(client: int, group: str, queue: int) -> None:
    rdkafka = library()
    text = ctypes.create_string_buffer(512)
    options = rdkafka.AdminOptions_new(client, ADMIN_DESCRIBE_GROUPS)
    try:
        check(rdkafka.AdminOptions_set_request_timeout(options, ANSWER_MS, text, len(text)))
        names = (ctypes.c_char_p * 1)(group.encode())
        rdkafka.DescribeConsumerGroups(client, names, 1, options, queue)
    finally:
        rdkafka.AdminOptions_destroy(options)


def _members(event: int) -> dict[str, str]:
    """Return the static members of the described group: their instance ids with their member ids."""
    rdkafka = library()
    check(rdkafka.event_error(event))
    count = ctypes.c_size_t()
    result = rdkafka.event_DescribeConsumerGroups_result(event)
    group = rdkafka.DescribeConsumerGroups_result_groups(result, ctypes.byref(count))[0]
    error = rdkafka.ConsumerGroupDescription_error(group)
    if error and rdkafka.error_code(error) == _NOT_FOUND:
        return {}
    if error:
        raise KafkaError(rdkafka.error_code(error), rdkafka.error_string(error).decode())
    numbers = range(rdkafka.ConsumerGroupDescription_member_count(group))
    members = [rdkafka.ConsumerGroupDescription_member(group, number) for number in numbers]
    found = ((rdkafka.MemberDescription_group_instance_id(each), each) for each in members)
    return {name.decode(): rdkafka.MemberDescription_consumer_id(each).decode() for name, each in found if name}
