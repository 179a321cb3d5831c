"""The keys of the Protobuf converter in addition to the common keys."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, key
from hearth_registry.registry_setting import STRATEGIES, RegistrySettings, known_class


class ProtobufSettings(RegistrySettings):
    """The keys of Confluent's ProtobufConverter, with its defaults."""

    enhanced_protobuf_schema_support: bool = key(
        "enhanced.protobuf.schema.support", default=False, doc="Whether schema names include the package."
    )
    scrub_invalid_names: bool = key(
        "scrub.invalid.names", default=False,
        doc="Whether to change names that Protobuf does not allow.",
    )  # fmt: skip
    int_for_enums: bool = key(
        "int.for.enums", default=False, doc="Whether to read enums as integers instead of strings."
    )
    optional_for_nullables: bool = key(
        "optional.for.nullables", default=False,
        doc="Whether optional fields are those marked optional, when writing and reading.",
    )  # fmt: skip
    wrapper_for_nullables: bool = key(
        "wrapper.for.nullables", default=False,
        doc="Whether optional fields are those of Google's wrapper types, when writing and reading.",
    )  # fmt: skip
    optional_for_proto2: bool = key(
        "optional.for.proto2", default=True, doc="Whether to read unset optional fields of proto2 as null."
    )
    wrapper_for_raw_primitives: bool = key(
        "wrapper.for.raw.primitives", default=True,
        doc="Whether to read a message of Google's wrapper types as its value.",
    )  # fmt: skip
    generate_struct_for_nulls: bool = key(
        "generate.struct.for.nulls", default=False, doc="Whether to read an unset message as a struct of defaults."
    )
    generate_index_for_unions: bool = key(
        "generate.index.for.unions", default=True, doc="Whether the name of a oneof field ends with its index."
    )
    flatten_unions: bool = key(
        "flatten.unions", default=False, doc="Whether to read the members of a oneof as plain fields."
    )
    reference_lookup_only: bool = key(
        "reference.lookup.only", default=False, importance=Importance.LOW,
        doc="Whether to look up imported files without registering them.",
    )  # fmt: skip
    reference_strategy: str = key(
        "reference.subject.name.strategy", type=ConfigType.CLASS,
        default=STRATEGIES + "DefaultReferenceSubjectNameStrategy",
        check=known_class(
            STRATEGIES, "DefaultReferenceSubjectNameStrategy", "QualifiedReferenceSubjectNameStrategy"
        ),
        importance=Importance.LOW, doc="The strategy that determines the subject of an imported file.",
    )  # fmt: skip
    skip_known_types: bool = key(
        "skip.known.types", default=True, importance=Importance.LOW,
        doc="Whether to keep the well-known files of Google and Confluent out of the registry.",
    )  # fmt: skip
