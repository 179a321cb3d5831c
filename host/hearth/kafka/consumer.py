"""A consumer of a group: many messages leave librdkafka in one call and become columns."""

from __future__ import annotations

import ctypes
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from hearth.kafka.fetched import Incoming, MessageReader
from hearth.kafka.library import (
    CONSUMER,
    DESTROY_IMMEDIATE,
    ERR_ASSIGN_PARTITIONS,
    ERR_FATAL,
    ERR_FENCED_INSTANCE_ID,
    ERR_PARTITION_EOF,
    ERR_STATE,
    EVENT_COMMIT,
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OK,
    ErrorCallback,
    KafkaError,
    RebalanceCallback,
    check,
    check_object,
    cluster_metadata,
    is_refusal,
    library,
    new_client,
    new_configuration,
)
from hearth.kafka.membership import GroupIdentity, Membership, subscribe
from hearth.kafka.partition import first_error, partition_list, read_list
from hearth_api import TopicPartition

log = logging.getLogger(__name__)

MOST_MESSAGES = 5_000
"""Most messages of one poll."""

CLOSE_MS = 50
ENDS_MS = 2_000
STEP_MS = 10
SEEK_SECONDS = 0.01

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


@dataclass(frozen=True)
class CommitAnswer:
    """What the broker said to a commit: its number, and the partitions whose offsets it did not take."""

    number: int
    refused: dict[TopicPartition, KafkaError]


