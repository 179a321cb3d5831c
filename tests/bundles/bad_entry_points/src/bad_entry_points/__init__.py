"""Contains the class of the good entry point."""

from hearth_api import STRING_SCHEMA, Converter, SchemaAndValue


class GoodConverter(Converter):
    """Turns text into bytes and back."""

    def configure(self, configs, is_key):
        return

    def from_connect_data(self, topic, schema, value, headers=None):
        return None if value is None else str(value).encode()

    def to_connect_data(self, topic, data, headers=None):
        return SchemaAndValue(STRING_SCHEMA, None if data is None else data.decode())
