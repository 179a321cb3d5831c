"""The keys that the sinks of all stores have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

from hearth_api import (
    ConfigError,
    ConfigType,
    Importance,
    Lambda,
    NonEmptyString,
    Range,
    Schema,
    Settings,
    ValidString,
    Width,
    key,
)
from hearth_storage.class_choice import choice, counterpart
from hearth_storage.format.format import FORMAT, FORMATS, FileFormat, given_values
from hearth_storage.place.client_option import STORAGE
from hearth_storage.place.place import Place
from hearth_storage.sink.joda_format import zone_of

CONNECTOR, PARTITIONER, KEYS = "Connector", "Partitioner", "Keys and Headers"
PARTITIONERS = {
    "DefaultPartitioner": "hearth_storage.sink.partitioner:DefaultPartitioner",
    "FieldPartitioner": "hearth_storage.sink.partitioner:FieldPartitioner",
    "TimeBasedPartitioner": "hearth_storage.sink.time_partitioner:TimeBasedPartitioner",
    "DailyPartitioner": "hearth_storage.sink.time_partitioner:DailyPartitioner",
    "HourlyPartitioner": "hearth_storage.sink.time_partitioner:HourlyPartitioner",
}
EXTRACTORS = {
    name + ending: f"hearth_storage.sink.time_partitioner:{name}TimestampExtractor"
    for name in ("Wallclock", "Record", "RecordField")
    for ending in ("", "TimestampExtractor")
}
PARTITION = "hearth_storage.sink.partitioner:Partitioner"
EXTRACT = "hearth_storage.sink.time_partitioner:TimestampExtractor"
IGNORE, FAIL, WRITE = "ignore", "fail", "write"
WITHOUT_EFFECT = {
    "schemas.cache.config": "schemas are cached without a limit that matters",
    "shutdown.timeout.ms": "a stop waits for no upload",
    "max.write.duration.ms": "files are encoded and uploaded beside the calls of the host",
    "max.files.scan.limit": "a file that exists tells its last offset, so no names are scanned",
    "confluent.license": "no licence is needed",
    "confluent.topic.bootstrap.servers": "no licence is needed",
    "confluent.topic.replication.factor": "no licence is needed",
}
"""Keys that are accepted, each with the reason why it does nothing."""
_BASE = "Size (bytes)"


def _one_of(*names: str) -> Lambda:
    def check(name: str, value: Any) -> None:
        if str(value).lower() not in names:
            raise ConfigError(name, value, f"Must be one of {', '.join(names)}")

    return Lambda(check, f"one of {', '.join(names)}")


def _check_zone(name: str, value: Any) -> None:
    try:
        zone_of(str(value)) if value else None
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(name, value, "is no time zone: write Europe/Berlin, UTC or +02:00") from error


def _check_fields(name: str, value: Any) -> None:
    for each in value or ():
        if not all(part.strip() for part in each.split(".")):
            raise ConfigError(name, each, "Field name cannot contain an empty or whitespace-only path segment")


def compression_type_key(name: str, group: str, order: int) -> Any:
    """Return a store's key of the compression of whole files."""
    return key(
        name, default="none", check=ValidString("none", "gzip"), importance=Importance.LOW, group=group,
        order_in_group=order, display_name="Compression type",
        doc="Compression of files of JsonFormat, ByteArrayFormat and StringFormat: none or gzip.",
    )  # fmt: skip


def compression_level_key(name: str, group: str, order: int) -> Any:
    """Return a store's key of the level of that compression."""
    return key(
        name, default=-1, check=Range.between(-1, 9), importance=Importance.LOW, group=group, order_in_group=order,
        display_name="Compression Level", doc="Level of gzip; -1 is its default.",
    )  # fmt: skip