class Consumer:
    """One member of a group; used by one thread.

    With an ``identity`` (see ``Membership``) it takes out what earlier runs have left when it joins, and leaves itself
    at its end. A broker may fence such a member although nobody followed it: librdkafka keeps a commit while its
    coordinator is away, and when the session is over by then, sends it as somebody the group does not know any more.
    The member then begins anew, as after a session that was lost.
    """

    def __init__(self, config: Mapping[str, str], identity: GroupIdentity | None = None) -> None:
        self._library = library()
        self._listener: RebalanceListener | None = None
        self._reset = _RESETS.get(config.get("auto.offset.reset", "largest"), OFFSET_INVALID)
        self._raised: BaseException | None = None
        self._is_closing = self._has_joined = self._has_lost = False
        self._given: set[TopicPartition] = set()
        self._revoked: set[TopicPartition] = set()
        self._topics: list[str] = []
        self._membership = Membership(config, identity)
        self._callbacks = RebalanceCallback(self._rebalance), ErrorCallback(self._note)
        self._pointers = np.empty(MOST_MESSAGES, np.int64)
        self._reader = MessageReader()
        self._open()

    def _open(self) -> None:
        configuration = new_configuration(self._membership.new_config())
        self._library.conf_set_rebalance_cb(configuration, self._callbacks[0])
        self._library.conf_set_error_cb(configuration, self._callbacks[1])
        self._client: int | None = new_client(CONSUMER, configuration)
        check(self._library.poll_set_consumer(self._client))
        self._queue = self._library.queue_get_consumer(self._client)
        self._commits = self._library.queue_new(self._client)
        self._admission: Iterator[bool] | None = None
        self._is_admitted = self._is_subscribed = False

    @property
    def wants_timestamps(self) -> bool:
        """Return whether rows come with timestamps; to be unset where nobody reads them."""
        return self._reader.wants_timestamps

    @wants_timestamps.setter
    def wants_timestamps(self, wanted: bool) -> None:
        self._reader.wants_timestamps = wanted

    def listen(self, listener: RebalanceListener) -> None:
        """Tell this listener of partitions that come and go; to be called before ``subscribe``."""
        self._listener = listener

    def topic_names(self, wait_ms: int = 30_000) -> list[str]:
        """Return the names of all topics the broker shows to this client."""
        with cluster_metadata(self._client, wait_ms, of_all_topics=True) as found:
            topics = (found.topics[index] for index in range(found.topic_count))
            return [topic.name.decode() for topic in topics if topic.error == OK]

    def subscribe(self, topics: Iterable[str]) -> None:
        """Want these topics from now on; a name that begins with ``^`` is one of librdkafka's (POSIX) patterns.

        The group is joined by ``poll``, as soon as no earlier run of this member is left in it.
        """
        self._topics = list(topics)
        self._is_subscribed = False

    def poll(self, wait_ms: int, most: int = MOST_MESSAGES) -> list[Incoming]:
        """Read up to ``most`` messages, waiting at most ``wait_ms`` for the first.

        Raises ``KafkaError`` when the consumer cannot go on, and what the listener raised.
        """
        self._join()
        if not self._is_admitted:
            wait_ms = min(wait_ms, STEP_MS)
        pointers = self._pointers[: self._fetch(wait_ms, min(most, MOST_MESSAGES))]
        try:
            self._reraise()
            return self._read(pointers) if len(pointers) else []
        except KafkaError:
            if not self._is_fenced() or not self._membership.is_renewable:
                raise
        finally:
            for _ in map(self._library.message_destroy, pointers.tolist()):
                pass
        self._begin_anew()
        return []

    def _join(self) -> None:
        """Go a step towards what is to be subscribed to; who is new takes out earlier runs with it."""
        if self._client is None or not self._topics:
            return
        if self._admission is None:
            self._admission = self._membership.admission(self._client, self._topics, self._subscribe)
        if not self._is_admitted:
            self._is_admitted = next(self._admission, True)
        elif not self._is_subscribed:
            self._subscribe()

    def _subscribe(self) -> None:
        subscribe(self._client or 0, self._topics)
        self._is_subscribed = True

    def _is_fenced(self) -> bool:
        return bool(self._library.fatal_error(self._client, None, 0) == ERR_FENCED_INSTANCE_ID)

    def _begin_anew(self) -> None:
        """Lose all partitions, and join as somebody new with the next poll."""
        log.warning("%s: the group has fenced this member, which joins it anew", self._membership)
        self._raised = None
        self._shut(0.0)
        self._reader = MessageReader(self.wants_timestamps)
        self._open()
        self._reraise()

    def _fetch(self, wait_ms: int, most: int) -> int:
        # librdkafka waits until all wanted messages are there, so the wait is for one, and the rest comes without.
        address = self._pointers.ctypes.data
        if self._library.consume_batch_queue(self._queue, wait_ms, address, 1) < 1:
            return 0
        self._revoked.clear()
        rest = self._library.consume_batch_queue(self._queue, 0, address + 8, most - 1) if most > 1 else 0
        return 1 + max(int(rest), 0)

    def commit(self, offsets: Mapping[TopicPartition, int], number: int) -> None:
        """Send a commit; what became of it is among the ``commit_answers`` later, under this number."""
        with partition_list(offsets) as wanted:
            check(self._library.commit_queue(self._client, wanted, self._commits, None, number))

    def commit_answers(self, wait_ms: int = 0) -> list[CommitAnswer]:
        """Return what became of commits, waiting up to ``wait_ms`` for the first.

        One may stay away for as long as the coordinator does (librdkafka keeps it that long, or until the session is
        over).
        """
        answers = []
        while event := self._library.queue_poll(self._commits, wait_ms):
            try:
                if self._library.event_type(event) == EVENT_COMMIT:
                    answers.append(self._commit_answer(event))
            finally:
                self._library.event_destroy(event)
            wait_ms = 0
        return answers

    def _commit_answer(self, event: int) -> CommitAnswer:
        content = self._library.event_topic_partition_list(event).contents
        places = [content.elements[index] for index in range(content.count)]
        of_all = self._library.event_error(event)
        refused = {
            TopicPartition(each.topic.decode(), each.partition): KafkaError(each.error or of_all)
            for each in places
            if each.error or (of_all and not any(place.error for place in places))
        }
        return CommitAnswer(int(self._library.event_opaque(event) or 0), refused)

    def committed(self, partitions: Iterable[TopicPartition], wait_ms: int = 30_000) -> dict[TopicPartition, int]:
        """Return the committed offsets; a partition without one is missing.

        Raises ``KafkaError``, also for a single partition; ``is_passing`` tells whether to ask again.
        """
        with partition_list(partitions) as wanted:
            check(self._library.committed(self._client, wanted, wait_ms))
            check(first_error(wanted))
            return {partition: offset for partition, offset in read_list(wanted).items() if offset >= 0}

    def seek(self, offsets: Mapping[TopicPartition, int], wait_ms: int = 30_000) -> None:
        """Read on from these offsets; what was fetched beyond them is forgotten.

        A partition that was just assigned is waited for: librdkafka begins to read it on a thread of its own.
        """
        give_up_at = time.monotonic() + wait_ms / 1000
        while True:
            with partition_list(offsets) as wanted:
                check_object(self._library.seek_partitions(self._client, wanted, wait_ms))
                error = first_error(wanted)
            if error != ERR_STATE or time.monotonic() >= give_up_at:
                check(error)
                return
            time.sleep(SEEK_SECONDS)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        """Read nothing from these partitions until they are resumed; the membership stays."""
        with partition_list(partitions) as wanted:
            check(self._library.pause_partitions(self._client, wanted))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        """Read from these partitions again."""
        with partition_list(partitions) as wanted:
            check(self._library.resume_partitions(self._client, wanted))

    def close(self, seconds: float = 30.0, *, hands_over: bool = False) -> None:
        """Leave the group, which revokes the partitions, and free the client.

        A broker that does not answer is not waited for longer than ``seconds``; its group then forgets this member
        when the session is over. With ``hands_over`` that is left to the next run of the task, which takes this one
        out when it joins: until then nobody else is given the partitions, and the group is never empty.
        """
        if self._client is None:
            return
        give_up_at = time.monotonic() + seconds
        # the last revocation runs in here and may still commit
        has_left = hands_over or self._membership.leave(self._client)
        has_subscribed = self._is_subscribed
        self._shut(seconds)
        if has_subscribed and not has_left and time.monotonic() < give_up_at:
            self._membership.retire(self._topics)
        self._reraise()

    def _shut(self, seconds: float) -> None:
        """Free the client, in order where that takes no longer than ``seconds``."""
        self._admission, self._is_closing = None, True
        left = self._library.queue_new(self._client)
        error = self._library.consumer_close_queue(self._client, left)
        if error:  # fatal: nothing is left to be closed in order
            self._library.error_destroy(error)
        give_up_at = time.monotonic() + seconds
        while not (error or self._library.consumer_closed(self._client)) and time.monotonic() < give_up_at:
            self._serve(left)  # ... or in here
        is_closed = self._library.consumer_closed(self._client)
        self._take_what_is_left()
        client, self._client = self._client, None
        for own in (left, self._queue, self._commits):
            self._library.queue_destroy(own)
        self._library.destroy_flags(client, 0 if is_closed else DESTROY_IMMEDIATE)
        self._is_closing = False

    def _serve(self, own: int) -> None:
        """Let callbacks run that wait in a queue, and drop messages nobody wants any more."""
        address = self._pointers.ctypes.data
        count = self._library.consume_batch_queue(own, CLOSE_MS, address, len(self._pointers))
        for pointer in self._pointers[: max(int(count), 0)].tolist():
            self._library.message_destroy(pointer)

    def _rebalance(self, client: int, event: int, pointer: Any, _: Any) -> None:
        self._has_joined = True
        try:
            if event == ERR_ASSIGN_PARTITIONS:
                self._on_assign(client, pointer)
            else:
                self._on_revoke(client, pointer)
        except BaseException as error:  # an exception cannot pass through C; poll raises it
            self._raised = self._raised or error

    def _on_assign(self, client: int, pointer: Any) -> None:
        if self._is_closing:
            return  # nobody inside librdkafka answers an assignment any more: the call would never return
        partitions = list(read_list(pointer))
        try:
            self._look_for_successor(client)
            self._given |= set(partitions)
            if self._listener is not None:
                self._begin_at(pointer, self._listener.on_assign(partitions))
        finally:
            self._assign(client, pointer)
        if self._listener is not None:
            self._listener.on_assigned()

    def _look_for_successor(self, client: int) -> None:
        """Raise where a member that lost its session did so because another run of the task follows it."""
        has_lost, self._has_lost = self._has_lost, False
        if has_lost:
            self._membership.look_for_successor(client)

    def _begin_at(self, pointer: Any, offsets: Mapping[TopicPartition, int]) -> None:
        """Write into an assignment where each partition begins.

        An offset that is given is not looked up by librdkafka, which would hand errors of a coordinator that moves to
        the application, refuse to seek until it was answered, and forget a seek that came before the answer did.
        """
        begin = self._ends([each for each in read_list(pointer) if each not in offsets]) | dict(offsets)
        content = pointer.contents
        for index in range(content.count):
            each = content.elements[index]
            each.offset = begin.get(TopicPartition(each.topic.decode(), each.partition), self._reset)

    def _ends(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the ends that ``auto.offset.reset`` names, of as many partitions as can be told now."""
        if not partitions or self._reset == OFFSET_INVALID:
            return {}
        with partition_list(dict.fromkeys(partitions, self._reset)) as wanted:
            if error := self._library.offsets_for_times(self._client, wanted, ENDS_MS):
                log.info("%s: where partitions begin is left to librdkafka: %s", self._membership, KafkaError(error))
                return {}
            return {partition: offset for partition, offset in read_list(wanted).items() if offset >= 0}

    def _on_revoke(self, client: int, pointer: Any) -> None:
        partitions = list(read_list(pointer))
        self._revoked |= set(partitions)
        self._has_lost = bool(self._library.assignment_lost(client)) or self._is_fenced()
        try:
            self._take(partitions, self._has_lost)
        finally:
            self._unassign(client, pointer)

    def _take(self, partitions: list[TopicPartition], lost: bool) -> None:
        self._given -= set(partitions)
        if self._listener is not None:
            self._listener.on_revoke(partitions, lost)

    def _take_what_is_left(self) -> None:
        """Tell the listener of partitions that went without a word: after a fatal error librdkafka says nothing."""
        try:
            if self._given:
                self._take(list(self._given), lost=True)
        except Exception as error:
            self._raised = self._raised or error

    def _note(self, client: int, number: int, reason: bytes | None, _: Any) -> None:
        """Take note of an error of the client as a whole; wrong credentials do not become right by waiting."""
        text = (reason or b"").decode("utf-8", "replace")
        if is_refusal(number, text, has_worked=self._has_joined) and not self._is_closing:
            self._raised = self._raised or KafkaError(number, text or None)

    def _assign(self, client: int, pointer: Any) -> None:
        if self._is_cooperative(client):
            check_object(self._library.incremental_assign(client, pointer))
        else:
            check(self._library.assign(client, pointer))

    def _unassign(self, client: int, pointer: Any) -> None:
        if self._is_cooperative(client):
            check_object(self._library.incremental_unassign(client, pointer))
        else:
            check(self._library.assign(client, None))

    def _is_cooperative(self, client: int) -> bool:
        return bool(self._library.rebalance_protocol(client) == b"COOPERATIVE")

    def _reraise(self) -> None:
        if self._raised is not None:
            error, self._raised = self._raised, None
            raise error

    def _read(self, pointers: Any) -> list[Incoming]:
        rows = self._reader.structures(pointers)
        if self._revoked and self._is_revoked(rows[0]):
            rows, pointers = rows[1:], pointers[1:]
        if rows["error"].any():
            self._raise_errors(rows, pointers)
            good = rows["error"] == 0
            rows, pointers = rows[good], pointers[good]
        return self._reader.columns(rows, pointers)

    def _is_revoked(self, row: Any) -> bool:
        """Return whether the first message's partition was taken away while the rest was fetched.

        librdkafka itself takes such messages out of what one call returns; its owner after this one reads it again.
        """
        topic, partition = int(row["topic"]), int(row["partition"])
        return not row["error"] and (self._reader.topic_name(topic), partition) in self._revoked

    def _raise_errors(self, rows: Any, pointers: Any) -> None:
        for number, pointer in zip(rows["error"].tolist(), pointers.tolist()):
            if number == ERR_FATAL:
                text = ctypes.create_string_buffer(512)
                cause = self._library.fatal_error(self._client, text, len(text))
                raise KafkaError(cause or number, text.value.decode() or None)
            if number not in (OK, ERR_PARTITION_EOF):
                error = KafkaError(number, (self._library.message_errstr(pointer) or b"").decode() or None)
                if not error.is_passing:  # else librdkafka goes on by itself
                    raise error
