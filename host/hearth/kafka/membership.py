"""A consumer's group membership: removes members left by killed runs, and leaves at a normal end."""

from __future__ import annotations

import ctypes
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from hearth.kafka.c_object import cluster_metadata, new_client, new_configuration, partition_list
from hearth.kafka.kafka_error import KafkaError, check
from hearth.kafka.library import (
    ADMIN_DESCRIBE_GROUPS,
    CONSUMER,
    DESTROY_IMMEDIATE,
    ERR_FENCED_INSTANCE_ID,
    ERR_PARTIAL,
    ERR_TIMED_OUT,
    OK,
    GroupListStruct,
    library,
)
from hearth_api import TopicPartition

log = logging.getLogger(__name__)

ANSWER_MS = 1_000
"""Timeout in milliseconds of one request; the caller serves its event queue before the next."""

RETIRE_SECONDS = 4.0
LISTING_SECONDS = LEAVE_SECONDS = 1.0
_POLL_MS = 10
_UUID_LENGTH = len("-00000000-0000-0000-0000-000000000000")
_NOT_FOUND = 69
_NOT_OF_STAND_INS = ("group.protocol", "group.remote.assignor", "heartbeat.interval.ms")
"""Settings for another protocol, or with which a member soon joins a rebalance instead of leaving."""


@dataclass(frozen=True)
class GroupIdentity:
    """A task's identity in its group: ``connector`` is unique for it and its host, ``tasks`` is the number of tasks.

    The first task is also responsible for members of tasks that no longer exist.
    """

    connector: str
    task: int
    tasks: int = 1

    def __str__(self) -> str:
        """Return the prefix of the instance ids of all runs of this task."""
        return f"{self.connector}.{self.task}"

    def has(self, member: str) -> bool:
        """Return whether a member is a run of this task."""
        return member.startswith(f"{self}.")

    def answers_for(self, member: str) -> bool:
        """Return whether a member must be removed when this task starts."""
        if self.task > 0 or not member.startswith(f"{self.connector}."):
            return self.has(member)
        number = member.removeprefix(f"{self.connector}.").partition(".")[0]
        return number == "0" or (number.isdecimal() and int(number) >= self.tasks)


