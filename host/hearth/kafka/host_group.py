"""The group of a cluster's hosts: Kafka tracks which are alive, and which one leads.

All hosts of a `group.id` are consumers of one topic with one partition, which they do not read: the host with the
partition leads. Members are static (KIP-345), so that another host can remove one that has just died.
"""

from __future__ import annotations

import contextlib
import logging
import re
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from hearth.foundation.log_repeat import CLIENT
from hearth.kafka.token import authorized
from hearth_api import ConfigError, ConnectError

log = logging.getLogger(__name__)

PROTOCOL = 1
"""Version that all hosts of a cluster must share; members report it in their client id."""
JOIN_SECONDS = 60.0
LOOK_SECONDS = 5.0
"""Timeout in seconds of one request to the coordinator."""
TAKE_OUT_SECONDS = 5.0
LEAVE_SECONDS = 3.0
_POLL_SECONDS = 0.25
_PAUSE_SECONDS = 1.0
_RETRY_SECONDS = 0.2
_CLIENT = re.compile(r"hearth-(\d+)@(\S+)")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9._-]")

_REFUSALS: Mapping[int, tuple[str, str]] = {
    KafkaError.GROUP_AUTHORIZATION_FAILED: ("may not be joined", "allow the host's principal READ on that group"),
    KafkaError.TOPIC_AUTHORIZATION_FAILED: (
        "may not be joined for the hosts' shared topic",
        "allow the host's principal READ and DESCRIBE on config.storage.topic",
    ),
    KafkaError.INVALID_SESSION_TIMEOUT: (
        "does not accept a member with this session.timeout.ms",
        "choose one between group.min.session.timeout.ms and group.max.session.timeout.ms of the brokers",
    ),
}
"""Errors of the coordinator that a retry does not help."""


class GroupTaken(ConnectError):
    """The group has members that are no Hearth hosts, or hosts of an incompatible version."""

    code = "environment.group"


@dataclass(frozen=True)
class HostMember:
    """A host as its group describes it."""

    member: str
    """Member id from the coordinator; a host that joins again gets another."""
    instance: str
    """Static id, the same as long as the address is."""
    url: str
    """Its advertised address."""
    leads: bool


