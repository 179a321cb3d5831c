"""The partitions that a group gives to a consumer and takes from it, and who hears of that first."""

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
    """Hears of partitions that come and go, on the polling thread inside ``poll`` and ``close``.

    What it raises is raised again by that ``poll``.
    """

    def on_assign(self, partitions: list[TopicPartition]) -> Mapping[TopicPartition, int]:
        """Return where to read on; a partition that is missing begins where ``auto.offset.reset`` says."""

    def on_assigned(self) -> None:
        """The partitions belong to the consumer now and can be paused."""

    def on_revoke(self, partitions: list[TopicPartition], lost: bool) -> None:
        """The partitions go when this returns; of those that are lost nothing may be committed."""


class Assignment:
    """What of the group belongs to a consumer, whichever of its clients is the member just now.

    Nothing is read of a partition before the listener has heard that it comes, and nobody else is given one before the
    listener has heard that it goes. Whatever it raises, the group is answered, for librdkafka waits for that; the
    error cannot pass through C, and goes to ``fail``.
    """

    def __init__(self, membership: Membership, reset: str, fail: Callable[[BaseException], None]) -> None:
        self.listener: RebalanceListener | None = None
        self.revoked: set[TopicPartition] = set()
        """What was taken away, until somebody clears it."""
        self.has_joined = False
        """Whether the group has given or taken anything yet."""
        self.is_closing = False
        """Whether nothing is taken on any more."""
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
            return  # nobody inside librdkafka answers an assignment any more: the call would never return
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
        """Raise where a member that lost its session did so because another run of the task follows it."""
        has_lost, self._has_lost = self._has_lost, False
        if has_lost:
            self._membership.look_for_successor(client)

    def _begin_at(self, client: int, pointer: Any, offsets: Mapping[TopicPartition, int]) -> None:
        """Write into an assignment where each partition begins.

        An offset that is given is not looked up by librdkafka, which would hand errors of a coordinator that moves to
        the application, refuse to seek until it was answered, and forget a seek that came before the answer did.
        """
        begin = self._ends(client, [each for each in read_list(pointer) if each not in offsets]) | dict(offsets)
        content = pointer.contents
        for index in range(content.count):
            each = content.elements[index]
            each.offset = begin.get(TopicPartition(each.topic.decode(), each.partition), self._reset)

    def _ends(self, client: int, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends that ``auto.offset.reset`` names, of as many partitions as can be told now."""
        if not partitions or self._reset == OFFSET_INVALID:
            return {}
        with partition_list(dict.fromkeys(partitions, self._reset)) as wanted:
            if error := library().offsets_for_times(client, wanted, ENDS_MS):
                log.info("%s: where partitions begin is left to librdkafka: %s", self._membership, KafkaError(error))
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
        """Tell the listener of partitions that went without a word: after a fatal error librdkafka says nothing."""
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
