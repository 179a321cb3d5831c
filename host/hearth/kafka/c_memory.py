"""Turns addresses into columns: copies many pieces of C memory into one Arrow column, without a Python loop.

The structures of librdkafka in that memory are declared here, apart from the functions in ``library``: a host without
records needs only the functions, and need not load numpy.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pyarrow as pa

from hearth.kafka.library import Library
from hearth_api.layout import address_of

try:
    from hearth.kafka.memory_loops import copy_pieces
except ImportError:  # not compiled, see hatch_build
    copy_pieces = None  # type: ignore[assignment]

IS_COMPILED = copy_pieces is not None

MESSAGE = np.dtype(
    [
        ("error", "i4"),
        ("_error", "i4"),
        ("topic", "i8"),
        ("partition", "i4"),
        ("_partition", "i4"),
        ("value", "i8"),
        ("value_size", "i8"),
        ("key", "i8"),
        ("key_size", "i8"),
        ("offset", "i8"),
        ("opaque", "i8"),
    ]
)
"""``rd_kafka_message_t`` on a 64-bit platform."""

FETCHED = np.dtype(
    [
        *((name, MESSAGE[name]) for name in MESSAGE.names or ()),
        ("_link", "V16"),
        ("_flags", "i4"),
        ("timestamp_type", "i4"),
        ("timestamp", "i8"),
        ("parsed_headers", "i8"),
        ("_status", "i8"),
        ("headers_size", "i4"),
        ("_rest", "V4"),
        ("headers", "i8"),
    ]
)
"""``rd_kafka_msg_t``, which starts with the message; it is private to librdkafka, so valid for known versions only."""

_KNOWN_FETCHED = (0x021000FF,)
"""librdkafka versions for which the private structures are known.

``FETCHED`` was compared with the public functions (0006); the list of messages (``rd_kafka_messages_t``) is a count
and their addresses (0056).
"""


def gather(addresses: Any, sizes: Any) -> Any:
    """Copy the pieces at ``addresses`` into a ``binary`` array, in order; address 0 becomes null.

    Raises ``ArrowInvalid`` for more bytes than such an array holds.
    """
    addresses, sizes, count = contiguous(addresses), contiguous(sizes), len(addresses)
    size = int(sizes.sum())
    if size > np.iinfo(np.int32).max:
        raise pa.ArrowInvalid(f"{count} pieces have {size} bytes, more than a binary array holds")
    if not IS_COMPILED:
        pairs = zip(addresses.tolist(), sizes.tolist())
        return pa.array([ctypes.string_at(*pair) if pair[0] else None for pair in pairs], pa.binary())
    ends, content = np.zeros(count + 1, np.int32), pa.allocate_buffer(size)
    absent = copy_pieces(address_of(addresses), address_of(sizes), count, address_of(ends) + 4, content.address)
    valid = pa.array(addresses != 0).buffers()[1] if absent else None
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(ends), content], absent)


def contiguous(numbers: Any) -> Any:
    """Return numbers as a contiguous int64 array, as compiled loops read them."""
    return np.ascontiguousarray(numbers, np.int64)


def message_type(library: Library) -> Any:
    """Return the numpy type of a fetched message: ``FETCHED`` for a known version, else ``MESSAGE``."""
    return FETCHED if library.version() in _KNOWN_FETCHED else MESSAGE


def free_messages(library: Library, pointers: Any) -> None:
    """Free fetched messages, in one call if this version's list of them is known."""
    if library.version() not in _KNOWN_FETCHED:
        for _ in map(library.message_destroy, pointers.tolist()):
            pass
    elif len(pointers):
        library.messages_destroy(message_list(library, pointers))


def message_list(library: Library, pointers: Any) -> int:
    """Return the address of a list of messages (``rd_kafka_messages_t``) in memory that librdkafka frees."""
    content = np.concatenate(([len(pointers)], pointers))
    address: int = library.mem_malloc(None, content.nbytes)
    ctypes.memmove(address, content.ctypes.data, content.nbytes)
    return address


def messages(pointers: Any, type_: Any = MESSAGE) -> Any:
    """Copy the ``rd_kafka_message_t`` structures at ``pointers`` into one numpy array of a structured type."""
    if len(pointers) == 0:
        return np.empty(0, type_)
    base, size = int(pointers.min()), type_.itemsize
    reach = int(pointers.max()) - base + 1
    memory = pa.foreign_buffer(base, reach + size - 1)
    windows: Any = np.ndarray((reach,), f"V{size}", memory, strides=(1,))
    return windows[pointers - base].view(type_)


def locate(column: Any) -> tuple[Any, Any]:
    """Return the address and size of every element of a ``binary`` or ``string`` array; null has address 0."""
    count, shift = len(column), column.offset
    _, offsets_buffer, data = column.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int32, count=count + 1, offset=4 * shift).astype(np.int64)
    base = data.address if data is not None else offsets_buffer.address
    addresses = base + offsets[:-1]
    sizes = np.diff(offsets)
    if column.null_count:
        missing = column.is_null().to_numpy(zero_copy_only=False)
        addresses = np.where(missing, 0, addresses)
        sizes = np.where(missing, 0, sizes)
    return addresses, sizes


def content_size(column: Any) -> int:
    """Return the number of bytes in the elements of a ``binary`` or ``string`` array."""
    if len(column) == 0:
        return 0
    first, count = column.offset, len(column)
    offsets = np.frombuffer(column.buffers()[1], np.int32, count=count + 1, offset=4 * first)
    return int(offsets[-1] - offsets[0])
