"""The common base of the three converters: everything except the format."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from hearth_api import ConfigDef, Headers, RegisteringConverter, Schema, SchemaAndValue, SchemaOutlook
from hearth_api.batch import BatchConverter, ColumnRun
from hearth_registry.registry_reader import RegistryReader
from hearth_registry.registry_setting import RegistrySettings
from hearth_registry.registry_writer import RegistryWriter
from hearth_registry.schema_format import SchemaFormat
from hearth_registry.subject import subject_strategy

if TYPE_CHECKING:
    from hearth_registry.mixed_column import MixedColumnReader

_NOTHING = SchemaAndValue(None, None)


class RegistryConverter(BatchConverter, RegisteringConverter):
    """A converter of one format with a schema registry."""

    settings_type: ClassVar[type[RegistrySettings]]
    """The keys of the format's converter."""

    @abstractmethod
    def make_format(self, settings: Any) -> SchemaFormat:
        """Create the format with these settings, which are of `settings_type`."""

    def version(self) -> str:
        """Return the version of the corresponding Java class."""
        return "8.3.2"

    def config(self) -> ConfigDef:
        """Return the keys of the converter."""
        return self.settings_type.definition()

    def configure(self, configs: Mapping[str, Any], is_key: bool) -> None:
        """Apply the settings; no request is sent before the first conversion."""
        from hearth_registry.open_registry import open_registry  # loads HTTP, which the definition does not need

        settings = self.settings_type(configs)
        form = self.make_format(settings)
        registry = open_registry(settings)
        strategy = subject_strategy(settings, is_key, registry)
        self._writer = RegistryWriter(settings, is_key, form, registry, strategy)
        self._reader = RegistryReader(settings, is_key, form, registry, strategy)
        self.header_names = frozenset() if self._reader.header is None else frozenset({self._reader.header})
        self._columns: MixedColumnReader | None = None

    def from_connect_data(
        self, topic: str, schema: Schema | None, value: Any, headers: Headers | None = None
    ) -> bytes | None:
        """Return the bytes of a value, prefixed with its schema's id."""
        return self._writer.write(topic, schema, value, headers)

    def to_connect_data(self, topic: str, data: bytes | None, headers: Headers | None = None) -> SchemaAndValue:
        """Return schema and value of bytes with a schema id in their prefix or a header."""
        return _NOTHING if data is None else self._reader.read(topic, data, headers)

    def from_connect_batch(self, topic: str, schema: Schema | None, column: Any) -> Any:
        """Return the bytes of each value of a column, if the format has a column form."""
        from hearth_registry.mixed_column import write_with_nulls  # loads Arrow only for columns

        return write_with_nulls(self._writer, topic, schema, column)

    def to_connect_batch(self, topic: str, data: Any) -> list[ColumnRun] | Any:
        """Return the values of a column of bytes, one run for each schema."""
        if self._columns is None:
            from hearth_registry.mixed_column import MixedColumnReader

            self._columns = MixedColumnReader(self._reader)
        return self._columns.runs(topic, data)

    def outlook(self, topic: str, schema: Schema | None) -> SchemaOutlook:
        """Return the schema that values would register for a topic, and whether the registry would accept it."""
        return self._writer.outlook(topic, schema)

    def close(self) -> None:
        """Do nothing: there are no resources."""
