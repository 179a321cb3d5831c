"""The keys of the Protobuf converter in addition to the common keys."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, key
from hearth_registry.registry_setting import STRATEGIES, RegistrySettings, known_class


class ProtobufSettings(RegistrySettings):
    """The keys of Confluent's ProtobufConverter, with its defaults."""

    enhanced_protobuf_schema_support: bool = key(
        "enhanced.protobuf.schema.support", default=False, doc="Whether names are read with their package."
    )
    scrub_invalid_names: bool = key(
        "scrub.invalid.names", default=False,
        doc="Whether names that Protobuf does not allow are changed to some that it does.",
    )  # fmt: skip
    int_for_enums: bool = key(
        "int.for.enums", default=False, doc="Whether enums are read as whole numbers, not as texts."
    )
    optional_for_nullables: bool = key(
        "optional.for.nullables", default=False,
        doc="Whether optional fields are those with the word optional, when writing and when reading.",
    )  # fmt: skip
    wrapper_for_nullables: bool = key(
        "wrapper.for.nullables", default=False,
        doc="Whether optional fields are those of Google's wrapper types, when writing and when reading.",
    )  # fmt: skip
    optional_for_proto2: bool = key(
        "optional.for.proto2", default=True, doc="Whether optional fields of proto2 that are not set are read as null."
    )
    wrapper_for_raw_primitives: bool = key(
        "wrapper.for.raw.primitives", default=True,
        doc="Whether a message of Google's wrapper types is read as the value in it, wherever it stands.",
    )  # fmt: skip
    generate_struct_for_nulls: bool = key(
        "generate.struct.for.nulls", default=False, doc="Whether a message that is not set is read as one of defaults."
    )
    generate_index_for_unions: bool = key(
        "generate.index.for.unions", default=True, doc="Whether the field of a oneof has its number after its name."
    )
    flatten_unions: bool = key(
        "flatten.unions", default=False, doc="Whether the members of a oneof are read as plain fields."
    )
    reference_lookup_only: bool = key(
        "reference.lookup.only", default=False, importance=Importance.LOW,
        doc="Whether imported files are looked up and never registered.",
    )  # fmt: skip
    reference_strategy: str = key(
        "reference.subject.name.strategy", type=ConfigType.CLASS,
        default=STRATEGIES + "DefaultReferenceSubjectNameStrategy",
        check=known_class(
            STRATEGIES, "DefaultReferenceSubjectNameStrategy", "QualifiedReferenceSubjectNameStrategy"
        ),
        importance=Importance.LOW, doc="How the subject of an imported file is found.",
    )  # fmt: skip
    skip_known_types: bool = key(
        "skip.known.types", default=True, importance=Importance.LOW,
        doc="Whether the files of Google and Confluent that everybody has are left out of the registry.",
    )  # fmt: skip
