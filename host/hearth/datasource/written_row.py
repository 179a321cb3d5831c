"""One row that was to be written, as those are told of it who ask what failed: logs, errors and dead letters."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from hearth_api import Schema, Struct
from hearth_api.batch import Batch, column_to_headers, column_to_values
from hearth_execution.failure import Failure

_MOST = 200
"""How much of a key an error shows."""


@dataclass(frozen=True)
class WrittenRow:
    """A row as it came into the pipeline: a batch of one record."""

    batch: Batch

    def place(self, *, with_key: bool = True) -> str:
        """Name the record's topic, partition and offset, and its key where that may be shown."""
        key = self._text("key", self.batch.key_schema)
        shown = f", key {key if len(key) <= _MOST else key[:_MOST] + '...'}" if with_key and key is not None else ""
        return f"topic {self.batch.topic!r}, partition {self._number('partition')}, offset {self.offset}{shown}"

    def text(self) -> str:
        """Describe the record as Kafka Connect's error log does."""
        origin = f"topic='{self.batch.topic}', partition={self._number('partition')}, offset={self.offset}"
        stamp = self._number("timestamp")
        time = "" if stamp is None else f", timestamp={stamp}, timestampType={self.batch.timestamp_type.value}"
        return f"consumed record is {{{origin}{time}}}"

    @property
    def offset(self) -> int | None:
        """Return the record's offset; one that a task has made itself has none."""
        return self._number("offset")

    def letter(self, failure: Failure) -> dict[str, Any]:
        """Return what a dead letter says: the record, its key and value as JSON text, and what went wrong."""
        column = self.batch.column("headers")
        headers = None if column is None else column_to_headers(column)[0]
        return {
            "topic": self.batch.topic,
            "partition": self._number("partition"),
            "offset": self.offset,
            "timestamp": self._number("timestamp"),
            "key": self._text("key", self.batch.key_schema),
            "value": self._text("value", self.batch.value_schema),
            "headers": [{"key": each.key, "value": _json(each.value)} for each in headers or ()],
            "stage": failure.phase,
            "class": failure.class_name,
            "exception": failure.error.class_name,
            "message": failure.error.message,
            "trace": failure.error.trace,
        }

    def _number(self, name: str) -> int | None:
        column = self.batch.column(name)
        number: int | None = None if column is None else column[0].as_py()
        return number

    def _text(self, side: str, schema: Schema | None) -> str | None:
        """Return a key or a value as JSON text; bytes that no converter has read as the text they are, if they are."""
        column = self.batch.column(side)
        if column is None or column.null_count:
            return None
        is_raw = schema is None and str(column.type) == "binary"
        return _json(column[0].as_py() if is_raw else column_to_values(schema, column)[0])


def _json(value: Any) -> str | None:
    if value is None:
        return None
    return orjson.dumps(_plain(value), default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def _plain(value: Any) -> Any:
    """Return what JSON has for a value: bytes that are no text are that in base64, decimals and times are texts."""
    if isinstance(value, Struct):
        return {field.name: _plain(value.get(field.name)) for field in value.schema.fields}
    if isinstance(value, Mapping):
        return {str(_plain(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [*map(_plain, value)]
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return base64.b64encode(value).decode()
    return value
