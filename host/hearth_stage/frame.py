"""Frames: how messages and record batches are sent between a runtime and a stage.

A frame is ``u32 length | u32 header length | header | bodies``, little endian. The header is a JSON object in UTF-8;
its member ``batches`` lists the byte length of each body, and each body is an Arrow IPC stream with one record batch.
``PROTOCOL.md`` in this directory is the specification.
"""

from __future__ import annotations

import json
import socket
import struct
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, NoReturn

from hearth_api.batch import Batch
from hearth_api.batch import arrow as pa
from hearth_api.java import offset_to_json

PROTOCOL_VERSION = 5
MAX_FRAME = 1 << 31
BUFFER_BYTES = 4 << 20

_PREFIX = struct.Struct("<II")
_MESSAGE = b"\xff" * 4
"""First bytes of a message of an Arrow IPC stream; the length of its metadata follows."""
_END = _MESSAGE + bytes(4)
"""Last bytes of such a stream."""
_FEW_BYTES = 1 << 16
"""Up to this size it is faster to copy a batch than to write it column by column."""
_KINDS = 1000
"""Number of kinds of batches to cache."""
_MOST_PARTS = 1024
"""Most parts that one system call accepts (``IOV_MAX`` of Linux)."""


@dataclass(frozen=True)
class Frame:
    """One message: a JSON header and its record batches."""

    header: dict[str, Any]
    bodies: tuple[memoryview, ...] = field(default=())
    is_trusted: bool = field(default=True, compare=False)

    @property
    def batches(self) -> list[Batch]:
        """Return the record batches, read in place without copying.

        Batches of a writer that is not trusted are validated first, because wrong offsets would crash this process;
        raises ``ValueError``.
        """
        return [_decode(body, self.is_trusted) for body in self.bodies]


