"""Fetched messages: turns librdkafka's pointers into Arrow and numpy arrays."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from hearth.kafka.c_memory import FETCHED, free_messages, gather, message_type
from hearth.kafka.c_memory import messages as structures
from hearth.kafka.header_block import headers_in
from hearth.kafka.kafka_error import KafkaError, check, fatal_error
from hearth.kafka.library import ERR_FATAL, ERR_NO_ENTITY, ERR_PARTITION_EOF, OK, library
from hearth_api import TimestampType, TopicPartition
from hearth_execution.raw_header import RawHeaders, raw_column

TIMESTAMP_TYPES = [TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME]
"""By librdkafka's numbers."""

CLOSE_MS = 50

PIECE_BYTES = 2 << 20
"""Target bytes of a piece: large enough to make its overhead small, small enough for memory."""
FIRST_MESSAGES = 1_000
"""Most messages of the first piece, when their size is unknown."""


@dataclass(frozen=True)
class Incoming:
    """Rows of one topic in the order they were read.

    ``key`` and ``value`` are Arrow ``binary`` arrays, ``partition`` int32, ``offset`` and ``timestamp`` int64 numpy
    arrays; ``timestamp_type`` is librdkafka's (0 none, without ``timestamp``; 1 create time, 2 log append time);
    ``headers`` is a raw column (see ``raw_header``), or ``None`` if no row has any.
    """

    topic: str
    partition: Any
    offset: Any
    key: Any
    value: Any
    timestamp: Any
    timestamp_type: int
    headers: Any

    def slice(self, start: int, end: int) -> Incoming:
        """Return the rows from ``start`` to ``end`` (exclusive), as far as they exist, without copying."""
        if start == 0 and end >= len(self.offset):
            return self
        rows = slice(start, end)
        return Incoming(
            self.topic,
            self.partition[rows],
            self.offset[rows],
            self.key[rows],
            self.value[rows],
            None if self.timestamp is None else self.timestamp[rows],
            self.timestamp_type,
            None if self.headers is None else self.headers[rows],
        )


class MessageReader:
    """Reads the messages of one client.

    Unset ``wants_timestamps`` if they are not read: each may cost a call.
    """

    def __init__(self, wants_timestamps: bool = True) -> None:
        self.wants_timestamps = wants_timestamps
        self._library = library()
        self._message_type = message_type(self._library)
        self._names: dict[int, str] = {}
        self._kind = ctypes.c_int()
        self._headers = ctypes.c_void_p()

    def structures(self, pointers: Any) -> Any:
        """Return the messages' own structures as rows of one numpy array."""
        return structures(pointers, self._message_type)

    def topic_name(self, topic: int) -> str:
        """Return the name of the topic that a message points to."""
        name = self._names.get(topic)
        if name is None:
            name = self._names[topic] = self._library.topic_name(topic).decode()
        return name

    def columns(self, rows: Any, pointers: Any) -> list[Incoming]:
        """Return messages without errors as columns, topic by topic."""
        if len(rows) == 0:
            return []
        owners = rows["topic"]
        if (owners == owners[0]).all():
            return self._of_one_topic(rows, pointers)
        parts = [owners == topic for topic in np.unique(owners)]
        return [each for part in parts for each in self._of_one_topic(rows[part], pointers[part])]

    def _of_one_topic(self, rows: Any, pointers: Any) -> list[Incoming]:
        """Return the rows of a topic, split where its timestamp type was changed."""
        if self._message_type is not FETCHED or not self.wants_timestamps:
            return [self._incoming(rows, pointers)]
        kinds = rows["timestamp_type"]
        cuts = np.flatnonzero(kinds[1:] != kinds[:-1]) + 1
        if len(cuts) == 0:
            return [self._incoming(rows, pointers)]
        return [self._incoming(*part) for part in zip(np.split(rows, cuts), np.split(pointers, cuts))]

    def _incoming(self, rows: Any, pointers: Any) -> Incoming:
        return Incoming(
            self.topic_name(int(rows["topic"][0])),
            rows["partition"].astype(np.int32),
            rows["offset"].copy(),
            gather(rows["key"], rows["key_size"]),
            gather(rows["value"], rows["value_size"]),
            *self._read_timestamps(rows, pointers),
            self._read_headers(rows, pointers),
        )

    def _read_timestamps(self, rows: Any, pointers: Any) -> tuple[Any, int]:
        if not self.wants_timestamps:
            return None, 0
        if self._message_type is FETCHED:
            return rows["timestamp"].copy(), int(rows["timestamp_type"][0])
        addresses = pointers.tolist()
        self._library.message_timestamp(addresses[0], ctypes.addressof(self._kind))
        stamps = map(self._library.message_timestamp, addresses, repeat(None))
        return np.fromiter(stamps, np.int64, len(addresses)), self._kind.value

    def _read_headers(self, rows: Any, pointers: Any) -> Any:
        """Return the headers of messages as a column; ask the library if their memory cannot be parsed."""
        if self._message_type is FETCHED:
            sizes = np.where(rows["headers_size"] > 1, rows["headers_size"], 0)  # one byte: no headers
            if not sizes.any():
                return None
            if (column := headers_in(rows["headers"], sizes)) is not None:
                return column
        where = ctypes.addressof(self._headers)
        found = [self._own_headers(address, where) for address in pointers.tolist()]
        return raw_column(found) if any(found) else None

    def _own_headers(self, address: int, where: int) -> RawHeaders:
        error = self._library.message_headers(address, where)
        if error == ERR_NO_ENTITY:
            return []
        check(error)
        return self._header_list(self._headers.value)

    def _header_list(self, headers: int | None) -> RawHeaders:
        name, value, size = ctypes.c_char_p(), ctypes.c_void_p(), ctypes.c_size_t()
        result: RawHeaders = []
        places = (ctypes.byref(name), ctypes.byref(value), ctypes.byref(size))
        while self._library.header_get_all(headers, len(result), *places) == 0:
            data = None if value.value is None else ctypes.string_at(value.value, size.value)
            result.append(((name.value or b"").decode("utf-8", "replace"), data))
        return result


