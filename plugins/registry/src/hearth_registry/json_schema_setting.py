"""The keys of the JSON Schema converter in addition to the common keys."""

from __future__ import annotations

from hearth_api import CaseInsensitiveValidString, Importance, key
from hearth_registry.registry_setting import RegistrySettings


class JsonSchemaSettings(RegistrySettings):
    """The keys of Confluent's JsonSchemaConverter, with its defaults."""

    additional_properties: bool = key(
        "object.additional.properties", default=True,
        doc="Whether objects may have members that their schema does not define.",
    )  # fmt: skip
    optional_for_nonrequired: bool = key(
        "use.optional.for.nonrequired", default=False,
        doc="Whether to read members that a schema does not require as optional.",
    )  # fmt: skip
    decimal_format: str = key(
        "decimal.format", default="BASE64", check=CaseInsensitiveValidString("BASE64", "NUMERIC"),
        importance=Importance.LOW, doc="How to write decimals: as the bytes of the unscaled value, or as numbers.",
    )  # fmt: skip
    flatten_singleton_unions: bool = key(
        "flatten.singleton.unions", default=True, importance=Importance.LOW,
        doc="Whether to read a union of one type as that type.",
    )  # fmt: skip
    preserve_additional_properties: bool = key(
        "preserve.additional.properties", default=False, importance=Importance.LOW,
        doc="Whether to keep members that the schema does not define in a separate field.",
    )  # fmt: skip
    fail_invalid_schema: bool = key(
        "json.fail.invalid.schema", default=False, importance=Importance.LOW,
        doc="Whether to validate payloads against their schema when writing and reading.",
    )  # fmt: skip
    indent_output: bool = key(
        "json.indent.output", default=False, importance=Importance.LOW,
        doc="Whether to write payloads with indentation.",
    )  # fmt: skip
