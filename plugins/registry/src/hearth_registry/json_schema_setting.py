"""The keys of the JSON Schema converter in addition to the common keys."""

from __future__ import annotations

from hearth_api import CaseInsensitiveValidString, Importance, key
from hearth_registry.registry_setting import RegistrySettings


class JsonSchemaSettings(RegistrySettings):
    """The keys of Confluent's JsonSchemaConverter, with its defaults."""

    additional_properties: bool = key(
        "object.additional.properties", default=True,
        doc="Whether objects may have more members than their schema says.",
    )  # fmt: skip
    optional_for_nonrequired: bool = key(
        "use.optional.for.nonrequired", default=False,
        doc="Whether members that a schema does not require are read as optional.",
    )  # fmt: skip
    decimal_format: str = key(
        "decimal.format", default="BASE64", check=CaseInsensitiveValidString("BASE64", "NUMERIC"),
        importance=Importance.LOW, doc="How decimals are written: as the bytes of the unscaled number, or as numbers.",
    )  # fmt: skip
    flatten_singleton_unions: bool = key(
        "flatten.singleton.unions", default=True, importance=Importance.LOW,
        doc="Whether a union of one type is read as that type.",
    )  # fmt: skip
    preserve_additional_properties: bool = key(
        "preserve.additional.properties", default=False, importance=Importance.LOW,
        doc="Whether members that the schema does not know are kept, in a field of their own.",
    )  # fmt: skip
    fail_invalid_schema: bool = key(
        "json.fail.invalid.schema", default=False, importance=Importance.LOW,
        doc="Whether payloads are checked against their schema, when written and when read.",
    )  # fmt: skip
    indent_output: bool = key(
        "json.indent.output", default=False, importance=Importance.LOW,
        doc="Whether payloads are broken into lines.",
    )  # fmt: skip
