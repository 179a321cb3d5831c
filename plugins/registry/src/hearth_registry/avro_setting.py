"""The keys of the Avro converter in addition to the common keys."""

from __future__ import annotations

from hearth_api import Importance, key
from hearth_registry.registry_setting import RegistrySettings


class AvroSettings(RegistrySettings):
    """The keys of Confluent's AvroConverter, with its defaults."""

    connect_meta_data: bool = key(
        "connect.meta.data", default=True, importance=Importance.LOW,
        doc="Whether to write and read what Avro cannot express (names, versions, docs, ...) as properties.",
    )  # fmt: skip
    enhanced_avro_schema_support: bool = key(
        "enhanced.avro.schema.support", default=False,
        doc="Whether strings that were Avro enums become enums again, and union fields have full names.",
    )  # fmt: skip
    scrub_invalid_names: bool = key(
        "scrub.invalid.names", default=False, doc="Whether to change names that Avro does not allow."
    )  # fmt: skip
    discard_type_doc_default: bool = key(
        "discard.type.doc.default", default=False, importance=Importance.LOW,
        doc="Whether docs and defaults belong to fields, not types, as in old versions (deprecated).",
    )  # fmt: skip
    allow_optional_map_keys: bool = key(
        "allow.optional.map.keys", default=False, importance=Importance.LOW,
        doc="Whether to write a map with optional string keys as an Avro map.",
    )  # fmt: skip
    flatten_singleton_unions: bool = key(
        "flatten.singleton.unions", default=True, importance=Importance.LOW,
        doc="Whether to read a union of one type as that type.",
    )  # fmt: skip
    fail_on_trailing_data: bool = key(
        "avro.fail.on.trailing.data", default=False, importance=Importance.LOW,
        doc="Whether trailing bytes after a value are an error.",
    )  # fmt: skip
