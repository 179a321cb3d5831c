"""The settings of the JSON converter, each declared once."""

from __future__ import annotations

from hearth_api import (
    CONVERTER_TYPE_CONFIG,
    CaseInsensitiveValidString,
    Importance,
    Settings,
    Width,
    converter_config_def,
    key,
)

BASE64 = "BASE64"
NUMERIC = "NUMERIC"

_KIND = converter_config_def().keys[CONVERTER_TYPE_CONFIG]


class JsonConverterSettings(Settings):
    """The keys of Kafka's JsonConverter, with its defaults and order."""

    converter_type: str = key(_KIND.name, check=_KIND.validator, importance=_KIND.importance, doc=_KIND.doc)
    schemas_enable: bool = key(
        "schemas.enable", default=True, importance=Importance.HIGH,
        doc="Whether every key and value is an envelope with its schema and payload.",
        group="Schemas", order_in_group=0, width=Width.MEDIUM, display_name="Enable Schemas",
    )  # fmt: skip
    schemas_cache_size: int = key(
        "schemas.cache.size", default=1000, importance=Importance.HIGH,
        doc="The maximum number of cached schemas in each direction.",
        group="Schemas", order_in_group=1, width=Width.MEDIUM, display_name="Schema Cache Size",
    )  # fmt: skip
    schema_content: str | None = key(
        "schema.content", default=None, importance=Importance.HIGH,
        doc="A schema in JSON for all messages that are read, which then contain only the payload. Without it each"
        " message contains its schema. Used only with schemas.enable, and only for reading.",
        group="Schemas", order_in_group=2, width=Width.MEDIUM, display_name="Schema Content",
    )  # fmt: skip
    decimal_format: str = key(
        "decimal.format", default=BASE64, check=CaseInsensitiveValidString(NUMERIC, BASE64),
        importance=Importance.LOW,
        doc="How decimals are written, in upper or lower case: BASE64 (the bytes of the unscaled value) or NUMERIC (a"
        " JSON number). Both are read.",
        group="Serialization", order_in_group=0, width=Width.MEDIUM, display_name="Decimal Format",
    )  # fmt: skip
    replace_null_with_default: bool = key(
        "replace.null.with.default", default=True, importance=Importance.LOW,
        doc="Whether a null is replaced by the default of its schema.",
        group="Serialization", order_in_group=1, width=Width.MEDIUM, display_name="Replace null with default",
    )  # fmt: skip

    @property
    def is_numeric(self) -> bool:
        """Return whether decimals are written as JSON numbers."""
        return self.decimal_format.upper() == NUMERIC
