"""Frames: their bytes are a protocol, so a golden file pins them."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hearth_api import STRING_SCHEMA, TimestampType
from hearth_api.batch import Batch, batch_to_source_records
from hearth_stage.frame import BUFFER_BYTES, MAX_FRAME, Frame, read_frame, widen, write_frame

GOLDEN = Path(__file__).with_name("frame.golden.hex")
Pair = tuple[socket.socket, socket.socket]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Provide two connected sockets."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        widen(ours)
        widen(theirs)
        yield ours, theirs


def golden() -> dict[str, bytes]:
    """Return the golden frames by name: lines of hex below a line ``# name``."""
    frames: dict[str, bytes] = {}
    for part in GOLDEN.read_text(encoding="ascii").split("# ")[1:]:
        name, _, text = part.partition("\n")
        frames[name] = bytes.fromhex(text)
    return frames


def written(header: dict[str, Any], *batches: Batch) -> bytes:
    """Return the bytes of a frame."""
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            widen(ours)
            write_frame(ours, header, batches)
        return b"".join(iter(lambda: theirs.recv(1 << 20), b""))


def read(data: bytes) -> Frame | None:
    """Read the first frame of these bytes."""
    ours, theirs = socket.socketpair()
    with theirs:
        with ours:
            widen(ours)
            ours.sendall(data)
        return read_frame(theirs)


def sample(*values: str | None) -> Batch:
    """Return a batch as a source polls it."""
    columns = {
        "value": pa.array(values, pa.string()),
        "source_offset": pa.array([f'{{"position":{index}}}' for index in range(len(values))]),
    }
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return Batch("t", None, STRING_SCHEMA, data, {"file": "f"}, TimestampType.NO_TIMESTAMP_TYPE)


def test_frames_without_bodies_are_the_golden_bytes() -> None:
    """Header text and lengths are written exactly as pinned."""
    frames = golden()
    assert written({"id": 1, "op": "ping", "args": {}}) == frames["call"]
    assert written({"op": "source.credit", "args": {"count": 2}}) == frames["notice"]
    assert written({"re": 1, "args": {"version": "1.0"}}) == frames["reply"]


def test_golden_frame_with_a_batch_is_read() -> None:
    """A frame that an earlier release or another language wrote gives the same batch."""
    frame = read(golden()["batch"])
    assert frame is not None
    assert frame.header == {"op": "source.batches", "args": {"groups": [{"polled": 1}]}}
    (batch,) = frame.batches
    expected = sample("a", None, "")
    assert batch.data.to_pydict() == expected.data.to_pydict()
    assert (batch.topic, batch.value_schema, batch.source_partition) == ("t", STRING_SCHEMA, {"file": "f"})


def test_a_frame_of_another_language_is_read() -> None:
    """Arrow and Jackson in Java wrote it, with the program in this directory: common attributes are JSON text."""
    frame = read(golden()["java"])
    assert frame is not None
    assert frame.header == {"op": "source.batches", "args": {"groups": [{"polled": 1}]}}
    (batch,) = replace(frame, is_trusted=False).batches
    assert (batch.topic, batch.key_schema, batch.timestamp_type) == ("t", None, TimestampType.CREATE_TIME)
    assert batch.source_partition is not None
    assert list(batch.source_partition.items()) == [("table", "b"), ("server", 1)]  # the stored key has this order
    records = batch_to_source_records(batch)
    assert [(record.value.get("id"), record.value.get("tags")) for record in records] == [
        (2**63 - 1, {"a": 1, "ü": None}), (2**63 - 2, {}), (2**63 - 3, None)
    ]  # fmt: skip
    assert [record.source_offset for record in records] == [{"position": 2**63 - 1 - row} for row in range(3)]


def test_common_attributes_are_written_as_specified() -> None:
    """Schemas and the source partition are JSON text themselves, so that a reader need not format them again."""
    common = json.loads(sample("a").to_arrow().schema.metadata[b"hearth"])
    assert common["source_partition"] == '{"file":"f"}'
    assert json.loads(common["value_schema"]) == {"type": "string", "optional": False}