class MessageQueue:
    """Fetches messages of one client in large pieces, reads them as columns, and frees them all.

    The number of messages per piece is estimated from the previous piece, for ``PIECE_BYTES``. ``revoked`` collects
    partitions revoked during a fetch. Their messages are not read: librdkafka removes them only from the result of a
    single call, and a piece takes two calls; the next owner reads them again.
    """

    def __init__(self, client: int, most: int, revoked: set[TopicPartition], wants_timestamps: bool) -> None:
        self.reader = MessageReader(wants_timestamps)
        self._library = library()
        self._client = client
        self._queue: int = self._library.queue_get_consumer(client)
        self._pointers = np.empty(most, np.int64)
        self._room = FIRST_MESSAGES
        self._revoked = revoked
        self._waking = threading.Lock()

    @contextmanager
    def piece(self, wait_ms: int, most: int) -> Iterator[Any]:
        """Yield the addresses of up to ``most`` messages, waiting at most ``wait_ms`` for the first."""
        pointers = self._pointers[: self._fetch(wait_ms, min(most, self._room))]
        try:
            yield pointers
        finally:
            free_messages(self._library, pointers)

    def _fetch(self, wait_ms: int, most: int) -> int:
        # librdkafka waits for all requested messages: so wait for one, and take the rest without waiting.
        address = self._pointers.ctypes.data
        if self._library.consume_batch_queue(self._queue, wait_ms, address, 1) < 1:
            return 0
        self._revoked.clear()
        rest = self._library.consume_batch_queue(self._queue, 0, address + 8, most - 1) if most > 1 else 0
        return 1 + max(int(rest), 0)

    def read(self, pointers: Any) -> list[Incoming]:
        """Return the messages of a piece; raises ``KafkaError`` if one reports that the client cannot continue."""
        if len(pointers) == 0:
            return []
        rows = self.reader.structures(pointers)
        size = int(rows["key_size"].sum() + rows["value_size"].sum())
        self._room = min(max(PIECE_BYTES * len(rows) // max(size, 1), 1), len(self._pointers))
        if self._revoked and self._is_revoked(rows[0]):
            rows, pointers = rows[1:], pointers[1:]
        if rows["error"].any():
            self._raise_errors(rows, pointers)
            good = rows["error"] == 0
            rows, pointers = rows[good], pointers[good]
        return self.reader.columns(rows, pointers)

    def _is_revoked(self, row: Any) -> bool:
        """Return whether the first message's partition was revoked while the rest was fetched."""
        topic, partition = int(row["topic"]), int(row["partition"])
        return not row["error"] and (self.reader.topic_name(topic), partition) in self._revoked

    def _raise_errors(self, rows: Any, pointers: Any) -> None:
        for number, pointer in zip(rows["error"].tolist(), pointers.tolist()):
            if number == ERR_FATAL:
                raise fatal_error(self._client, number)
            if number not in (OK, ERR_PARTITION_EOF):
                error = KafkaError(number, (self._library.message_errstr(pointer) or b"").decode() or None)
                if not error.is_passing:  # else librdkafka recovers by itself
                    raise error

    def drop(self, queue: int) -> None:
        """Run the callbacks that wait in a queue of the client, and drop its messages."""
        address = self._pointers.ctypes.data
        count = self._library.consume_batch_queue(queue, CLOSE_MS, address, len(self._pointers))
        free_messages(self._library, self._pointers[: max(int(count), 0)])

    def wake(self) -> None:
        """End the current or next wait for a piece; may be called from any thread, even after ``close``."""
        with self._waking:
            if self._queue:
                self._library.queue_yield(self._queue)

    def close(self) -> None:
        """Free the queue."""
        with self._waking:
            queue, self._queue = self._queue, 0
        self._library.queue_destroy(queue)
