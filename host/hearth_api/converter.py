"""Converters turn Connect data into the bytes of a Kafka record and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from hearth_api.config.definition import ConfigDef
from hearth_api.config.kind import ConfigType, Importance
from hearth_api.config.validator import ValidString
from hearth_api.plugin import ConnectPlugin

if TYPE_CHECKING:
    from hearth_api.header import Headers
    from hearth_api.record import SchemaAndValue
    from hearth_api.schema import Schema


class ConverterType(str, Enum):
    """What a converter instance is used for; the value of its `converter.type` setting."""

    KEY = "key"
    VALUE = "value"
    HEADER = "header"

    def __str__(self) -> str:
        """Return the text used in configurations."""
        return self.value


CONVERTER_TYPE_CONFIG = "converter.type"


def converter_config_def() -> ConfigDef:
    """Return a new definition with the one key all converters share, `converter.type`.

    Converters build their own `config` on it; follows Kafka's `ConverterConfig`. The key is required: the host sets it
    for header converters; a key or value converter adds it in `configure`.
    """
    return ConfigDef().define(
        CONVERTER_TYPE_CONFIG,
        ConfigType.STRING,
        validator=ValidString(*(str(kind) for kind in ConverterType)),
        importance=Importance.LOW,
        doc="What the converter is used for: keys, values or headers.",
    )


class Converter(ConnectPlugin, ABC):
    """Converts the key or the value of records; follows Kafka's `Converter`.

    Each task has its own instances, one for keys and one for values. Calls on one instance come from one thread at a
    time. Converters installed with the host run inside the task runtime, all others in a process of their bundle. A
    converter that derives from `hearth_api.batch.BatchConverter` receives whole columns instead of single values.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Read the settings; called once per instance, before any conversion.

        `configs` are the keys under `key.converter.` or `value.converter.` without that prefix, as unparsed text. A
        `ConfigError` fails the task (or, during validation, the request).
        """

    @abstractmethod
    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the bytes to write for a value; `None` writes a null (a tombstone, for values).

        Called in source tasks after the transformations, once per record. `schema` is `None` for
        schemaless data; `headers` are those of the Kafka record being built, and changes to them are written to Kafka.
        Raise `DataError` for a value that cannot be converted: `errors.tolerance` decides what happens.
        """

    @abstractmethod
    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return schema and value for the bytes of a Kafka record; `data` is `None` for a null.

        Called in sink tasks before the transformations, once per record; never returns `None` itself.
        Raise `DataError` for bytes that cannot be converted. A conversion may be repeated after a
        retriable failure.
        """

    def close(self) -> None:
        """Release the converter's resources; called once, when its task ends (KIP-891), not after a kill."""


@dataclass(frozen=True)
class SchemaOutlook:
    """What registering a schema would do, determined without registering it.

    `text` is the schema that would be registered under `subject`, or, if `is_registered_by_use` is False, the existing
    schema chosen there. `latest` and `latest_version` are the subject's current schema and version, or None. `against`
    lists the registry's objections under its `compatibility` rule; `warnings` lists reasons why others may be unable
    to read a schema that would be registered.
    """

    subject: str
    schema_type: str
    text: str
    version: int | None
    """The version under which the schema is already registered, if any."""
    latest: str | None
    latest_version: int | None
    compatibility: str
    against: tuple[str, ...] = ()
    is_registered_by_use: bool = True
    warnings: tuple[str, ...] = ()


class RegisteringConverter(Converter):
    """A converter that registers schemas and can report in advance what it would register and with what result."""

    @abstractmethod
    def outlook(self, topic: str, schema: Schema | None) -> SchemaOutlook:
        """Return what writing values of a Connect schema to a topic would register; changes nothing.

        Called after `configure`, by commands and never by a task. Raises what `from_connect_data` raises if the schema
        cannot be converted or the registry is unreachable.
        """


class HeaderConverter(ConnectPlugin, ABC):
    """Converts the values of record headers; follows Kafka's `HeaderConverter`.

    Each task has one instance; calls come from one thread at a time. A converter that derives from
    `hearth_api.batch.BatchHeaderConverter` receives the headers of one name from many records at once.
    """

    @abstractmethod
    def configure(self, configs: Mapping[str, Any]) -> None:
        """Read the settings; called once, before any conversion.

        `configs` are the keys under `header.converter.` without that prefix, plus `converter.type` = `header`.
        """

    @abstractmethod
    def from_connect_header(self, topic: str, header_key: str, schema: Schema | None, value: Any) -> bytes | None:
        """Return the bytes of one header's value; `None` writes a header without a value.

        Called in source tasks once per header, or once for equal headers of a batch. Raise `DataError`
        for a value that cannot be converted.
        """

    @abstractmethod
    def to_connect_header(self, topic: str, header_key: str, data: bytes | None) -> SchemaAndValue:
        """Return schema and value of one header of a Kafka record; `data` may be `None`.

        Called in sink tasks once per header, or once for equal headers of a batch; never returns `None` itself.
        """

    def close(self) -> None:
        """Release the converter's resources; called once, when its task ends, not after a kill."""