def test_nan_is_not_written(pair: Pair) -> None:
    """JSON has no NaN; the sender gets an error, and the connection stays usable."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_frame(pair[0], {"op": "x", "args": {"it": float("nan")}})
    write_frame(pair[0], {"op": "x", "args": {"it": -(2**70)}})
    assert read_frame(pair[1]) == Frame({"op": "x", "args": {"it": -(2**70)}})


@pytest.mark.parametrize("partition", ["{}}", '{"a":NaN}', {"a": 1}])
def test_source_partition_is_json_text(partition: Any) -> None:
    """Invalid JSON, and what only Python would read, is rejected with the whole batch."""
    common = {**json.loads(sample("a").to_arrow().schema.metadata[b"hearth"]), "source_partition": partition}
    data = sample("a").data.replace_schema_metadata({"hearth": json.dumps(common)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, data.schema) as writer:
        writer.write_batch(data)
    with pytest.raises(ValueError, match="not a batch"):
        _ = Frame({}, (memoryview(sink.getvalue()),), is_trusted=False).batches


def test_map_with_a_null_key_is_rejected(pair: Pair) -> None:
    """Arrow rejects it before it is used; this one is encoded as a list labeled as a map."""
    pairs = pa.struct([("key", pa.string()), ("value", pa.int64())])
    as_list = written({}, Batch("t", None, None, one("value", pa.list_(pairs), [[{"key": None, "value": 1}]])))
    as_map = written({}, Batch("t", None, None, one("value", pa.map_(pa.string(), pa.int64()), [[("k", 1)]])))
    (schema, *_), (_, rows) = messages(as_map), messages(as_list)
    body = schema + rows + b"\xff\xff\xff\xff\0\0\0\0"
    with pytest.raises(ValueError, match="not a batch: ArrowInvalid: Map array keys array should have no nulls"):
        _ = Frame({}, (memoryview(body),), is_trusted=False).batches


def one(name: str, type_: pa.DataType, values: list[Any]) -> pa.RecordBatch:
    """Return one column."""
    return pa.RecordBatch.from_arrays([pa.array(values, type_)], names=[name])


def messages(data: bytes) -> list[bytes]:
    """Return the messages of a frame's only body: its schema and its rows."""
    frame = read(data)
    assert frame is not None
    return [each.serialize().to_pybytes() for each in pa.ipc.MessageReader.open_stream(frame.bodies[0])]


def test_frame_with_batches_is_laid_out_as_the_golden_one() -> None:
    """Prefix, header and bodies are where the specification puts them; only Arrow's own bytes may change."""
    data = written({"op": "source.batches", "args": {"groups": [{"polled": 1}]}}, sample("a", None, ""))
    length, header_length = struct.unpack("<II", data[:8])
    header = json.loads(data[8 : 8 + header_length])
    assert length == len(data) - 4
    assert header["batches"] == [len(data) - 8 - header_length]
    body = data[8 + header_length :]
    with pa.ipc.open_stream(body) as stream:
        assert [batch.num_rows for batch in stream] == [3]


def test_header_is_utf8_text(pair: Pair) -> None:
    """A header holds text of any language."""
    write_frame(pair[0], {"op": "x", "args": {"text": "Grüße, 世界"}})
    frame = read_frame(pair[1])
    assert frame is not None
    assert frame.header["args"] == {"text": "Grüße, 世界"}
    assert frame.bodies == ()


def test_many_batches_keep_their_order(pair: Pair) -> None:
    """Bodies keep the order of the batches, including an empty one."""
    write_frame(pair[0], {"re": 1, "args": {}}, [sample("a"), sample(), sample("b", "c")])
    frame = read_frame(pair[1])
    assert frame is not None
    assert [batch.column("value").to_pylist() for batch in frame.batches] == [["a"], [], ["b", "c"]]


def test_batches_are_read_in_place(pair: Pair) -> None:
    """Columns refer to the memory into which the frame was received: nothing is copied."""
    write_frame(pair[0], {"re": 1, "args": {}}, [sample("a" * 1000)])
    frame = read_frame(pair[1])
    assert frame is not None
    received = pa.py_buffer(frame.bodies[0])
    address = frame.batches[0].column("value").buffers()[2].address
    assert received.address <= address < received.address + received.size