def widen(sock: socket.socket) -> None:
    """Request kernel buffers that hold a whole batch, so that neither side waits for the other."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)


def write_frame(sock: socket.socket, header: dict[str, Any], batches: Sequence[Batch] = ()) -> None:
    """Write one frame; the caller holds the socket's lock. Raises ``ValueError`` before the first byte.

    Columns are sent without being copied: joining them to one body first would cost more than the system call.
    """
    bodies = [_encode(batch) for batch in batches]
    if bodies:
        header = {**header, "batches": [body.size for body in bodies]}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    length = 4 + len(text) + sum(body.size for body in bodies)
    if length >= MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes is longer than the protocol's {MAX_FRAME}")
    begin = _PREFIX.pack(length, len(text)) + text
    if bodies:
        _send(sock, [begin, *(part for body in bodies for part in body.parts)])
    else:
        sock.sendall(begin)  # TLS sockets lack sendmsg


def read_frame(sock: socket.socket, limit: int = MAX_FRAME, is_trusted: bool = True) -> Frame | None:
    """Read one frame, or ``None`` if the other side closed the connection between two frames.

    Raises ``EOFError`` if the stream ends inside a frame, ``ValueError`` if it is malformed or not shorter than
    ``limit``.
    """
    prefix = bytearray(_PREFIX.size)
    if (begun := sock.recv_into(prefix)) == 0:
        return None
    _fill(sock, prefix, begun)
    length, header_length = _PREFIX.unpack(prefix)
    if length < 4 or header_length > length - 4:
        raise ValueError(f"not a frame: length {length}, header length {header_length}")
    if length >= limit:
        raise ValueError(f"a frame of {length} bytes exceeds the limit of {limit}")
    header = _decode_header(str(_grown(sock, b"", header_length), "utf-8"))
    if not isinstance(header, dict):
        raise ValueError(f"not a frame: the header is {type(header).__name__}, not an object")
    content = _read(sock, length - 4 - header_length)
    return Frame(header, _bodies(content, header.pop("batches", [])), is_trusted)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"not a frame: {constant} is not JSON")


_decode_header = json.JSONDecoder(parse_constant=_refuse).decode


def _bodies(content: memoryview, lengths: Any) -> tuple[memoryview, ...]:
    if not isinstance(lengths, list) or not all(type(length) is int and length >= 0 for length in lengths):
        raise ValueError("not a frame: the lengths of its bodies are not a list of numbers")
    if sum(lengths) != len(content):
        raise ValueError(f"not a frame: {len(lengths)} bodies of {sum(lengths)} bytes do not match its length")
    ends = accumulate(lengths)
    return tuple(content[end - length : end] for length, end in zip(lengths, ends))


def _read(sock: socket.socket, size: int) -> memoryview:
    """Read ``size`` bytes into memory that is not zeroed first; its pages are allocated as they arrive.

    The announced size may exceed this process's memory, and the other side may send less.
    """
    try:
        begun = sock.recv(size, socket.MSG_WAITALL) if size else b""
    except MemoryError:
        begun = b""
    return memoryview(begun if len(begun) == size else _grown(sock, begun, size))


def _grown(sock: socket.socket, begun: bytes, size: int) -> bytearray:
    """Read the rest of ``size`` bytes; memory grows as they arrive, whatever size was announced."""
    content = bytearray(begun)
    while (done := len(content)) < size:
        content.extend(bytes(min(done or BUFFER_BYTES, size - done)))
        _fill(sock, content, done)
    return content


def _fill(sock: socket.socket, content: bytearray, done: int) -> None:
    with memoryview(content) as view:
        while done < len(view):
            count = sock.recv_into(view[done:])
            if count == 0:
                raise EOFError("the other side closed the connection inside a frame")
            done += count


class _Body:
    """Collects what Arrow writes of a batch in parts; columns are references, not copies."""

    closed = False

    def __init__(self) -> None:
        self.parts: list[memoryview] = []
        self.size = 0

    def write(self, part: Any) -> None:
        """Add bytes or a buffer."""
        self.parts.append(view := memoryview(part))
        self.size += view.nbytes

    def flush(self) -> None:
        """Do nothing: there is no buffer."""


def _encode(batch: Batch) -> _Body:
    body = _Body()
    if pa.ipc.get_record_batch_size(batch.data) <= _FEW_BYTES and (opening := _opening(batch)):
        body.write(b"".join((opening, batch.data.serialize(), _END)))
        return body
    data = batch.to_arrow()
    with pa.ipc.new_stream(pa.PythonFile(body, "w"), data.schema) as writer:
        writer.write_batch(data)
    return body


def _opening(batch: Batch) -> bytes:
    """Return the first message of the batch's IPC stream, usually cached from an earlier batch.

    It is empty for columns that need further messages first, such as the values of a dictionary.
    """
    partition = batch.source_partition
    known = _openings(
        batch.topic, batch.key_schema, batch.value_schema, None if partition is None else offset_to_json(partition),
        batch.timestamp_type, batch.original_topic,
    )  # fmt: skip
    columns = batch.data.schema
    for own, opening in known:
        if own.equals(columns):
            return opening
    is_whole = not any(word in str(columns) for word in ("dictionary<", "extension<"))
    opening = batch.to_arrow().schema.serialize().to_pybytes() if is_whole else b""
    known.append((columns, opening))
    return opening


@lru_cache(maxsize=_KINDS)
def _openings(*attributes: Any) -> deque[tuple[Any, bytes]]:
    """Return the cached first messages of batches with these attributes, by columns."""
    return deque(maxlen=4)


def _send(sock: socket.socket, parts: Iterable[bytes | memoryview]) -> None:
    """Write all parts in order."""
    waiting = deque(memoryview(part) for part in parts)
    while waiting:
        sent = sock.sendmsg(islice(waiting, _MOST_PARTS))
        while waiting and sent >= waiting[0].nbytes:
            sent -= waiting.popleft().nbytes
        if sent:
            waiting[0] = waiting[0][sent:]


def _decode(body: memoryview, is_trusted: bool) -> Batch:
    if is_trusted:
        return Batch.from_arrow(_columns(body))
    try:
        data = _columns(body)
        data.validate(full=True)
        _ = data.schema.names  # also checks names as text, which `validate` does not
        return Batch.from_arrow(data)
    except Exception as error:  # Arrow and the metadata readers raise many kinds of errors
        raise ValueError(f"not a batch: {type(error).__name__}: {error}") from error


def _columns(body: memoryview) -> Any:
    """Read the record batch of an IPC stream, whose schema is usually cached."""
    end = 8 + int.from_bytes(body[4:8], "little")
    if body[:4] == _MESSAGE and end <= min(_FEW_BYTES, len(body)):
        message = pa.ipc.read_message(pa.py_buffer(body[end:]))
        if message.type == "record batch":
            return pa.ipc.read_record_batch(message, _schema(bytes(body[:end])))
    with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
        return reader.read_next_batch()


@lru_cache(maxsize=_KINDS)
def _schema(opening: bytes) -> Any:
    return pa.ipc.read_schema(pa.py_buffer(opening))
