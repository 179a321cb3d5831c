"""The Avro converter, together with a registry."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hearth_api import BYTES_SCHEMA, DataError, Headers
from hearth_registry.avro_converter import AvroConverter
from tests.registry_server import RegistryServer, serving
from tests.unit.plugins.registry.avro_case import OPT, USER, struct

FIRST = b"\0\0\0\0\1"


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    """Serve an empty registry."""
    with serving() as server:
        yield server


def converter(server: RegistryServer, **config: str) -> AvroConverter:
    """Return a converter that sends each request once."""
    made = AvroConverter()
    made.configure({"schema.registry.url": server.url, "max.retries": "0", **config}, False)
    return made


def test_a_record_round_trips(server: RegistryServer) -> None:
    """It gets the registry's version of its schema if it has none."""
    avro, value = converter(server), struct(OPT, a=7, b=8, c="y")
    data = avro.from_connect_data("t", OPT, value)
    assert data == FIRST + bytes.fromhex("000e02100279")
    back = avro.to_connect_data("t", data)
    assert back.schema is not None
    assert back.schema.version == 1
    assert back.value.raw_values() == (7, 8, "y")


def test_bytes_at_the_root_have_no_length_before_them(server: RegistryServer) -> None:
    """As Confluent's serializer writes them."""
    avro = converter(server)
    data = avro.from_connect_data("t", BYTES_SCHEMA, b"foo")
    assert data == FIRST + b"foo"
    assert avro.to_connect_data("t", data).value == b"foo"


def test_an_allowed_null_is_a_tombstone(server: RegistryServer) -> None:
    """Elsewhere it is an error of the value; neither registers anything."""
    avro = converter(server)
    assert avro.from_connect_data("t", None, None) is None
    with pytest.raises(DataError, match=r"^Found null value for non-optional schema$"):
        avro.from_connect_data("t", OPT, None)


def test_the_latest_schema_is_used_if_it_reads_the_records_schema(server: RegistryServer) -> None:
    """Otherwise the error has the remedy, as in Java."""
    converter(server).from_connect_data("t", OPT, struct(OPT, c="y"))
    config: dict[str, Any] = {"auto.register.schemas": "false", "use.latest.version": "true"}
    avro = converter(server, **config)
    assert avro.from_connect_data("t", OPT, struct(OPT, c="y")) == FIRST + bytes.fromhex("000a000279")
    with pytest.raises(DataError) as raised:
        avro.from_connect_data("t", USER, struct(USER, id=1))
    assert "Failed to serialize Avro data from topic t" in str(raised.value)
    loose = converter(server, **config, **{"latest.compatibility.strict": "false"})
    with pytest.raises(DataError, match="Failed to serialize Avro data from topic t"):
        loose.from_connect_data("t", USER, struct(USER, id=1))


def test_a_bad_payload_is_an_error_of_the_record(server: RegistryServer) -> None:
    """Cut short, with a length of 2 GB, or with an unknown id."""
    avro = converter(server)
    avro.from_connect_data("t", USER, struct(USER, id=1, email="a"))
    for data in (FIRST + b"\x02", FIRST + bytes.fromhex("0202feffffff0f61"), b"\0\0\0\0\x63\x02", b"\0", b"x", b""):
        with pytest.raises(DataError, match="Failed to deserialize data for topic t to Avro:"):
            avro.to_connect_data("t", data)


def test_an_id_in_a_header_leaves_no_prefix(server: RegistryServer) -> None:
    """And is found there when reading."""
    ids = "io.confluent.kafka.serializers.schema.id."
    config: dict[str, Any] = {"value.schema.id.serializer": f"{ids}HeaderSchemaIdSerializer"}
    avro, headers = converter(server, **config), Headers()
    data = avro.from_connect_data("t", USER, struct(USER, id=1), headers)
    assert data == bytes.fromhex("0200")
    assert avro.to_connect_data("t", data, headers).value.raw_values() == (1, None)