class Trickle:
    """A socket that accepts a limited number of bytes per call."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.parts: list[memoryview] = []

    def sendmsg(self, parts: Iterable[memoryview]) -> int:
        """Accept the first bytes, and return their number."""
        left = self._most
        for part in parts:
            self.parts.append(part[:left])
            left -= len(self.parts[-1])
        return self._most - left


@pytest.mark.parametrize("most", [1, 7, 1 << 20])
def test_frame_is_complete_with_partial_writes(most: int) -> None:
    """The next system calls send the rest, and nothing twice."""
    taken = Trickle(most)
    header: dict[str, Any] = {"op": "x", "args": {}}
    batches = [sample("a", None, "bc"), sample()]
    write_frame(taken, header, batches)  # type: ignore[arg-type]
    assert b"".join(taken.parts) == written(header, *batches)


def test_columns_are_sent_without_copying() -> None:
    """They are not copied unless they are small."""
    taken, batch = Trickle(1 << 20), sample("a" * (1 << 17))
    write_frame(taken, {}, [batch])  # type: ignore[arg-type]
    address = batch.column("value").buffers()[2].address
    assert address in [pa.py_buffer(part).address for part in taken.parts]


def test_frame_may_have_more_parts_than_a_system_call_accepts(pair: Pair) -> None:
    """A batch of many columns does."""
    names = [str(number) for number in range(1500)]
    data = pa.RecordBatch.from_arrays([pa.array([number]) for number in range(1500)], names=names)
    write_frame(pair[0], {}, [Batch("t", None, None, data)])
    frame = read_frame(pair[1])
    assert frame is not None
    assert frame.batches[0].data.to_pydict() == {name: [int(name)] for name in names}


def test_end_between_frames_is_the_end(pair: Pair) -> None:
    """A connection that closes between two frames has ended properly."""
    write_frame(pair[0], {"re": 1, "args": {}})
    pair[0].close()
    assert read_frame(pair[1]) is not None
    assert read_frame(pair[1]) is None


@pytest.mark.parametrize("name", ["call", "batch"])
def test_end_inside_a_frame_is_an_error(name: str) -> None:
    """A truncated frame is never taken for a whole one."""
    whole = golden()[name]
    for cut in range(1, len(whole)):
        with pytest.raises(EOFError):
            read(whole[:cut])


NO_FRAMES = {
    "shorter than its own prefix": struct.pack("<II", 3, 0) + b" " * 8,
    "longer than allowed": struct.pack("<II", MAX_FRAME, 2) + b"{}",
    "header longer than the frame": struct.pack("<II", 6, 3) + b"{}",
    "header no JSON": struct.pack("<II", 6, 2) + b"{[",
    "header no UTF-8": struct.pack("<II", 6, 2) + b"\xff\xff",
    "header no object": struct.pack("<II", 6, 2) + b"[]",
    "header in UTF-16": struct.pack("<II", 8, 4) + "{}".encode("utf-16-le"),
    "header with what is no number": struct.pack("<II", 13, 9) + b'{"a":NaN}',
    "bodies longer than the frame": struct.pack("<II", 19, 15) + b'{"batches":[9]}',
    "bodies shorter than the frame": struct.pack("<II", 20, 15) + b'{"batches":[0]}!',
    "bodies of negative length": struct.pack("<II", 23, 19) + b'{"batches":[2,-2]} ',
    "text that is no frame at all": b"GET / HTTP/1.1\r\n\r\n",
}


@pytest.mark.parametrize("name", NO_FRAMES)
def test_malformed_frame_is_an_error(name: str) -> None:
    """Malformed bytes end the connection instead of being interpreted."""
    with pytest.raises((ValueError, EOFError)):
        read(NO_FRAMES[name])


def test_too_long_frame_is_not_started(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame beyond the limit is refused before its first byte, so the connection stays usable."""
    monkeypatch.setattr("hearth_stage.frame.MAX_FRAME", 100)
    with pytest.raises(ValueError, match="longer than the protocol's 100"):
        write_frame(pair[0], {"re": 1, "args": {}}, [sample("a")])
    write_frame(pair[0], {"re": 1, "args": {}})
    assert read_frame(pair[1]) == Frame({"re": 1, "args": {}})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@given(st.lists(st.tuples(JSON, st.lists(st.none() | st.text(), max_size=3)), max_size=3))
