"""The log of HDFS sinks: blocks that can be read, cut off anywhere, and names of files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_storage.sink.offset_log import CorruptLog, blocks, encoded, end_offset

NAMES = st.dictionaries(st.text(max_size=300), st.text(max_size=300), max_size=4).filter(
    lambda block: not {"BEGIN", "END"} & set(block)
)
TEMPORARY = "hdfs://h:1/topics//+tmp/t/partition=0/u_tmp.avro"
COMMITTED = "hdfs://h:1/topics/t/partition=0/t+0+0000000000+0000000002.avro"
MARK = bytes(range(16))
RECORDS = {
    "begin": bytes.fromhex("00000007 00000006") + b"\x05BEGIN\x00",
    "file": bytes.fromhex("00000070 00000031") + b"\x30" + TEMPORARY.encode() + b"\x3e" + COMMITTED.encode(),
    "mark": b"\xff\xff\xff\xff" + MARK,
    "end": bytes.fromhex("00000005 00000004") + b"\x03END\x00",
}


def log(*names: str) -> bytes:
    """Return a log as Java writes it."""
    return b"WAL\x00" + MARK + b"".join(RECORDS[name] for name in names)


@given(NAMES)
def test_a_block_is_read_as_it_was_written(block: dict[str, str]) -> None:
    """Names of any length."""
    assert list(blocks(encoded(block))) == [block]


def test_a_log_has_the_bytes_of_java() -> None:
    """But for its mark, which is random."""
    written = encoded({TEMPORARY: COMMITTED})
    assert written[:4] + MARK + written[20:] == log("begin", "file", "end")


@pytest.mark.parametrize(
    ("records", "complete"),
    [
        ("", []),
        ("begin file", []),
        ("begin end", [{}]),
        ("begin file mark end begin", [{TEMPORARY: COMMITTED}]),
        ("begin file begin end", [{}]),
        ("file end begin file end", [{TEMPORARY: COMMITTED}]),
    ],
)
def test_only_what_is_between_begin_and_end_counts(records: str, complete: list[dict[str, str]]) -> None:
    """Marks stand anywhere between records."""
    assert list(blocks(log(*records.split()))) == complete


@given(st.integers(0, len(log("begin", "file", "end", "begin", "file", "mark", "end"))))
def test_a_log_that_is_cut_off_keeps_its_complete_blocks(size: int) -> None:
    """The end of it is empty, or is refused."""
    whole = log("begin", "file", "end", "begin", "file", "mark", "end")
    found: list[dict[str, str]] = []
    try:
        found.extend(blocks(whole[:size]))
    except CorruptLog:
        assert size >= 4
    complete = (size >= len(log("begin", "file", "end"))) + (size == len(whole))
    assert found in ([{TEMPORARY: COMMITTED}] * complete, [])
    assert size < len(whole) or len(found) == 2


@pytest.mark.parametrize("data", [b"SEQ\x06" + bytes(30), log("begin")[:-3], log() + b"\xff\xff\xff\xff" + bytes(16)])
def test_what_is_no_log_is_refused(data: bytes) -> None:
    """Another format, a record that is cut off, another mark."""
    with pytest.raises(CorruptLog):
        list(blocks(data))


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("t+0+0000000000+0000000009.avro", 9),
        ("topics/t/a=b/t+0+5+12", 12),
        ("t+1+0+9.avro", -1),
        ("u+0+0+9.avro", -1),
        ("t+0+0+9.keys.avro", -1),
        ("t+0+0.avro", -1),
    ],
)
def test_names_tell_the_last_offset(name: str, end: int) -> None:
    """Of one Kafka partition."""
    assert end_offset(name, "t", 0) == end
