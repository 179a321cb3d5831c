"""Frames: how messages and record batches travel between a runtime and a stage.

A frame is ``u32 length | u32 header length | header | bodies``, little endian. The header is a JSON object in
UTF-8; its member ``batches`` lists the byte length of each body, and each body is one Arrow IPC stream that
holds one record batch. ``PROTOCOL.md`` beside this file is the specification.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from hearth_api.batch import Batch
from hearth_api.batch import arrow as pa

PROTOCOL_VERSION = 4
MAX_FRAME = 1 << 31
BUFFER_BYTES = 4 << 20

_PREFIX = struct.Struct("<II")


@dataclass(frozen=True)
class Frame:
    """One message: a JSON header and the record batches that belong to it."""

    header: dict[str, Any]
    bodies: tuple[memoryview, ...] = field(default=())
    is_trusted: bool = field(default=True, compare=False)

    @property
    def batches(self) -> list[Batch]:
        """Return the record batches, read in place: nothing is copied.

        Those of a writer that is not trusted are checked first, because offsets that point elsewhere would end the
        process that follows them; raises ``ValueError``.
        """
        return [_decode(body, self.is_trusted) for body in self.bodies]


def widen(sock: socket.socket) -> None:
    """Ask the kernel for buffers that hold a whole batch, so that neither side waits for the other."""
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        sock.setsockopt(socket.SOL_SOCKET, option, BUFFER_BYTES)


def write_frame(sock: socket.socket, header: dict[str, Any], batches: Sequence[Batch] = ()) -> None:
    """Write one frame; the caller holds the lock of the socket. Raises ``ValueError`` before the first byte."""
    bodies = [_encode(batch) for batch in batches]
    if bodies:
        header = {**header, "batches": [len(body) for body in bodies]}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode()
    length = 4 + len(text) + sum(map(len, bodies))
    if length >= MAX_FRAME:
        raise ValueError(f"a frame of {length} bytes is longer than the protocol's {MAX_FRAME}")
    sock.sendall(_PREFIX.pack(length, len(text)) + text)
    for body in bodies:
        sock.sendall(body)


def read_frame(sock: socket.socket, limit: int = MAX_FRAME, is_trusted: bool = True) -> Frame | None:
    """Read one frame, or ``None`` when the other side closed its end between two frames.

    Raises ``EOFError`` when the stream ends inside a frame, ``ValueError`` when it is no frame or not shorter than
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
        raise ValueError(f"a frame of {length} bytes, fewer than {limit} are taken")
    content = _read(sock, length - 4)
    header = _decode_header(str(content[:header_length], "utf-8"))
    if not isinstance(header, dict):
        raise ValueError(f"not a frame: the header is {type(header).__name__}, not an object")
    return Frame(header, _bodies(content, header_length, header.pop("batches", [])), is_trusted)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"not a frame: {constant} is no JSON")


_decode_header = json.JSONDecoder(parse_constant=_refuse).decode


def _bodies(content: memoryview, start: int, lengths: Any) -> tuple[memoryview, ...]:
    if not isinstance(lengths, list) or not all(type(length) is int and length >= 0 for length in lengths):
        raise ValueError("not a frame: the lengths of its bodies are no list of numbers")
    if start + sum(lengths) != len(content):
        raise ValueError(f"not a frame: {len(lengths)} bodies of {sum(lengths)} bytes do not fill it")
    bodies = []
    for length in lengths:
        bodies.append(content[start : start + length])
        start += length
    return tuple(bodies)


def _read(sock: socket.socket, size: int) -> memoryview:
    """Read so many bytes; memory is taken as they arrive, whatever the other side has announced."""
    content = bytearray(min(size, BUFFER_BYTES))
    done = 0
    while True:
        _fill(sock, content, done)
        if (done := len(content)) == size:
            return memoryview(content)
        content.extend(bytes(min(done, size - done)))


def _fill(sock: socket.socket, content: bytearray, done: int) -> None:
    with memoryview(content) as view:
        while done < len(view):
            count = sock.recv_into(view[done:])
            if count == 0:
                raise EOFError("the other side closed the connection inside a frame")
            done += count


def _encode(batch: Batch) -> Any:
    data = batch.to_arrow()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_batch(data)
    return memoryview(sink.getvalue())


def _decode(body: memoryview, is_trusted: bool) -> Batch:
    if is_trusted:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            return Batch.from_arrow(reader.read_next_batch())
    try:
        with pa.ipc.open_stream(pa.py_buffer(body)) as reader:
            data = reader.read_next_batch()
        data.validate(full=True)
        _ = data.schema.names  # text as well, which `validate` leaves out
        return Batch.from_arrow(data)
    except Exception as error:  # Arrow and what reads the metadata raise errors of many kinds
        raise ValueError(f"not a batch: {type(error).__name__}: {error}") from error