class HostGroup:
    """One host's membership, from `join` to `leave`.

    ``on_change`` is called on this object's thread with whether this host holds the partition, after each rebalance
    and when this host loses its membership. Lost sessions, unavailable brokers or another member with its name do not
    end the membership: it joins again.
    """

    def __init__(
        self,
        consumer: Mapping[str, Any],
        admin: Mapping[str, Any],
        group: str,
        topic: str,
        url: str,
        on_change: Callable[[bool], None],
    ) -> None:
        """``consumer`` and ``admin`` are librdkafka settings; ``consumer`` includes the group's timeouts.

        Either may have a ``stats_cb`` and a ``statistics.interval.ms``.
        """
        self._group, self._topic, self._url = group, topic, url
        self._config = {
            **consumer,
            "group.id": group,
            "client.id": f"hearth-{PROTOCOL}@{url}",
            "group.protocol": "classic",
            "partition.assignment.strategy": "cooperative-sticky",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "max.poll.interval.ms": 86_400_000,  # the polling thread does nothing else
            "logger": logging.getLogger(CLIENT),
        }
        self._instance = _ILLEGAL.sub("-", f"hearth-{url.partition('://')[2]}")
        self._on_change = on_change
        self._admin = AdminClient(authorized({**admin, "logger": logging.getLogger(CLIENT)}))
        self._joined: Future[None] = Future()
        self._stopping = threading.Event()
        self._holds = False
        self._on_refusal: Callable[[ConnectError], None] = lambda error: log.error("%s", error)
        self._thread = threading.Thread(target=self._be_member, name="host-group", daemon=True)

    def join(self, on_refusal: Callable[[ConnectError], None], timeout: float = JOIN_SECONDS) -> None:
        """Become a member and return; raises ConnectError if the group refuses this host.

        ``on_refusal`` is called if it refuses the host later.
        """
        deadline = time.monotonic() + timeout
        self.look_at_members(timeout)
        self._thread.start()
        try:
            self._joined.result(max(0.0, deadline - time.monotonic()))
        except FutureTimeout as error:
            raise _unanswered(self._group, "it is rebalancing") from error
        self._on_refusal = on_refusal

    def look_at_members(self, timeout: float = JOIN_SECONDS) -> None:
        """Raise ConnectError if the group has consumers that this host cannot work with.

        A group of another type, for example one left by Java's workers, is not described; whether it is in use shows
        when this host joins.
        """
        deadline = time.monotonic() + timeout
        while True:
            try:
                members = self._described()
                break
            except KafkaException as error:
                cause: KafkaError = error.args[0]
                if cause.code() == KafkaError._INVALID_ARG:  # "GroupId ... is not a consumer group (connect)."
                    return
                if (refusal := self._refusal(cause)) is not None:
                    raise refusal from error
                if time.monotonic() > deadline:
                    raise _unanswered(self._group, cause.str()) from error
                self._stopping.wait(_RETRY_SECONDS)
        for each in members:
            _check_protocol(self._group, each)

    def hosts(self) -> list[HostMember]:
        """Return the hosts of the group, in an order that is the same on all hosts; raises KafkaException."""
        found = []
        for each in self._described():
            parts = _CLIENT.fullmatch(each.client_id)
            if parts is None or each.group_instance_id is None:
                continue
            held = each.assignment.topic_partitions if each.assignment is not None else []
            leads = any(place.topic == self._topic and place.partition == 0 for place in held)
            found.append(HostMember(each.member_id, each.group_instance_id, parts[2], leads))
        return sorted(found, key=lambda host: host.member)

    def other_topics(self) -> list[str]:
        """Return the topics that members hold and that are not this group's; raises KafkaException."""
        held = [each.assignment.topic_partitions for each in self._described() if each.assignment is not None]
        return sorted({place.topic for places in held for place in places} - {self._topic})

    def is_own(self, host: HostMember) -> bool:
        """Return whether a member is this host."""
        return host.instance == self._instance

    def ensure_membership(self) -> None:
        """Return once the coordinator lists this host as a member; at once before it has joined or after it left."""
        while self._joined.done() and not self._stopping.is_set():
            with contextlib.suppress(KafkaException):
                if any(map(self.is_own, self.hosts())):
                    return
            self._stopping.wait(_PAUSE_SECONDS)

    def take_out(self, host: HostMember) -> None:
        """Remove a host that is known to have died from the group, long before its session ends.

        A consumer that joins under a static member's name replaces it, and if that consumer leaves, the member is
        gone. If the host is alive after all, it is fenced, and joins again.
        """
        log.warning("the host at %s has died and is removed from group %r", host.url, self._group)
        consumer = Consumer(
            authorized({**self._config, "group.instance.id": host.instance, "client.id": "hearth-stand-in"})
        )
        try:
            consumer.subscribe([self._topic])
            _serve(consumer, lambda: bool(consumer.memberid()), TAKE_OUT_SECONDS)
            _leave(consumer)
        finally:
            consumer.close()

    def leave(self) -> None:
        """Leave the group, which assigns the partition to another host at once."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join(LEAVE_SECONDS + 2 * _PAUSE_SECONDS)

    def _be_member(self) -> None:
        while not self._stopping.is_set():
            try:
                consumer = Consumer(authorized({**self._config, "group.instance.id": self._instance}))
            except (ConnectError, KafkaException) as error:  # no token is available now
                log.warning("this host cannot join group %r at the moment: %s", self._group, error)
                self._stopping.wait(_RETRY_SECONDS)
                continue
            try:
                consumer.subscribe(
                    [self._topic], on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_revoke
                )
                is_refused = self._attend(consumer)
                _leave(consumer)
            finally:
                self._hold(False)
                consumer.close()
            if is_refused:
                return
            self._stopping.wait(_PAUSE_SECONDS)

    def _attend(self, consumer: Consumer) -> bool:
        """Poll until stopped or asked to join as a new member; return whether the group refuses this host."""
        while not self._stopping.is_set():
            error = _polled(consumer)
            if error is None:
                continue
            refusal = self._refusal(error)
            if refusal is not None:
                self._refuse(refusal)
                return True
            if error.fatal() or error.code() in (KafkaError.FENCED_INSTANCE_ID, KafkaError._FATAL):
                log.warning(
                    "group %r fenced this host, which joins again: %s; if this repeats, another host "
                    "advertises the same address: %s",
                    self._group, error.str(), self._url,
                )  # fmt: skip
                return False
            log.debug("group %r: %s", self._group, error.str())
        return False

    def _refusal(self, error: KafkaError) -> ConnectError | None:
        if error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL:
            return _taken_by_java(self._group)
        known = _REFUSALS.get(error.code())
        if known is None:
            return None
        return ConfigError(f"group.id={self._group!r} {known[0]}: {error.str()}", code="group.refused", hint=known[1])

    def _refuse(self, refusal: ConnectError) -> None:
        if self._joined.done():
            self._on_refusal(refusal)
        else:
            self._joined.set_exception(refusal)

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_assign(partitions)
        consumer.pause(partitions)  # TopicReader reads them
        if not self._joined.done():
            self._joined.set_result(None)
        self._hold(self._holds or bool(partitions))

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        consumer.incremental_unassign(partitions)
        self._hold(self._holds and not partitions)

    def _hold(self, holds: bool) -> None:
        self._holds = holds
        self._on_change(holds)

    def _described(self) -> list[Any]:
        """Ask the coordinator for the members, right after a broker answered another request.

        librdkafka aborts the process if the connection breaks just before this request (librdkafka issue 4605), so it
        is not sent while brokers are unavailable.
        """
        self._admin.poll(0)  # for its statistics
        self._admin.describe_cluster(request_timeout=LOOK_SECONDS).result()
        answer = self._admin.describe_consumer_groups([self._group], request_timeout=LOOK_SECONDS)
        return list(answer[self._group].result().members)


def _unanswered(group: str, reason: str) -> GroupTaken:
    return GroupTaken(
        f"group.id={group!r} did not admit this host in time: {reason}",
        hint="check the brokers: they need a coordinator for that group (__consumer_offsets)",
    )


def _taken_by_java(group: str) -> GroupTaken:
    """Return the error for a group with Java workers."""
    return GroupTaken(
        f"group.id={group!r} has members of another type, for example Java's Kafka Connect workers",
        hint="stop all its workers first: this host continues where they stopped; or choose another group.id",
    )


def _check_protocol(group: str, member: Any) -> None:
    """Raise GroupTaken for a member that this host cannot work with."""
    found = _CLIENT.fullmatch(member.client_id)
    if found is None and member.client_id != "hearth-stand-in":
        raise GroupTaken(
            f"group.id={group!r} has a member that is no Hearth host: {member.client_id!r} of {member.host}",
            hint="stop that consumer, or choose another group.id for this cluster",
        )
    if found is not None and int(found[1]) != PROTOCOL:
        raise GroupTaken(
            f"group.id={group!r} has hosts of another version: {found[2]} speaks protocol {found[1]}, this one "
            f"{PROTOCOL}",
            hint="stop the hosts of the other version first, or start this one with theirs",
        )


def _polled(consumer: Consumer) -> KafkaError | None:
    """Poll once, for librdkafka's callbacks; return the error it reports, if any."""
    try:
        message = consumer.poll(_POLL_SECONDS)
    except KafkaException as error:
        cause: KafkaError = error.args[0]
        return cause
    return None if message is None else message.error()


def _leave(consumer: Consumer) -> None:
    """Leave the group: a static member of librdkafka does so when it unsubscribes, and not when it closes."""
    with contextlib.suppress(KafkaException):
        consumer.unsubscribe()
        _serve(consumer, lambda: not consumer.memberid(), LEAVE_SECONDS)


def _serve(consumer: Consumer, is_done: Callable[[], bool], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not is_done() and time.monotonic() < deadline:
        consumer.poll(0.02)