class StorageSinkConfig(Settings):
    """Settings of a sink; each store adds its own."""

    format_class: str = key(
        "format.class", check=choice(FORMATS, FORMAT), importance=Importance.HIGH, group=CONNECTOR, order_in_group=1,
        display_name="Format class", doc="Format of the files: Confluent's AvroFormat, JsonFormat, ParquetFormat,"
        " ByteArrayFormat or StringFormat, in any of its packages, or a class of one's own.",
    )  # fmt: skip
    flush_size: int = key(
        "flush.size", check=Range.at_least(1), importance=Importance.HIGH, group=CONNECTOR, order_in_group=2,
        width=Width.LONG, display_name="Flush Size",
        doc="Records of a Kafka partition after which all its open files end.",
    )  # fmt: skip
    flush_bytes: int = key(
        "flush.bytes", default=-1, type=ConfigType.LONG, group=CONNECTOR, order_in_group=3, width=Width.LONG,
        display_name="Flush Bytes", doc="Bytes of a Kafka partition's values, as decoded, after which all its open"
        " files end. Files of formats that compress are smaller. -1: no limit.",
    )  # fmt: skip
    rotate_interval_ms: int = key(
        "rotate.interval.ms", default=-1, type=ConfigType.LONG, importance=Importance.HIGH, group=CONNECTOR,
        order_in_group=4, width=Width.MEDIUM, display_name="Rotate Interval (ms)",
        doc="Milliseconds between the time of the first record of the open files and that of a record that ends them."
        " Only for partitioners that have times. -1: no limit.",
    )  # fmt: skip
    rotate_schedule_interval_ms: int = key(
        "rotate.schedule.interval.ms", default=-1, type=ConfigType.LONG, group=CONNECTOR, order_in_group=5,
        width=Width.MEDIUM, display_name="Rotate Schedule Interval (ms)",
        doc="Milliseconds, counted from midnight of timezone, after which the clock ends all open files. A crash may"
        " then write records to files of other bounds than before it. -1: never.",
    )  # fmt: skip
    rotate_on_partition_change: bool = key(
        "rotate.file.on.partition.change", default=True, importance=Importance.LOW, group=CONNECTOR, order_in_group=6,
        display_name="Rotate files on partition change",
        doc="With rotate.interval.ms, whether a record of another directory than the one before ends the files.",
    )  # fmt: skip
    max_open_files: int = key(
        "partitioner.max.open.files", default=-1, importance=Importance.LOW, group=CONNECTOR, order_in_group=7,
        display_name="Most open files", doc="Files that a Kafka partition may have open; one more ends them. -1: any"
        " number, which costs disk space but no memory.",
    )  # fmt: skip
    schema_compatibility: str = key(
        "schema.compatibility", default="NONE", check=ValidString("NONE", "BACKWARD", "FORWARD", "FULL"),
        importance=Importance.HIGH, group=CONNECTOR, order_in_group=8, display_name="Schema Compatibility",
        doc="Which records of another schema are projected to that of the open file; others end the files.",
    )  # fmt: skip
    behavior_on_null_values: str = key(
        "behavior.on.null.values", default=FAIL, check=_one_of(IGNORE, FAIL, WRITE), importance=Importance.LOW,
        group=CONNECTOR, order_in_group=9, display_name="Behavior for null-valued records",
        doc="What happens to tombstones: ignore, fail, or write their keys to tombstone.encoded.partition.",
    )  # fmt: skip
    report_nulls: bool = key(
        "report.null.values.to.dlq", default=True, importance=Importance.LOW, group=CONNECTOR, order_in_group=10,
        display_name="Report null value to dlq",
        doc="Whether ignored tombstones go to the dead letter queue, if there is one.",
    )  # fmt: skip
    tombstone_path: str = key(
        "tombstone.encoded.partition", default="tombstone", importance=Importance.LOW, group=CONNECTOR,
        order_in_group=11, display_name="Tombstone Encoded Partition", doc="Directory of tombstones.",
    )  # fmt: skip
    retry_backoff_ms: int = key(
        "retry.backoff.ms", default=5000, type=ConfigType.LONG, check=Range.at_least(1), importance=Importance.LOW,
        group=CONNECTOR, order_in_group=12, display_name="Retry Backoff (ms)",
        doc="Pause before an upload is tried again that the store did not take. It is tried until the store takes it.",
    )  # fmt: skip
    conditional_writes: bool = key(
        "enable.conditional.writes", default=True, importance=Importance.LOW, group=CONNECTOR, order_in_group=13,
        display_name="Enable conditional writes", doc="Whether the store is asked to refuse names that exist, so that"
        " a task that was replaced cannot change files. Set false for stores that lack If-None-Match.",
    )  # fmt: skip
    buffer_memory: int = key(
        "buffer.memory.bytes", default=67_108_864, type=ConfigType.LONG, check=Range.at_least(1_048_576),
        importance=Importance.LOW, group=CONNECTOR, order_in_group=14, display_name=f"Buffer Memory {_BASE}",
        doc="Bytes of records of all open files that a task keeps in memory; more wait on this machine's disk.",
    )  # fmt: skip
    zero_pad_width: int = key(
        "filename.offset.zero.pad.width", default=10, check=Range.at_least(0), importance=Importance.LOW,
        group=CONNECTOR, order_in_group=15, display_name="Filename Offset Zero Pad Width",
        doc="Digits of the offset in a file's name, at least.",
    )  # fmt: skip
    avro_codec: str = key(
        "avro.codec", default="null", check=ValidString("null", "deflate", "snappy", "bzip2", "zstandard"),
        importance=Importance.LOW, group=CONNECTOR, order_in_group=16, display_name="Avro Compression Codec",
        doc="Compression of Avro files.",
    )  # fmt: skip
    parquet_codec: str = key(
        "parquet.codec", default="snappy", importance=Importance.LOW, group=CONNECTOR, order_in_group=17,
        display_name="Parquet Compression Codec", doc="Compression of Parquet files.",
    )  # fmt: skip
    decimal_format: str = key(
        "json.decimal.format", default="BASE64", check=_one_of("base64", "numeric"), group=CONNECTOR,
        order_in_group=18, display_name="Decimal Format", doc="Decimals in JSON: BASE64 or NUMERIC.",
    )  # fmt: skip
    connect_meta_data: bool = key(
        "connect.meta.data", default=True, importance=Importance.LOW, group=CONNECTOR, order_in_group=19,
        display_name="Connect Metadata", doc="Whether Avro schemas of files tell names and versions of Connect's.",
    )  # fmt: skip
    enhanced_avro: bool = key(
        "enhanced.avro.schema.support", default=True, importance=Importance.LOW, group=CONNECTOR, order_in_group=20,
        display_name="Enhanced Avro Support", doc="Whether enums and namespaces are kept in Avro schemas of files.",
    )  # fmt: skip
    optional_map_keys: bool = key(
        "allow.optional.map.keys", default=False, importance=Importance.LOW, group=CONNECTOR, order_in_group=21,
        display_name="Allow Optional Map Keys", doc="Whether maps with optional text keys are Avro maps.",
    )  # fmt: skip
    bytes_extension: str = key(
        "format.bytearray.extension", default=".bin", importance=Importance.LOW, group=CONNECTOR, order_in_group=22,
        display_name="Output file extension for ByteArrayFormat", doc="How names of ByteArrayFormat's files end.",
    )  # fmt: skip
    bytes_separator: str | None = key(
        "format.bytearray.separator", default=None, importance=Importance.LOW, group=CONNECTOR, order_in_group=23,
        display_name="Line separator ByteArrayFormat", doc="What follows each record. Not set: a line feed.",
    )  # fmt: skip
    infers_schemas: bool = key(
        "schema.inference.enable", default=False, importance=Importance.LOW, group=CONNECTOR, order_in_group=24,
        display_name="Enable Schema Inference", doc="Whether ParquetFormat and AvroFormat write maps without schema:"
        " a file has a field for each member of its maps, optional and of the type that holds all values.",
    )  # fmt: skip
    topics_dir: str = key(
        "topics.dir", default="topics", importance=Importance.HIGH, group=STORAGE, order_in_group=2,
        display_name="Topics directory", doc="Directory above those of the topics.",
    )  # fmt: skip
    directory_delim: str = key(
        "directory.delim", default="/", check=NonEmptyString(), group=STORAGE, order_in_group=4,
        display_name="Directory Delimiter", doc="What separates directories in names.",
    )  # fmt: skip
    file_delim: str = key(
        "file.delim", default="+", group=STORAGE, order_in_group=5, display_name="File Delimiter",
        doc="What separates topic, partition and offset in a file's name.",
    )  # fmt: skip
    store_keys: bool = key(
        "store.kafka.keys", default=False, importance=Importance.LOW, group=KEYS, order_in_group=1,
        display_name="Store kafka keys", doc="Whether keys are written to files beside, with .keys in their names.",
    )  # fmt: skip
    store_headers: bool = key(
        "store.kafka.headers", default=False, importance=Importance.LOW, group=KEYS, order_in_group=2,
        display_name="Store kafka headers",
        doc="Whether headers are written to files beside, with .headers in their names.",
    )  # fmt: skip
    keys_format_class: str = key(
        "keys.format.class", default="AvroFormat", check=choice(FORMATS, FORMAT), importance=Importance.LOW,
        group=KEYS, order_in_group=3, display_name="Keys format class", doc="Format of the files of keys.",
    )  # fmt: skip
    headers_format_class: str = key(
        "headers.format.class", default="AvroFormat", check=choice(FORMATS, FORMAT), importance=Importance.LOW,
        group=KEYS, order_in_group=4, display_name="Headers format class", doc="Format of the files of headers.",
    )  # fmt: skip
    partitioner_class: str = key(
        "partitioner.class", default="DefaultPartitioner", check=choice(PARTITIONERS, PARTITION),
        importance=Importance.HIGH, group=PARTITIONER, order_in_group=1, display_name="Partitioner Class",
        doc="Which directory a record's file is in: Confluent's DefaultPartitioner, FieldPartitioner,"
        " TimeBasedPartitioner, DailyPartitioner or HourlyPartitioner, or a class of one's own.",
    )  # fmt: skip
    partition_fields: list[str] = key(
        "partition.field.name", default="", check=Lambda(_check_fields, "names of fields"), group=PARTITIONER,
        order_in_group=2, display_name="Partition Field Name",
        doc="Fields whose values FieldPartitioner makes directories of, with points for fields within.",
    )  # fmt: skip
    partition_duration_ms: int = key(
        "partition.duration.ms", default=-1, type=ConfigType.LONG, group=PARTITIONER, order_in_group=3,
        display_name="Partition Duration (ms)", doc="Milliseconds of a directory of TimeBasedPartitioner.",
    )  # fmt: skip
    path_format: str = key(
        "path.format", default="", group=PARTITIONER, order_in_group=4, width=Width.LONG, display_name="Path Format",
        doc="Directory of TimeBasedPartitioner, a pattern of Joda-Time: 'year'=yyyy/'month'=MM/'day'=dd.",
    )  # fmt: skip
    locale: str = key(
        "locale", default="", group=PARTITIONER, order_in_group=5, display_name="Locale",
        doc="Language of names in directories; they are English in any.",
    )  # fmt: skip
    timezone: str = key(
        "timezone", default="", check=Lambda(_check_zone, "a time zone"), group=PARTITIONER, order_in_group=6,
        display_name="Timezone", doc="Time zone of directories and of rotate.schedule.interval.ms.",
    )  # fmt: skip
    timestamp_extractor: str = key(
        "timestamp.extractor", default="Wallclock", check=choice(EXTRACTORS, EXTRACT), group=PARTITIONER,
        order_in_group=7, display_name="Timestamp Extractor", doc="Time of a record for its directory: Wallclock,"
        " Record, RecordField, or a class of one's own. Wallclock writes records of a crash to other directories.",
    )  # fmt: skip
    timestamp_field: str = key(
        "timestamp.field", default="timestamp", group=PARTITIONER, order_in_group=8,
        display_name="Record Field for Timestamp Extractor", doc="Field that RecordField reads.",
    )  # fmt: skip

    known_formats: ClassVar[Mapping[str, str]] = FORMATS

    def place(self) -> Place:
        """Return the store; raises `ConfigError` for keys that do not fit together."""
        raise NotImplementedError

    def faults(self) -> dict[str, str]:
        """Return what is wrong across the keys of a store, by key."""
        return {}

    def affixed(self, path: str, schema: Schema | None) -> str:
        """Return a directory with what a store's keys add of the schema."""
        return path

    @property
    def writes_tombstones(self) -> bool:
        """Return whether tombstones have files."""
        return self.behavior_on_null_values.lower() == WRITE

    @cached_property
    def values(self) -> Mapping[str, Any]:
        """Return the keys for formats and partitioners: parsed, or as they are where nothing here declares them."""
        given = given_values(self)
        given["timestamp.extractor"] = counterpart(
            "timestamp.extractor", self.timestamp_extractor, EXTRACTORS, EXTRACT
        )
        return given

    def partitioner(self) -> Any:
        """Return a partitioner."""
        return counterpart("partitioner.class", self.partitioner_class, PARTITIONERS, PARTITION)(self.values)

    def formats(self) -> dict[str, FileFormat]:
        """Return the formats of the files of values, keys and headers, the last two if they are written."""
        chosen = {"value": ("format.class", self.format_class)}
        if self.store_keys:
            chosen["key"] = ("keys.format.class", self.keys_format_class)
        if self.store_headers:
            chosen["headers"] = ("headers.format.class", self.headers_format_class)
        found = {kind: counterpart(*each, self.known_formats, FORMAT)(self.values) for kind, each in chosen.items()}
        if self.infers_schemas:
            from hearth_storage.format.inferred_format import InferredFormat

            found["value"] = InferredFormat(found["value"])
        return found
