"""Shows a record of a pipeline as JSON, and what changed between two of its forms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hearth.runtime.record_codec import RecordCodec
from hearth_api import Schema
from hearth_api.batch import Batch

MOST_CHARACTERS = 65_536
"""Longer texts are cut, with their length."""
View = dict[str, Any]


class RecordView:
    """Makes views of records: topic, partition, timestamp, key, value, headers and the types of key and value.

    ``hide`` replaces secrets in texts. With ``shows_shape`` scalars are replaced by their types, texts with their
    lengths.
    """

    def __init__(self, codec: RecordCodec, hide: Callable[[str], str], shows_shape: bool) -> None:
        """``codec`` writes JSON."""
        self._codec, self._hide, self._shows_shape = codec, hide, shows_shape

    def of(self, batch: Batch) -> View:
        """Return the view of a batch of one record."""
        written = self._codec.write(batch.with_columns(headers=None))
        key, value = (None if each is None else json.loads(each) for each in (written.key, written.value))
        headers = batch.column("headers")
        entries = [] if headers is None else headers[0].as_py() or []
        return {
            "topic": batch.topic,
            "partition": _cell(batch, "partition"),
            "timestamp": _cell(batch, "timestamp"),
            "key": self.shown(key),
            "value": self.shown(value),
            "headers": [[each["key"], self.shown(each["value"])] for each in entries],
            "schemas": {"key": _type(batch.key_schema), "value": _type(batch.value_schema)},
        }

    def raw(self, data: bytes | None) -> Any:
        """Return bytes as text."""
        return None if data is None else self.shown(data.decode("utf-8", "backslashreplace"))

    def shown(self, value: Any) -> Any:
        """Return a JSON value as it may be seen."""
        if isinstance(value, dict):
            return {name: self.shown(each) for name, each in value.items()}
        if isinstance(value, list):
            return [self.shown(each) for each in value]
        if self._shows_shape and value is not None:
            return f"{type(value).__name__}({len(value)})" if isinstance(value, str) else type(value).__name__
        if not isinstance(value, str):
            return value
        text = self._hide(value)
        return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}… ({len(text)} characters)"


def changes(old: Any, new: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """Yield what differs between two views, by path: ``value.price``, ``headers``."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in dict.fromkeys((*old, *new)):
            if name in old and name in new:
                yield from changes(old[name], new[name], f"{path}.{name}" if path else str(name))
            else:
                yield {"path": f"{path}.{name}" if path else str(name), "from": old.get(name), "to": new.get(name)}
    elif old != new:
        yield {"path": path, "from": old, "to": new}


def _cell(batch: Batch, name: str) -> Any:
    column = batch.column(name)
    return None if column is None else column[0].as_py()


def _type(schema: Schema | None) -> str | None:
    return None if schema is None else schema.name or str(schema.type)