def test_whatever_is_written_is_read(messages: list[tuple[Any, list[str | None]]]) -> None:
    """Consecutive frames are read as they were written."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        widen(ours)
        for members, values in messages:
            write_frame(ours, {"op": "x", "args": {"it": members}}, [sample(*values)])
        for members, values in messages:
            frame = read_frame(theirs)
            assert frame is not None
            assert frame.header["args"] == {"it": members}
            assert frame.batches[0].column("value").to_pylist() == values


@pytest.mark.parametrize("lengths", ['"ab"', "[0.5]", "[true]", "null", "{}"])
def test_lengths_of_bodies_are_a_list_of_numbers(lengths: str) -> None:
    """Anything else is malformed."""
    text = f'{{"batches":{lengths}}}'.encode()
    with pytest.raises(ValueError, match="not a list of numbers"):
        read(struct.pack("<II", 4 + len(text), len(text)) + text)


def test_frame_beyond_the_readers_limit_is_refused_before_it_is_read(pair: Pair) -> None:
    """The reader reports the announced length and its limit."""
    pair[0].sendall(struct.pack("<II", 1000, 2))
    with pytest.raises(ValueError, match="a frame of 1000 bytes exceeds the limit of 1000"):
        read_frame(pair[1], 1000)


LYING = """
import resource, socket, struct, sys
from hearth_stage.frame import MAX_FRAME, read_frame
ours, theirs = socket.socketpair()
ours.sendall(struct.pack("<II", MAX_FRAME - 1, int(sys.argv[1])) + b"{}")
ours.close()
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (64 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    read_frame(theirs)
except EOFError:
    print("broken off")
"""


@pytest.mark.parametrize("header_length", [2, MAX_FRAME - 10])
def test_announced_length_allocates_no_memory(header_length: int) -> None:
    """A process that may allocate 64 MiB reads eight bytes that announce 2 GiB."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", LYING, str(header_length)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert (result.stdout, result.stderr) == ("broken off\n", "")


@pytest.mark.parametrize("timeout", [None, 60.0])
def test_long_frame_arrives_whole(pair: Pair, timeout: float | None) -> None:
    """In one piece or in several: growing memory keeps the bytes read so far."""
    pair[1].settimeout(timeout)
    values = [str(number) * 2000 for number in range(3000)]
    thread = threading.Thread(target=write_frame, args=(pair[0], {"re": 1, "args": {}}, [sample(*values)]))
    thread.start()
    frame = read_frame(pair[1])
    thread.join()
    assert frame is not None
    assert len(frame.bodies[0]) > 2 * BUFFER_BYTES
    assert frame.batches[0].column("value").to_pylist() == values


def lying(column: str) -> Batch:
    """Return a batch with a column of invalid content."""
    good = sample("a", "b")
    bad = {
        "offsets": pa.Array.from_buffers(
            pa.string(), 2, [None, pa.py_buffer(struct.pack("<3i", 0, 1 << 30, 2)), pa.py_buffer(b"ab")]
        ),
        "text": pa.Array.from_buffers(
            pa.string(), 2, [None, pa.py_buffer(struct.pack("<3i", 0, 1, 2)), pa.py_buffer(b"\xff\xff")]
        ),
    }[column]
    return Batch(good.topic, None, STRING_SCHEMA, good.data.set_column(0, "value", bad))


@pytest.mark.parametrize("column", ["offsets", "text"])
def test_columns_of_an_untrusted_writer_are_validated(pair: Pair, column: str) -> None:
    """Wrong offsets are an error instead of a crash."""
    write_frame(pair[0], {"re": 1, "args": {}}, [lying(column)])
    frame = read_frame(pair[1], is_trusted=False)
    assert frame is not None
    with pytest.raises(ValueError, match="not a batch: ArrowInvalid"):
        _ = frame.batches


FLIPS = st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from([0, 1, 0x7F, 0x80, 0xFF])), min_size=1, max_size=8)


@settings(deadline=None, max_examples=500)
@given(FLIPS)
def test_damaged_batch_is_a_batch_or_an_error(flips: list[tuple[int, int]]) -> None:
    """Never a crash: whatever passes can be read to its last cell."""
    body = bytearray(read(written({"re": 1, "args": {}}, sample("a", None, "é"))).bodies[0])  # type: ignore[union-attr]
    for place, byte in flips:
        body[place % len(body)] = byte
    try:
        (batch,) = Frame({}, (memoryview(body),), is_trusted=False).batches
    except ValueError:
        return
    for column in batch.data.columns:
        column.to_pylist()


def test_batches_of_many_kinds_are_read_as_they_were_written() -> None:
    """The first message of a stream is cached per kind, and kinds with a single difference are distinct."""
    kinds = [
        sample("a", None).replace(topic=topic, key_schema=key_schema, source_partition=partition, timestamp_type=kind)
        for topic in ("t", "u", None)
        for key_schema in (None, STRING_SCHEMA)
        for partition in ({"file": "f"}, {"a": 1, "b": 2}, {"b": 2, "a": 1}, None)
        for kind in (TimestampType.NO_TIMESTAMP_TYPE, TimestampType.CREATE_TIME)
    ]
    kinds += [each.with_columns(row=pa.array([4, 5], pa.int32())) for each in kinds]
    kinds += [sample("a" * (1 << 17)), sample()]
    for _ in range(2):
        frame = read(written({"op": "x"}, *kinds))
        assert frame is not None
        for is_trusted in (True, False):
            for batch, own in zip(replace(frame, is_trusted=is_trusted).batches, kinds, strict=True):
                assert batch.to_arrow().equals(own.to_arrow(), check_metadata=True)
                assert json.dumps(batch.source_partition) == json.dumps(own.source_partition)


def test_a_stream_of_another_writer_is_read() -> None:
    """A writer that encodes columns with a dictionary sends that before the record batch."""
    column = pa.array(["a", "b", "a"]).dictionary_encode()
    batch = sample("a", "b", "c").with_columns(other=column)
    frame = read(written({"op": "x"}, batch))
    assert frame is not None
    (found,) = replace(frame, is_trusted=False).batches
    assert found.column("other").to_pylist() == ["a", "b", "a"]
