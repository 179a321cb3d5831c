"""A lake of tests: tables in a directory or a bucket, written by runs of the sink and read by deltalake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

import hearth_api as api
from hearth_api import Schema, SchemaBuilder, SinkRecord, Struct, TopicPartition
from hearth_api.testing import SinkRun
from hearth_delta.delta_sink import DeltaSinkConnector

TOPIC, NAME = "people", "copy"
PLACE = TopicPartition(TOPIC, 0)
WORD = SchemaBuilder.struct().field("word", api.OPTIONAL_STRING_SCHEMA).build()
KEY = SchemaBuilder.struct().field("id", api.INT64_SCHEMA).build()


class Lake:
    """Tables below one address."""

    def __init__(self, address: Path | str, store: Mapping[str, str] | None = None) -> None:
        self.address = str(address)
        self.store = dict(store or {})

    def settings(self, **more: str) -> dict[str, str]:
        """Return a configuration; names have underscores instead of points."""
        own = {"tables.location": self.address, "name": NAME, "topics": TOPIC, "retry.backoff.ms": "10", **self.store}
        return {**own, **{name.replace("_", "."): value for name, value in more.items()}}

    def sink(self, columns: bool = True, partitions: Iterable[TopicPartition] = (PLACE,), /, **more: str) -> SinkRun:
        """Return a run of the sink, which creates tables unless told otherwise."""
        config = self.settings(**{"auto_create": "true", **more})
        return SinkRun(DeltaSinkConnector, config, partitions, in_columns=columns, seconds=60)

    def table(self, topic: str = TOPIC) -> DeltaTable:
        """Return a table as it is now."""
        names = {"store.url": "aws_endpoint_url", "s3.region": "aws_region"}
        options = {names.get(name, name.replace(".", "_")): value for name, value in self.store.items()}
        return DeltaTable(f"{self.address}/{topic}", storage_options={**options, "aws_allow_http": "true"})

    def rows(self, topic: str = TOPIC) -> list[dict[str, Any]]:
        """Return the rows of a table, sorted by their text."""
        found: list[dict[str, Any]] = self.arrow(topic).to_pylist()
        return sorted(found, key=str)

    def arrow(self, topic: str = TOPIC) -> Any:
        """Return the content of a table."""
        return pa.table(self.table(topic).scan().read_all())

    def words(self) -> list[str]:
        """Return the words in the table."""
        return [row["word"] for row in self.rows()]

    def versions(self) -> dict[str, int | None]:
        """Return the transaction identifier of the sink's partition."""
        name = f"{NAME}/{TOPIC}/0"
        return {name: self.table().transaction_version(name)}


def word(offset: int, text: str = "") -> SinkRecord:
    """Return a record with a word."""
    return record(offset, WORD, {"word": text or f"w{offset}"})


def record(
    offset: int, schema: Schema | None, value: Any, key: Any = None, *, partition: int = 0, topic: str = TOPIC
) -> SinkRecord:
    """Return a record; a mapping as value becomes a struct, a number as key a struct with an `id`."""
    is_struct = schema is not None and isinstance(value, dict)
    given = Struct.of(schema, value) if is_struct and schema is not None else value
    key_schema, keys = (None, None) if key is None else (KEY, Struct.of(KEY, {"id": key}))
    return SinkRecord(topic, partition, key_schema, keys, schema, given, offset)


def tombstone(offset: int, key: int) -> SinkRecord:
    """Return a record that deletes the row of a key."""
    return record(offset, None, None, key)


def rewound(run: SinkRun) -> dict[TopicPartition, int]:
    """Return where the task wants to read on."""
    return run.tasks[0].context.rewound  # type: ignore[attr-defined,no-any-return]
