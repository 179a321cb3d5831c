"""Examples for the quickstart: two connectors and the converters between them."""

from __future__ import annotations

from dataclasses import dataclass

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
AVRO_CONVERTER = "io.confluent.connect.avro.AvroConverter"
_TRANSFORMS = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True)
class Example:
    """A source and a sink connector of the same lines, with their names."""

    source_name: str
    source: dict[str, str]
    sink_name: str
    sink: dict[str, str]
    is_avro: bool = False

    @property
    def connectors(self) -> dict[str, dict[str, str]]:
        """Return both configurations by connector name."""
        return {self.source_name: self.source, self.sink_name: self.sink}

    def converters(self, registry: str | None) -> dict[str, str]:
        """Return the worker's converter keys: JSON, or Avro when ``registry`` is the address of a schema registry."""
        if registry is None:
            value = {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "true"}
        else:
            value = {"value.converter": AVRO_CONVERTER, "value.converter.schema.registry.url": registry}
        return {"key.converter": JSON_CONVERTER, "key.converter.schemas.enable": "true", **value}


LINES = Example(
    "local-file-source",
    {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": "test.txt",
        "topic": "connect-test",
    },
    "local-file-sink",
    {
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "file": "test.sink.txt",
        "topics": "connect-test",
    },
)
"""The configurations of Kafka's own quickstart, unchanged."""

AVRO = Example(
    "local-avro-source",
    {
        "connector.class": "FileStreamSource",
        "tasks.max": "1",
        "file": "test.avro.txt",
        "topic": "connect-avro",
        "transforms": "record,name",
        "transforms.record.type": f"{_TRANSFORMS}HoistField$Value",
        "transforms.record.field": "line",
        "transforms.name.type": f"{_TRANSFORMS}SetSchemaMetadata$Value",
        "transforms.name.schema.name": "org.example.Line",
    },
    "local-avro-sink",
    {
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "file": "test.avro.sink.txt",
        "topics": "connect-avro",
        "transforms": "line",
        "transforms.line.type": f"{_TRANSFORMS}ExtractField$Value",
        "transforms.line.field": "line",
    },
    is_avro=True,
)
"""The same lines as Avro records: the source wraps each line in a field, the sink extracts it."""
