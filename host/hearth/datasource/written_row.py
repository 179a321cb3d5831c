"""One row of a write, described for logs, errors and dead letters."""

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
"""How many characters of a key an error shows."""


@dataclass(frozen=True)
class WrittenRow:
    """A row as it entered the pipeline: a batch of one record."""

    batch: Batch

    def place(self, *, with_key: bool = True) -> str:
        """Return the record's topic, partition and offset, and its key if ``with_key``."""
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
        """Return the record's offset; a record that a task has created has none."""
        return self._number("offset")

    def letter(self, failure: Failure) -> dict[str, Any]:
        """Return the content of a dead letter: the record, its key and value as JSON text, and the error."""
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
        """Return a key or a value as JSON text; bytes that no converter has read as text if they are UTF-8."""
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
    """Return a value for JSON: bytes as UTF-8 text or base64, decimals and times as text."""
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
