"""The messages of a row in a format of a schema registry, for Hearth's side.

Confluent's converters are in no public repository, so Java's side reads the same records as JSON with schemas.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from hearth_json import JsonConverter
from hearth_registry.avro_converter import AvroConverter
from hearth_registry.json_schema_converter import JsonSchemaConverter
from hearth_registry.protobuf_converter import ProtobufConverter
from hearth_registry.registry_converter import RegistryConverter
from tests.bench.dirty_data import Message
from tests.registry_server import serving

PROTOBUF = "Protobuf"
_CONVERTERS: dict[str, tuple[str, type[RegistryConverter]]] = {
    "Avro": ("io.confluent.connect.avro.AvroConverter", AvroConverter),
    "JSON Schema": ("io.confluent.connect.json.JsonSchemaConverter", JsonSchemaConverter),
    PROTOBUF: ("io.confluent.connect.protobuf.ProtobufConverter", ProtobufConverter),
}
FORMATS = tuple(_CONVERTERS)
_URL = "schema.registry.url"


class Format:
    """A format with its registry."""

    def __init__(self, name: str, url: str) -> None:
        class_name, kind = _CONVERTERS[name]
        self.config = {"value.converter": class_name, f"value.converter.{_URL}": url}
        self._writer, self._reader = kind(), JsonConverter()
        self._writer.configure({_URL: url}, False)
        self._reader.configure({}, False)

    def messages(self, topic: str, messages: Iterator[Message]) -> Iterator[Message]:
        """Yield messages of JSON with schemas in this format; those that fail in both stay as they are."""
        for message in messages:
            if not message.arrives:
                yield message
                continue
            read = self._reader.to_connect_data(topic, message.value)
            yield replace(message, value=self._writer.from_connect_data(topic, read.schema, read.value))

    def close(self) -> None:
        """Close the connection to the registry."""
        self._writer.close()


@contextmanager
def formats() -> Iterator[dict[str, Format]]:
    """Serve a registry while the block runs."""
    with serving() as server, ExitStack() as stack:
        found = {name: Format(name, server.url) for name in FORMATS}
        for each in found.values():
            stack.callback(each.close)
        yield found
