"""The partitions that a group assigns to a consumer, and the listener that is notified first."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from hearth.kafka.c_object import partition_list, read_list
from hearth.kafka.kafka_error import KafkaError, check, check_object
from hearth.kafka.library import (
    ERR_ASSIGN_PARTITIONS,
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    RebalanceCallback,
    library,
)
from hearth.kafka.membership import Membership, is_fenced
from hearth_api import TopicPartition

log = logging.getLogger(__name__)

ENDS_MS = 2_000

_RESETS = {"earliest": OFFSET_BEGINNING, "smallest": OFFSET_BEGINNING, "beginning": OFFSET_BEGINNING} | {
    "latest": OFFSET_END, "largest": OFFSET_END, "end": OFFSET_END
}  # fmt: skip


class RebalanceListener(Protocol):
    """Notified of assigned and revoked partitions, on the polling thread inside ``poll`` and ``close``.

    An exception it raises is raised again by that ``poll``.
    """

    def on_assign(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return start offsets; a missing partition starts where ``auto.offset.reset`` says."""

    def on_assigned(self) -> None:
        """The partitions are assigned and can be paused."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """The partitions are revoked when this returns; nothing may be committed for lost ones."""


class Assignment:
    """The partitions of a consumer, whichever of its clients is the current member.

    No partition is read before the listener was notified of it, and none goes to another member before the listener
    was notified of that. Whatever the listener raises, the group is answered, because librdkafka waits for that; the
    error cannot pass through C, and goes to ``fail``.
    """

    def __init__(self, membership: Membership, reset: str, fail: Callable[[BaseException], None]) -> None:
        self.listener: RebalanceListener | None = None
        self.revoked: set[TopicPartition] = set()
        """Revoked partitions, until the reader clears them."""
        self.has_joined = False
        """Whether any rebalance has completed."""
        self.is_closing = False
        """Whether assignments are ignored."""
        self.callback = RebalanceCallback(self._rebalance)
        self._membership = membership
        self._reset = _RESETS.get(reset, OFFSET_INVALID)
        self._fail = fail
        self._given: set[TopicPartition] = set()
        self._has_lost = False

    def _rebalance(self, client: int, event: int, pointer: Any, _: Any) -> None:
        self.has_joined = True
        try:
            if event == ERR_ASSIGN_PARTITIONS:
                self._on_assign(client, pointer)
            else:
                self._on_revoke(client, pointer)
        except BaseException as error:
            self._fail(error)

    def _on_assign(self, client: int, pointer: Any) -> None:
        if self.is_closing:
            return  # librdkafka no longer answers an assignment here: the call would never return
        partitions = list(read_list(pointer))
        try:
            self._look_for_successor(client)
            self._given |= set(partitions)
            if self.listener is not None:
                self._begin_at(client, pointer, self.listener.on_assign(partitions))
        finally:
            _assign(client, pointer)
        if self.listener is not None:
            self.listener.on_assigned()

    def _look_for_successor(self, client: int) -> None:
        """Raise if this member lost its session because another run of the task replaced it."""
        has_lost, self._has_lost = self._has_lost, False
        if has_lost:
            self._membership.look_for_successor(client)

    def _begin_at(self, client: int, pointer: Any, offsets: Mapping[TopicPartition, int]) -> None:
        """Write start offsets into an assignment.

        librdkafka does not look up an offset that is given. Otherwise it would pass errors of a moving coordinator to
        the application, refuse seeks until the answer, and forget a seek that came before it.
        """
        begin = self._ends(client, [each for each in read_list(pointer) if each not in offsets]) | dict(offsets)
        content = pointer.contents
        for index in range(content.count):
            each = content.elements[index]
            each.offset = begin.get(TopicPartition(each.topic.decode(), each.partition), self._reset)

    def _ends(self, client: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the offsets for ``auto.offset.reset``, of the partitions for which they are known now."""
        if not partitions or self._reset == OFFSET_INVALID:
            return {}
        with partition_list(dict.fromkeys(partitions, self._reset)) as wanted:
            if error := library().offsets_for_times(client, wanted, ENDS_MS):
                log.info("%s: start offsets are left to librdkafka: %s", self._membership, KafkaError(error))
                return {}
            return {partition: offset for partition, offset in read_list(wanted).items() if offset >= 0}

    def _on_revoke(self, client: int, pointer: Any) -> None:
        partitions = list(read_list(pointer))
        self.revoked |= set(partitions)
        self._has_lost = bool(library().assignment_lost(client)) or is_fenced(client)
        try:
            self._take(partitions, self._has_lost)
        finally:
            _unassign(client, pointer)

    def _take(self, partitions: list[TopicPartition], lost: bool) -> None:
        self._given -= set(partitions)
        if self.listener is not None:
            self.listener.on_revoke(partitions, lost)

    def lose_what_is_left(self) -> None:
        """Notify the listener of partitions that vanished: after a fatal error librdkafka sends no revocation."""
        try:
            if self._given:
                self._take(list(self._given), lost=True)
        except Exception as error:
            self._fail(error)


def _assign(client: int, pointer: Any) -> None:
    if _is_cooperative(client):
        check_object(library().incremental_assign(client, pointer))
    else:
        check(library().assign(client, pointer))


def _unassign(client: int, pointer: Any) -> None:
    if _is_cooperative(client):
        check_object(library().incremental_unassign(client, pointer))
    else:
        check(library().assign(client, None))


def _is_cooperative(client: int) -> bool:
    return bool(library().rebalance_protocol(client) == b"COOPERATIVE")
