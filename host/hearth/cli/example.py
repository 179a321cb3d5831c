"""Examples for the quickstart: two connectors and the converters between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hearth.cli.line_origin import LineFile, LineOrigin, LineTable
from hearth.cli.written_lines import LinesInFile, LinesInParquet, WrittenLines

JSON_CONVERTER = "org.apache.kafka.connect.json.JsonConverter"
AVRO_CONVERTER = "io.confluent.connect.avro.AvroConverter"
_URL, _SQLITE, _DIRECTORY = "connection.url", "jdbc:sqlite:", "directory"
_TRANSFORMS = "org.apache.kafka.connect.transforms."


@dataclass(frozen=True)
class Example:
    """A source and a sink connector of the same lines, with their names."""

    source_name: str
    source: dict[str, str]
    sink_name: str
    sink: dict[str, str]
    is_avro: bool = False
    bundles: tuple[str, ...] = ("file",)
    """The first-party bundles of the connectors."""

    @property
    def connectors(self) -> dict[str, dict[str, str]]:
        """Return both configurations by connector name."""
        return {self.source_name: self.source, self.sink_name: self.sink}

    @property
    def topic(self) -> str:
        """Return the topic between both."""
        return self.sink["topics"]

    def origin(self, folder: Path) -> LineOrigin:
        """Return where the source's lines are, in a directory."""
        kind = LineFile if "file" in self.source else LineTable
        return kind(folder / place_of(self.source))

    def written(self, folder: Path) -> WrittenLines:
        """Return where the sink's lines are, in a directory."""
        return (LinesInParquet if self.is_lake else LinesInFile)(folder / place_of(self.sink))

    @property
    def is_lake(self) -> bool:
        """Return whether the sink writes Parquet files."""
        return _DIRECTORY in self.sink

    def converters(self, registry: str | None) -> dict[str, str]:
        """Return the worker's converter keys: JSON, or Avro when ``registry`` is the address of a schema registry."""
        if registry is None:
            value = {"value.converter": JSON_CONVERTER, "value.converter.schemas.enable": "true"}
        else:
            value = {"value.converter": AVRO_CONVERTER, "value.converter.schema.registry.url": registry}
        return {"key.converter": JSON_CONVERTER, "key.converter.schemas.enable": "true", **value}


def place_of(config: dict[str, str]) -> str:
    """Return the file or directory that a connector reads or writes."""
    return config.get("file") or config.get(_DIRECTORY) or config[_URL].removeprefix(_SQLITE)


def placed(config: dict[str, str], folder: Path) -> dict[str, str]:
    """Return a configuration whose file has its directory."""
    path = str(folder / place_of(config))
    name = next((each for each in ("file", _DIRECTORY) if each in config), None)
    return {**config, _URL: f"{_SQLITE}{path}"} if name is None else {**config, name: path}


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

_LINE = {
    "transforms": "line",
    "transforms.line.type": f"{_TRANSFORMS}ExtractField$Value",
    "transforms.line.field": "line",
}
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
        **_LINE,
    },
    is_avro=True,
)
"""The same lines as Avro records: the source wraps each line in a field, the sink extracts it."""

DATABASE = Example(
    "local-jdbc-source",
    {
        "connector.class": "JdbcSource",
        "tasks.max": "1",
        "connection.url": f"{_SQLITE}test.db",
        "mode": "incrementing",
        "incrementing.column.name": "id",
        "table.whitelist": LineTable.NAME,
        "topic.prefix": "connect-",
        "poll.interval.ms": "200",
    },
    "local-jdbc-sink",
    {
        "connector.class": "FileStreamSink",
        "tasks.max": "1",
        "file": "test.db.sink.txt",
        "topics": f"connect-{LineTable.NAME}",
        **_LINE,
    },
    is_avro=True,
    bundles=("file", "jdbc"),
)
"""Rows of a database as Avro records: the sink writes their column `line`."""

LAKE = Example(
    "local-lake-source",
    {
        **DATABASE.source,
        "connection.url": f"{_SQLITE}test.lake.db",
        "topic.prefix": "lake-",
    },
    "local-lake-sink",
    {
        "connector.class": "FilesSink",
        "tasks.max": "1",
        "directory": "test.lake",
        "topics": f"lake-{LineTable.NAME}",
        "format.class": "ParquetFormat",
        "flush.size": "100000",
        "rotate.schedule.interval.ms": "1000",
        "timezone": "UTC",
    },
    is_avro=True,
    bundles=("jdbc", "storage"),
)
"""Rows of a database as Avro records, then as Parquet files in a directory."""
