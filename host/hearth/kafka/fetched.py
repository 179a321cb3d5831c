"""Columns out of fetched messages: what librdkafka hands over by pointers becomes Arrow and numpy arrays."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

from hearth.kafka.c_memory import gather_nullable
from hearth.kafka.c_memory import messages as structures
from hearth.kafka.library import FETCHED, check, library


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


class MessageReader:
    """Reads the messages of one client.

    ``wants_timestamps`` may be unset where nobody reads them: each may cost a call.
    """

    def __init__(self, wants_timestamps: bool = True) -> None:
        self.wants_timestamps = wants_timestamps
        self._library = library()
        self._message_type = self._library.message_type
        self._names: dict[int, str] = {}
        self._kind = ctypes.c_int()
        self._headers = ctypes.c_void_p()

    def structures(self, pointers: Any) -> Any:
        """Return the messages' own structures as rows of one numpy array."""
        return structures(pointers, self._message_type)

    def topic_name(self, topic: int) -> str:
        """Return the name of a topic that a message points to."""
        name = self._names.get(topic)
        if name is None:
            name = self._names[topic] = self._library.topic_name(topic).decode()
        return name

    def columns(self, rows: Any, pointers: Any) -> list[Incoming]:
        """Return messages without errors as columns, topic by topic."""
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

    def _incoming(self, rows: Any, pointers: Any) -> Incoming:
        addresses = pointers.tolist()
        return Incoming(
            self.topic_name(int(rows["topic"][0])),
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