class Membership:
    """A run's membership: an identity in the group, by which the next run finds and removes its members.

    Members are static (KIP-345), and each client is a new one: ``group.instance.id`` is the identity and a random
    token. A broker would give a returning static member its old assignment, whatever it subscribes to now, and refuse
    it with the new protocol (KIP-848). So members of earlier runs are removed by clients that join in their place and
    leave, and an ordinary rebalance follows. If such a run is still alive, this fences it.

    Without an identity, and if the user sets ``group.instance.id`` (then it is static as in Kafka), no member is
    removed.
    """

    def __init__(self, config: Mapping[str, str], identity: GroupIdentity | None) -> None:
        self._config = dict(config)
        self._identity = None if "group.instance.id" in config else identity
        self._own: set[str] = set()
        self._is_classic = config.get("group.protocol", "classic") == "classic"

    def __str__(self) -> str:
        """Return its name for the log."""
        return str(self._identity or self._config.get("group.instance.id", "a member"))

    @property
    def is_renewable(self) -> bool:
        """Return whether a fenced client may be replaced by another of the same run."""
        return self._identity is not None

    def new_config(self) -> dict[str, str]:
        """Return the configuration of this run's next client, with an instance id that the group has never seen."""
        if self._identity is None:
            return self._config
        self._instance = f"{self._identity}.{secrets.token_hex(4)}"
        self._own.add(self._instance)
        return self._config | {"group.instance.id": self._instance}

    def admission(self, client: int, topics: Sequence[str], join: Callable[[], None]) -> Iterator[bool]:
        """Join this run's client, and remove other members with its identity; yields False until that is done.

        The steps must alternate with polls, as the group may wait for this client. Removed members leave only after
        the group has the new one: brokers delay the rebalance of an empty group
        (``group.initial.rebalance.delay.ms``). Some of the topics must exist. If the broker denies a description of
        the group, the client just joins. Raises ``KafkaError`` if a run that replaced this one is already a member.
        """
        while (holders := self._known_holders(client)) is None:
            yield False
        if len(self._own) > 1:
            self._check_not_replaced(holders)
        with ExitStack() as stack:
            stand_ins = [stack.enter_context(self._stand_in(each)) for each in sorted(holders)]
            yield from _become_members(stand_ins, topics)
            join()
            if stand_ins:
                log.info("%s: members of earlier runs are removed from the group: %s", self, ", ".join(holders))
                yield from self._be_listed(client)
            for each in stand_ins:
                yield from _leave(each)

    def _be_listed(self, client: int) -> Iterator[bool]:
        give_up_at = time.monotonic() + LISTING_SECONDS
        while time.monotonic() < give_up_at and self._instance not in (self._known_holders(client) or ()):
            yield False

    def look_for_successor(self, client: int) -> None:
        """Raise ``KafkaError`` if another run of the task is a member, which may be so after a lost session.

        A removed member joins again by itself: librdkafka takes the removal for the end of its session.
        """
        if self._is_classic:
            self._check_not_replaced(self._known_holders(client) or set())

    def _check_not_replaced(self, holders: set[str]) -> None:
        if any(self._identity is not None and self._identity.has(each) for each in holders - self._own):
            raise KafkaError(ERR_FENCED_INSTANCE_ID)

    def is_present(self, client: int) -> bool:
        """Return whether the group reports this client as a member; False if it does not answer.

        Without permission to describe the group, the client counts as a member.
        """
        try:
            return _member_id(client) in self._listed(client)
        except KafkaError as error:
            log.debug("%s: it is not known whether it is still a member: %s", self, error)
            return not error.is_passing

    def leave(self, client: int) -> bool:
        """Leave the group, which revokes all partitions; return False if ``retire`` has to do it.

        A static member of librdkafka leaves when it unsubscribes, and not when it closes. With the new protocol it
        never leaves, and a client that is just joining does not know its member id yet.
        """
        if self._identity is None:
            return True
        is_member = _member_id(client) and not library().fatal_error(client, None, 0)
        return bool(self._is_classic and is_member) and _within(LEAVE_SECONDS, _leave(client))

    def retire(self, topics: Sequence[str]) -> None:
        """Remove the members of this run's closed clients from the group they joined for these topics."""
        try:
            for instance in self._own:
                with self._stand_in(instance) as client:
                    if instance in self._holders(client) and not _within(RETIRE_SECONDS, _take_out(client, topics)):
                        raise KafkaError(ERR_TIMED_OUT)
        except KafkaError as error:
            log.info("%s: its members remain in the group until their session ends: %s", self, error)

    def _holders(self, client: int) -> set[str]:
        if self._identity is None:
            return set()
        return {each for each in self._listed(client).values() if self._identity.answers_for(each)}

    def _listed(self, client: int) -> dict[str, str]:
        """Return the members by member id, with their ``group.instance.id`` or an empty string."""
        return (_classic_members if self._is_classic else _new_members)(client, self._config["group.id"])

    def _known_holders(self, client: int) -> set[str] | None:
        """Return the members with the identity, as far as this client may know; ``None`` without an answer."""
        try:
            return self._holders(client)
        except KafkaError as error:
            log.debug("%s: the other members are not known: %s", self, error)
            return None if error.is_passing else set()

    @contextmanager
    def _stand_in(self, instance: str) -> Iterator[int]:
        """Yield a consumer of the classic protocol, which may replace a static member in any group."""
        config = {key: value for key, value in self._config.items() if key not in _NOT_OF_STAND_INS}
        client = new_client(CONSUMER, new_configuration(config | {"group.instance.id": instance}))
        try:
            check(library().poll_set_consumer(client))
            yield client
        except BaseException:
            library().destroy_flags(client, DESTROY_IMMEDIATE)
            raise
        library().destroy_flags(client, 0)  # closes it, and waits for answers to its requests


