"""An interceptor for what librdkafka's functions cannot say: a timestamp of 0, which is their word for the clock.

A row that begins with 1970 is handed over with a timestamp nobody has, and librdkafka shows the message it made to the
interceptor, which puts the 0 in its place. It runs for each message, so only a producer that needs it has it.
"""

from __future__ import annotations

import ctypes
from typing import Any

from hearth.kafka.c_memory import FETCHED, message_type
from hearth.kafka.kafka_error import check
from hearth.kafka.library import SendCallback, StartCallback, library

ZERO = -(1 << 63)
"""What stands for 0 on its way through librdkafka."""

_NAME = b"hearth"
_fields: Any = FETCHED.fields
_PLACE: int = _fields["timestamp"][1]


def can_write_zero() -> bool:
    """Return whether it is known where this version of librdkafka keeps a message's timestamp."""
    return message_type(library()) is FETCHED


def write_zero(configuration: int) -> None:
    """Have a producer that is made with this configuration write 0 for ``ZERO``."""
    check(library().conf_interceptor_add_on_new(configuration, _NAME, _ON_NEW, None))


def _on_send(_client: int, message: int, _opaque: Any) -> int:
    timestamp = ctypes.c_int64.from_address(message + _PLACE)
    if timestamp.value == ZERO:
        timestamp.value = 0
    return 0


def _on_new(client: int, _configuration: Any, _opaque: Any, _text: Any, _size: int) -> int:
    return int(library().interceptor_add_on_send(client, _NAME, _ON_SEND, None))


_ON_SEND, _ON_NEW = SendCallback(_on_send), StartCallback(_on_new)
