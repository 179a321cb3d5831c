"""Columns in which some rows are damaged fail in the rows in which single values fail."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hearth_api import SchemaBuilder, Struct
from hearth_registry.avro_converter import AvroConverter
from hearth_registry.json_schema_converter import JsonSchemaConverter
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.registry_converter import RegistryConverter
from tests.registry_server import serving
from tests.unit.plugins.registry.both_forms import in_columns, in_records

_FIELDS = SchemaBuilder.struct().name("Order").field("id", SchemaBuilder.int64().build())
_SCHEMAS = [
    _FIELDS.field("name", SchemaBuilder.string().optional().build()).build(),
    SchemaBuilder.struct().name("Order").field("price", SchemaBuilder.float64().build()).build(),
]


def values(number: int) -> list[Struct]:
    """Return a value of each schema."""
    return [Struct(_SCHEMAS[0], id=number, name=f"name {number}"), Struct(_SCHEMAS[1], price=number / 4)]


@st.composite
def damaged(draw: st.DrawFn, good: list[bytes]) -> bytes | None:
    """Draw a cell: a good one, one that is cut short or has another byte, other bytes, or null."""
    cell = draw(st.sampled_from(good))
    place = draw(st.integers(0, len(cell) - 1))
    other = cell[:place] + draw(st.binary(min_size=1, max_size=1)) + cell[place + 1 :]
    return draw(st.sampled_from([cell, cell, cell, cell[:place], other, b"no prefix", b"", None]))


@pytest.mark.parametrize("kind", [AvroConverter, JsonSchemaConverter, ProtobufConverter])
@given(st.data())
def test_a_column_fails_in_the_rows_in_which_single_values_fail(kind: type[RegistryConverter], data: Any) -> None:
    """Each failed row has the error of the record form, the others have their values."""
    with serving() as server:
        converter = kind()
        converter.configure({"schema.registry.url": server.url}, False)
        good = [
            cell
            for number in range(3)
            for value in values(number)
            if (cell := converter.from_connect_data("t", value.schema, value)) is not None
        ]
        cells = data.draw(st.lists(damaged(good), max_size=20))
        found = in_columns(converter, cells)
        assert found is None or found == [in_records(converter, cell) for cell in cells]


def test_a_message_index_that_a_schema_lacks_fails_in_its_rows_alone() -> None:
    """So does the id of a schema that the registry does not have."""
    with serving() as server:
        converter = ProtobufConverter()
        converter.configure({"schema.registry.url": server.url}, False)
        good = converter.from_connect_data("t", values(1)[0].schema, values(1)[0]) or b""
        cells = [good, good[:5] + b"\x02\x02" + good[6:], bytes(4) + b"\x63" + good[5:], good]
        found = in_columns(converter, cells)
        assert found == [in_records(converter, cell) for cell in cells]
        assert [type(each) for each in found] == [tuple, str, str, tuple]


@pytest.mark.parametrize("kind", [AvroConverter, JsonSchemaConverter, ProtobufConverter])
def test_bytes_without_a_schema_leave_the_other_rows_in_columns(kind: type[RegistryConverter]) -> None:
    """So does a payload that is cut short."""
    with serving() as server:
        converter = kind()
        converter.configure({"schema.registry.url": server.url}, False)
        one, other = (converter.from_connect_data("t", value.schema, value) or b"" for value in values(1))
        cells = [one, b"no prefix", other, one[:-1], None, one]
        found = in_columns(converter, cells)
        assert found == [in_records(converter, cell) for cell in cells]
        assert [type(each) for each in found] == [tuple, str, tuple, str, tuple, tuple]