def _member_id(client: int) -> str:
    """Return this consumer's member id, empty while it is no member."""
    pointer = library().memberid(client)
    if not pointer:
        return ""
    try:
        return ctypes.string_at(pointer).decode()
    finally:
        library().mem_free(client, pointer)


def is_fenced(client: int | None) -> bool:
    """Return whether the group has fenced a consumer, for another with its identity or as unknown."""
    return bool(library().fatal_error(client, None, 0) == ERR_FENCED_INSTANCE_ID)


def subscribe(client: int, topics: Iterable[str]) -> None:
    """Subscribe a consumer to these topics, which joins its group."""
    with partition_list([TopicPartition(topic, -1) for topic in topics]) as wanted:
        check(library().subscribe(client, wanted))


def _become_members(clients: Sequence[int], topics: Sequence[str]) -> Iterator[bool]:
    """Join with these clients in place of their ``group.instance.id``, all at once; yields False until done.

    That takes as long as a rebalance in progress, which waits for all members, and so for each of these.
    """
    for each in clients:
        subscribe(each, topics)
    while not all(map(_member_id, clients)):
        yield False
        for each in clients:
            _serve(each)


def _leave(client: int) -> Iterator[bool]:
    """Unsubscribe; yields False until librdkafka has left the group."""
    check(library().unsubscribe(client))
    while _member_id(client):
        yield False
        _serve(client)


def _take_out(client: int, topics: Sequence[str]) -> Iterator[bool]:
    yield from _become_members([client], topics)
    yield from _leave(client)


def _within(seconds: float, steps: Iterator[bool]) -> bool:
    """Take all steps, one after the other; return whether they were done in time."""
    give_up_at = time.monotonic() + seconds
    return all(time.monotonic() < give_up_at for _ in steps)


def _serve(client: int) -> None:
    """Poll once, for librdkafka's callbacks; drop a message that arrives."""
    message = library().consumer_poll(client, _POLL_MS)
    if message:
        library().message_destroy(message)


def _classic_members(client: int, group: str) -> dict[str, str]:
    """Return the members of a classic group, with their instance ids; raises KafkaError without an answer.

    librdkafka asks all brokers. Asking only the coordinator (``DescribeConsumerGroups``) aborts the process if that
    does not know the request, or not yet, as while it starts (librdkafka issue 4605). A broker forms a member id from
    the instance id, or the client id of a dynamic member, and a UUID.
    """
    rdkafka = library()
    _connect_brokers(client)
    found = ctypes.POINTER(GroupListStruct)()
    if (error := rdkafka.list_groups(client, group.encode(), ctypes.byref(found), ANSWER_MS)) not in (OK, ERR_PARTIAL):
        raise KafkaError(error)
    try:
        groups = [found.contents.groups[index] for index in range(found.contents.count)]
        if error and not groups:
            raise KafkaError(error)
        members = [each.members[index].member_id.decode() for each in groups for index in range(each.member_count)]
        return {each: each[:-_UUID_LENGTH] for each in members}
    finally:
        rdkafka.group_list_destroy(found)


def _connect_brokers(client: int) -> None:
    """Connect a client to its brokers, which would otherwise take steps of a second."""
    with cluster_metadata(client, ANSWER_MS):
        pass


def _new_members(client: int, group: str) -> dict[str, str]:
    """Return the members of a group of the new protocol, as ``_classic_members`` does."""
    rdkafka = library()
    queue = rdkafka.queue_new(client)
    try:
        _ask(client, group, queue)
        event = rdkafka.queue_poll(queue, 2 * ANSWER_MS)
        if not event:
            raise KafkaError(ERR_TIMED_OUT)
        try:
            return _members(event)
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
    """Return the members of the described group."""
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
    consumer_id, instance_id = rdkafka.MemberDescription_consumer_id, rdkafka.MemberDescription_group_instance_id
    return {consumer_id(each).decode(): (instance_id(each) or b"").decode() for each in members}
