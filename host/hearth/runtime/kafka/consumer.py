"""A consumer of columns: many messages leave librdkafka in one call and become Arrow columns."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Protocol

import numpy as np

from hearth.runtime.kafka.library import (
    CONSUMER,
    DESTROY_IMMEDIATE,
    ERR_ASSIGN_PARTITIONS,
    ERR_FATAL,
    ERR_PARTITION_EOF,
    ERR_STATE,
    EVENT_COMMIT,
    FETCHED,
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OK,
    ErrorCallback,
    KafkaError,
    MetadataStruct,
    RebalanceCallback,
    check,
    check_object,
    is_refusal,
    library,
    new_client,
    new_configuration,
)
from hearth.runtime.kafka.membership import Membership, member_id
from hearth.runtime.kafka.memory import gather_nullable, messages
from hearth.runtime.kafka.partition import first_error, partition_list, read_list
from hearth_api import TopicPartition

MOST_MESSAGES = 5_000
"""Most messages of one poll."""

CLOSE_MS = 50
SEEK_SECONDS = 0.01

_RESETS = {"earliest": OFFSET_BEGINNING, "smallest": OFFSET_BEGINNING, "beginning": OFFSET_BEGINNING} | {
    "latest": OFFSET_END, "largest": OFFSET_END, "end": OFFSET_END
}  # fmt: skip


@dataclass(frozen=True)
class Incoming:
    """Rows of one topic in the order they were read.

    ``key`` and ``value`` are Arrow ``binary`` arrays, ``partition`` int32, ``offset`` and ``timestamp`` int64 numpy
    arrays; ``timestamp_type`` is librdkafka's (0 none, then there is no ``timestamp``; 1 create time, 2 log append
    time); ``headers`` maps a row to its headers and holds only rows that have some.
    """

    topic: str
    partition: Any
    offset: Any
    key: Any
    value: Any
    timestamp: Any
    timestamp_type: int
    headers: dict[int, list[tuple[str, bytes | None]]]


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
    """One librdkafka consumer in a group; used by one thread.

    ``wants_timestamps`` may be unset where nobody reads them: each may cost a call.
    """

    wants_timestamps = True

    def __init__(self, config: dict[str, str]) -> None:
        self._library = library()
        self._message_type = self._library.message_type
        self._listener: RebalanceListener | None = None
        self._reset = _RESETS.get(config.get("auto.offset.reset", "largest"), OFFSET_INVALID)
        self._raised: BaseException | None = None
        self._is_closing = self._has_joined = False
        self._revoked: set[TopicPartition] = set()
        self._membership = Membership(config)
        self._topics: list[str] = []
        self._callbacks = RebalanceCallback(self._rebalance), ErrorCallback(self._note)
        configuration = new_configuration(config)
        self._library.conf_set_rebalance_cb(configuration, self._callbacks[0])
        self._library.conf_set_error_cb(configuration, self._callbacks[1])
        self._client: int | None = new_client(CONSUMER, configuration)
        check(self._library.poll_set_consumer(self._client))
        self._queue = self._library.queue_get_consumer(self._client)
        self._commits = self._library.queue_new(self._client)
        self._pointers = np.empty(MOST_MESSAGES, np.int64)
        self._names: dict[int, str] = {}
        self._kind = ctypes.c_int()
        self._headers = ctypes.c_void_p()

    def listen(self, listener: RebalanceListener) -> None:
        """Tell this listener of partitions that come and go; to be called before ``subscribe``."""
        self._listener = listener

    def topic_names(self, wait_ms: int = 30_000) -> list[str]:
        """Return the names of all topics the broker shows to this client."""
        metadata = ctypes.POINTER(MetadataStruct)()
        check(self._library.metadata(self._client, 1, None, ctypes.byref(metadata), wait_ms))
        try:
            found = metadata.contents
            topics = (found.topics[index] for index in range(found.topic_count))
            return [topic.name.decode() for topic in topics if topic.error == OK]
        finally:
            self._library.metadata_destroy(metadata)

    def vacate(self, topics: Iterable[str]) -> bool:
        """Remove an earlier run of this member from the group; returns False when that is to be tried again.

        To be called before the first ``subscribe``, with its topics. Takes seconds at most.
        """
        return self._membership.vacate(self._client or 0, topics)

    def subscribe(self, topics: Iterable[str]) -> None:
        """Join the group for these topics; a name that begins with ``^`` is one of librdkafka's (POSIX) patterns."""
        self._topics = list(topics)
        with partition_list([TopicPartition(topic, -1) for topic in self._topics]) as wanted:
            check(self._library.subscribe(self._client, wanted))

    def poll(self, wait_ms: int, most: int = MOST_MESSAGES) -> list[Incoming]:
        """Read up to ``most`` messages, waiting at most ``wait_ms`` for the first.

        Raises ``KafkaError`` when the consumer cannot go on, and what the listener raised.
        """
        pointers = self._pointers[: self._fetch(wait_ms, min(most, MOST_MESSAGES))]
        try:
            self._reraise()
            return self._read(pointers) if len(pointers) else []
        finally:
            for _ in map(self._library.message_destroy, pointers.tolist()):
                pass

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

    def close(self, seconds: float = 30.0) -> None:
        """Leave the group, which revokes the partitions, and free the client.

        A broker that does not answer is not waited for longer than ``seconds``; its group then forgets this member
        when the session is over.
        """
        if self._client is None:
            return
        member = member_id(self._client)
        has_left = self._membership.leave(self._client)  # the last revocation runs in here and may still commit
        self._is_closing = True
        left = self._library.queue_new(self._client)
        error = self._library.consumer_close_queue(self._client, left)
        if error:  # fatal: nothing is left to be closed in order
            self._library.error_destroy(error)
        give_up_at = time.monotonic() + seconds
        while not (error or self._library.consumer_closed(self._client)) and time.monotonic() < give_up_at:
            self._serve(left)  # ... or in here
        is_closed = self._library.consumer_closed(self._client)
        client, self._client = self._client, None
        for own in (left, self._queue, self._commits):
            self._library.queue_destroy(own)
        self._library.destroy_flags(client, 0 if is_closed else DESTROY_IMMEDIATE)
        if self._topics and not has_left and time.monotonic() < give_up_at:
            self._membership.retire(member, self._topics)
        self._reraise()

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
        try:
            if self._listener is not None:
                self._begin_at(pointer, self._listener.on_assign(list(read_list(pointer))))
        finally:
            self._assign(client, pointer)
        if self._listener is not None:
            self._listener.on_assigned()

    def _begin_at(self, pointer: Any, offsets: Mapping[TopicPartition, int]) -> None:
        """Write into an assignment where each partition begins.

        An offset that is given is not looked up by librdkafka, which would hand errors of a coordinator that moves to
        the application, and refuse to seek until it was answered.
        """
        content = pointer.contents
        for index in range(content.count):
            each = content.elements[index]
            each.offset = offsets.get(TopicPartition(each.topic.decode(), each.partition), self._reset)

    def _on_revoke(self, client: int, pointer: Any) -> None:
        partitions = list(read_list(pointer))
        self._revoked |= set(partitions)
        try:
            if self._listener is not None:
                self._listener.on_revoke(partitions, bool(self._library.assignment_lost(client)))
        finally:
            self._unassign(client, pointer)

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
        rows = messages(pointers, self._message_type)
        if self._revoked and self._is_revoked(rows[0]):
            rows, pointers = rows[1:], pointers[1:]
        if rows["error"].any():
            self._raise_errors(rows, pointers)
            good = rows["error"] == 0
            rows, pointers = rows[good], pointers[good]
        if len(rows) == 0:
            return []
        topics = np.unique(rows["topic"])
        if len(topics) == 1:
            return self._of_one_topic(rows, pointers)
        parts = [rows["topic"] == topic for topic in topics]
        return [each for part in parts for each in self._of_one_topic(rows[part], pointers[part])]

    def _of_one_topic(self, rows: Any, pointers: Any) -> list[Incoming]:
        """Return rows of a topic; its kind of timestamps may have been changed between two of them."""
        if self._message_type is not FETCHED or not self.wants_timestamps:
            return [self._incoming(rows, pointers)]
        kinds = rows["timestamp_type"]
        cuts = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
        if len(cuts) == 0:
            return [self._incoming(rows, pointers)]
        return [self._incoming(*part) for part in zip(np.split(rows, cuts), np.split(pointers, cuts))]

    def _is_revoked(self, row: Any) -> bool:
        """Return whether the first message's partition was taken away while the rest was fetched.

        librdkafka itself takes such messages out of what one call returns; its owner after this one reads it again.
        """
        return not row["error"] and (self._name(int(row["topic"])), int(row["partition"])) in self._revoked

    def _incoming(self, rows: Any, pointers: Any) -> Incoming:
        addresses = pointers.tolist()
        return Incoming(
            self._name(int(rows["topic"][0])),
            rows["partition"].astype(np.int32),
            rows["offset"],
            gather_nullable(rows["key"], rows["key_size"]),
            gather_nullable(rows["value"], rows["value_size"]),
            *self._read_timestamps(rows, addresses),
            self._read_headers(rows, addresses),
        )

    def _read_timestamps(self, rows: Any, addresses: list[int]) -> tuple[Any, int]:
        if not self.wants_timestamps:
            return None, 0
        if self._message_type is FETCHED:
            return rows["timestamp"], int(rows["timestamp_type"][0])
        self._library.message_timestamp(addresses[0], ctypes.addressof(self._kind))
        stamps = map(self._library.message_timestamp, addresses, repeat(None))
        return np.fromiter(stamps, np.int64, len(addresses)), self._kind.value

    def _read_headers(self, rows: Any, addresses: list[int]) -> dict[int, list[tuple[str, bytes | None]]]:
        where = ctypes.addressof(self._headers)
        found = {}
        for row in self._rows_with_headers(rows, addresses, where).tolist():
            check(self._library.message_headers(addresses[row], where))
            found[row] = self._header_list(self._headers.value)
        return found

    def _rows_with_headers(self, rows: Any, addresses: list[int], where: int) -> Any:
        if self._message_type is FETCHED:
            return np.flatnonzero(rows["headers_size"] > 1)  # one byte tells that there are none
        errors = map(self._library.message_headers, addresses, repeat(where))
        return np.flatnonzero(np.fromiter(errors, np.int32, len(addresses)) == 0)

    def _header_list(self, headers: int | None) -> list[tuple[str, bytes | None]]:
        name, value, size = ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
        result: list[tuple[str, bytes | None]] = []
        places = (ctypes.byref(name), ctypes.byref(value), ctypes.byref(size))
        while self._library.header_get_all(headers, len(result), *places) == 0:
            data = None if value.value is None else ctypes.string_at(value.value, size.value)
            result.append(((name.value or b"").decode("utf-8", "replace"), data))
        return result

    def _name(self, topic: int) -> str:
        name = self._names.get(topic)
        if name is None:
            name = self._names[topic] = self._library.topic_name(topic).decode()
        return name

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
