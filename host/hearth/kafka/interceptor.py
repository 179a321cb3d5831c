"""An interceptor that writes a timestamp of 0, which librdkafka's functions replace by the clock.

A row with timestamp 0 is sent with a placeholder (``ZERO``). librdkafka passes the message to the interceptor, which
writes the 0. It runs for each message, so only producers that need it have it.
"""

from __future__ import annotations

import ctypes
from typing import Any

from hearth.kafka.c_memory import FETCHED, message_type
from hearth.kafka.kafka_error import check
from hearth.kafka.library import SendCallback, StartCallback, library

ZERO = -(1 << 63)
"""Placeholder for timestamp 0."""

_NAME = b"hearth"
_fields: Any = FETCHED.fields
_PLACE: int = _fields["timestamp"][1]


def can_write_zero() -> bool:
    """Return whether the place of the timestamp in a message is known for this version of librdkafka."""
    return message_type(library()) is FETCHED


def write_zero(configuration: int) -> None:
    """Add the interceptor to a producer's configuration."""
    check(library().conf_interceptor_add_on_new(configuration, _NAME, _ON_NEW, None))


def _on_send(_client: int, message: int, _opaque: Any) -> int:
    timestamp = ctypes.c_int64.from_address(message + _PLACE)
    if timestamp.value == ZERO:
        timestamp.value = 0
    return 0


def _on_new(client: int, _configuration: Any, _opaque: Any, _text: Any, _size: int) -> int:
    return int(library().interceptor_add_on_send(client, _NAME, _ON_SEND, None))


_ON_SEND, _ON_NEW = SendCallback(_on_send), StartCallback(_on_new)
