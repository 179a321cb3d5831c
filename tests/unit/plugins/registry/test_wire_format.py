"""The prefix of payloads."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_registry.schema_text import AVRO, PROTOBUF
from hearth_registry.wire_format import (
    PrefixError,
    SchemaId,
    ShortPrefixError,
    guid_prefix,
    id_prefix,
    read_indexes,
    read_prefix,
)

GUID = "89791762-2336-4186-9674-299b90a802e2"


@pytest.mark.parametrize(
    ("path", "data"),
    [([0], "00"), ([1], "0202"), ([0, 1], "040002"), ([64], "028001"), ([2, 2, 0], "06040400")],
)
def test_index_of_a_message_in_its_file(path: list[int], data: str) -> None:
    """A zig-zag count and one number a level; the first message of all is a single zero."""
    assert id_prefix(1, path).hex() == "0000000001" + data
    assert read_indexes(bytes.fromhex(data), 0) == (tuple(path), len(data) // 2)


def test_an_id_and_a_guid_are_read_as_they_are_written() -> None:
    """What follows begins behind them."""
    assert id_prefix(0x01020304) == b"\0\1\2\3\4"
    assert read_prefix(AVRO, b"\0\1\2\3\4rest", False) == (SchemaId(AVRO, 0x01020304), 5)
    assert guid_prefix(GUID)[:3].hex() == "018979"
    assert read_prefix(PROTOBUF, guid_prefix(GUID, [1]) + b"rest", True) == (SchemaId(PROTOBUF, None, GUID, (1,)), 19)


def test_an_id_is_worded_as_in_java() -> None:
    """With the word null for what there is not."""
    assert str(SchemaId(AVRO, 99)) == "SchemaId{schemaType='AVRO', id=99, guid='null', messageIndexes=null}"
    words = f"SchemaId{{schemaType='PROTOBUF', id=null, guid='{GUID}', messageIndexes=[0, 1]}}"
    assert str(SchemaId(PROTOBUF, None, GUID, (0, 1))) == words


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ("", ShortPrefixError), ("00", ShortPrefixError), ("00000001", ShortPrefixError),
        ("0000000001", ShortPrefixError), ("01" * 16, ShortPrefixError), ("02", PrefixError),
        ("000000000180", ShortPrefixError),
        ("0000000001" + "ff" * 5, PrefixError), ("000000000101", PrefixError), ("0000000001feffffff0f", PrefixError),
    ],
)  # fmt: skip
def test_an_invalid_prefix_is_an_error(data: str, error: type[PrefixError]) -> None:
    """So is a path with a negative length, or one of billions."""
    with pytest.raises(PrefixError) as caught:
        read_prefix(PROTOBUF, bytes.fromhex(data), True)
    assert type(caught.value) is error


@given(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=5), st.integers(0, 2**31 - 1), st.binary(max_size=5))
def test_every_path_is_read_as_it_was_written(path: list[int], schema_id: int, rest: bytes) -> None:
    """Whatever follows."""
    data = id_prefix(schema_id, path)
    assert read_prefix(PROTOBUF, data + rest, True) == (SchemaId(PROTOBUF, schema_id, None, tuple(path)), len(data))


@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_are_an_error_of_their_own(data: bytes) -> None:
    """No other error is raised, and nothing is read beyond the end."""
    with suppress(PrefixError):
        assert read_prefix(PROTOBUF, data, True)[1] <= len(data)
