"""The messages that a client has fetched, on their way out of librdkafka."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hearth.kafka.fetched import Incoming, MessageReader
from hearth.kafka.library import ERR_FATAL, ERR_PARTITION_EOF, OK, KafkaError, library
from hearth_api import TopicPartition

CLOSE_MS = 50


class MessageQueue:
    """Takes messages of one client in large pieces, reads them as columns, and frees each, read or not.

    ``revoked`` collects the partitions that go while a piece is taken. Of these nothing is read: librdkafka takes such
    messages out of what one call returns, and a piece takes two; the owner after this one reads them again.
    """

    def __init__(self, client: int, most: int, revoked: set[TopicPartition], wants_timestamps: bool) -> None:
        self.reader = MessageReader(wants_timestamps)
        self._library = library()
        self._client = client
        self._queue = self._library.queue_get_consumer(client)
        self._pointers = np.empty(most, np.int64)
        self._revoked = revoked

    @contextmanager
    def piece(self, wait_ms: int, most: int) -> Iterator[Any]:
        """Lend the addresses of up to ``most`` messages, waiting at most ``wait_ms`` for the first."""
        pointers = self._pointers[: self._fetch(wait_ms, min(most, len(self._pointers)))]
        try:
            yield pointers
        finally:
            self._free(pointers)

    def _fetch(self, wait_ms: int, most: int) -> int:
        # librdkafka waits until all wanted messages are there, so the wait is for one, and the rest comes without.
        address = self._pointers.ctypes.data
        if self._library.consume_batch_queue(self._queue, wait_ms, address, 1) < 1:
            return 0
        self._revoked.clear()
        rest = self._library.consume_batch_queue(self._queue, 0, address + 8, most - 1) if most > 1 else 0
        return 1 + max(int(rest), 0)

    def _free(self, pointers: Any) -> None:
        for _ in map(self._library.message_destroy, pointers.tolist()):
            pass

    def read(self, pointers: Any) -> list[Incoming]:
        """Return the messages of a piece; raises ``KafkaError`` where one tells that the client cannot go on."""
        if len(pointers) == 0:
            return []
        rows = self.reader.structures(pointers)
        if self._revoked and self._is_revoked(rows[0]):
            rows, pointers = rows[1:], pointers[1:]
        if rows["error"].any():
            self._raise_errors(rows, pointers)
            good = rows["error"] == 0
            rows, pointers = rows[good], pointers[good]
        return self.reader.columns(rows, pointers)

    def _is_revoked(self, row: Any) -> bool:
        """Return whether the first message's partition was taken away while the rest was fetched."""
        topic, partition = int(row["topic"]), int(row["partition"])
        return not row["error"] and (self.reader.topic_name(topic), partition) in self._revoked

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

    def drop(self, queue: int) -> None:
        """Let callbacks run that wait in a queue of the client, and drop messages nobody wants any more."""
        address = self._pointers.ctypes.data
        count = self._library.consume_batch_queue(queue, CLOSE_MS, address, len(self._pointers))
        self._free(self._pointers[: max(int(count), 0)])

    def close(self) -> None:
        """Free the queue."""
        self._library.queue_destroy(self._queue)
