"""ExtractTopic: sets the topic to a string from the record, as documented by Confluent."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from hearth_api import (
    ConfigError,
    ConnectRecord,
    DataError,
    Headers,
    Importance,
    Schema,
    Settings,
    Type,
    ValidString,
    key,
)
from hearth_api.batch import Batch, column_to_headers, column_to_values
from hearth_api.java import java_class
from hearth_transforms.json_path import JsonPath
from hearth_transforms.plugin import FieldPlugin
from hearth_transforms.requirement import require_map, require_struct
from hearth_transforms.route import routed
from hearth_transforms.side import KEY, VALUE, R, Side

_PURPOSE = "topic extraction"


class ExtractTopicConfig(Settings):
    """Settings of ExtractTopic."""

    field: str = key(
        "field",
        default="",
        importance=Importance.MEDIUM,
        doc="Name of the field or header with the topic; empty if the whole key or value is the topic.",
    )
    field_format: str = key(
        "field.format",
        default="PLAIN",
        check=ValidString("JSON_PATH", "PLAIN"),
        importance=Importance.MEDIUM,
        doc="The syntax of `field`. PLAIN: the name of a top-level field or a header. JSON_PATH: a path to a nested"
        " field, such as $.f1.f3.",
    )
    skip_missing_or_null: bool = key(
        "skip.missing.or.null",
        default=False,
        importance=Importance.MEDIUM,
        doc="Whether a record without such a text keeps its topic; otherwise it is an error.",
    )


class ExtractTopic(FieldPlugin):
    """Sets a record's topic to a string in its key, value or headers."""

    settings = ExtractTopicConfig
    place: ClassVar[str]

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the location of the topic."""
        config = ExtractTopicConfig(configs)
        self._field, self._skips = config.field, config.skip_missing_or_null
        self._path = _path(config.field) if config.field_format == "JSON_PATH" and config.field else None

    def apply(self, record: R) -> R:
        """Return the record with its new topic."""
        return record.new_record(topic=self._topic(self._found(record), record.topic))

    def apply_batch(self, batch: Batch) -> list[Batch]:
        """Return a batch for each run of records with the same topic."""
        return routed(batch, [self._topic(found, batch.topic) for found in self._all_found(batch)])

    @abstractmethod
    def _found(self, record: ConnectRecord) -> Any:
        """Return the value at the topic's location in a record."""

    @abstractmethod
    def _all_found(self, batch: Batch) -> Iterable[Any]:
        """Return the value at the topic's location in each row."""

    def _topic(self, found: Any, present: str | None) -> str | None:
        if isinstance(found, str):
            return found
        if found is not None:
            raise DataError(f"Only String objects supported for [{_PURPOSE}], found: {java_class(found)}")
        if self._skips:
            return present
        subject = f"{self._field!r} of the {self.place}" if self._field else f"the {self.place}"
        raise DataError(f"{subject} names no topic: it is missing or null")


class ExtractSideTopic(ExtractTopic):
    """Extracts the topic from the key or value."""

    side: ClassVar[Side]

    def _found(self, record: ConnectRecord) -> Any:
        return self._inside(self.side.schema(record), self.side.value(record))

    def _all_found(self, batch: Batch) -> Iterable[Any]:
        from hearth_transforms import struct_column as columns

        schema, column = self.side.schema(batch), columns.side_column(self.side, batch)
        if self._field and self._path is None and schema is not None and schema.type is Type.STRUCT:
            field = schema.field(self._field)
            if field is None:
                return [None] * batch.num_rows
            return column_to_values(field.schema, columns.field_column(column, field, with_default=True))
        if self._field and self._path is None and schema is None:
            return self._in_maps(batch)
        return [self._inside(schema, value) for value in column_to_values(schema, column)]

    def _in_maps(self, batch: Batch) -> list[Any]:
        """Return the field of each map; few of them differ."""
        from hearth_transforms.plain_column import MapUse

        use = MapUse(read=[self._field])
        (found,) = self._plain.made(self.side, batch, lambda value, _: (self._inside(None, value),), 1, use)
        distinct = found.dictionary_encode()
        values = [*column_to_values(None, distinct.dictionary), None]
        return [values[place] for place in distinct.indices.fill_null(len(values) - 1).to_pylist()]

    def _inside(self, schema: Schema | None, value: Any) -> Any:
        if not self._field or value is None:
            return value
        if self._path is not None:
            found = self._path.find(value)
            return found[0] if found else None
        if schema is None:
            return require_map(value, _PURPOSE).get(self._field)
        struct, field = require_struct(value, _PURPOSE, schema), schema.field(self._field)
        return None if field is None else struct.get(field)


class ExtractTopicKey(ExtractSideTopic):
    """Extracts the topic from the key."""

    side, place = KEY, "key"


class ExtractTopicValue(ExtractSideTopic):
    """Extracts the topic from the value."""

    side, place = VALUE, "value"


class ExtractTopicHeader(ExtractTopic):
    """Extracts the topic from a header, the last one of several with the name."""

    place = "headers"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the name of the header."""
        super().configure(configs)
        if not self._field:
            raise ConfigError("field", self._field, "the name of the header is needed")
        if self._path is not None:
            raise ConfigError("field.format", "JSON_PATH", "headers are found by their names alone, which are PLAIN")

    def _found(self, record: ConnectRecord) -> Any:
        return self._named(record.headers if record.has_headers else None)

    def _all_found(self, batch: Batch) -> Iterable[Any]:
        column = batch.column("headers")
        rows = [None] * batch.num_rows if column is None else column_to_headers(column)
        return [self._named(headers) for headers in rows]

    def _named(self, headers: Headers | None) -> Any:
        last = None if headers is None else headers.last_with_name(self._field)
        return None if last is None else last.value


def _path(text: str) -> JsonPath:
    try:
        path = JsonPath(text)
    except ValueError as error:
        raise ConfigError("field", text, str(error)) from error
    if not path.is_definite:
        raise ConfigError("field", text, "the path may lead to several places, where one is needed")
    return path
