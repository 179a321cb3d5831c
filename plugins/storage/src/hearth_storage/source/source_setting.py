"""The keys that the sources of all stores have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from hearth_api import ConfigError, ConfigType, Importance, Lambda, Range, Settings, ValidString, key
from hearth_api.java import PatternError, compile_pattern
from hearth_storage.class_choice import choice, counterpart
from hearth_storage.format.format import FORMAT, FORMATS, FileFormat, given_values
from hearth_storage.place.client_option import STORAGE
from hearth_storage.place.place import Place

CONNECTOR, KEYS = "Connector", "Keys and Headers"
RESTORE, GENERIC = "RESTORE_BACKUP", "GENERIC"
FAIL, IGNORE, LOG, APPEND, REREAD = "fail", "ignore", "log", "append", "reread"
TASK, TASKS = "task.number", "task.count"
"""Keys of a task's configuration: which share it reads."""
LARGE_BATCH = 10_000
"""Rows of a batch where `record.batch.max.size` is not set: batches are columns, so many rows cost little."""
SOURCE_FORMATS = {**FORMATS, "CsvFormat": "hearth_storage.format.delimited:CsvFormat"}
BY_EXTENSION = {
    ".parquet": "ParquetFormat", ".avro": "AvroFormat", ".json": "JsonFormat", ".jsonl": "JsonFormat",
    ".ndjson": "JsonFormat", ".csv": "CsvFormat", ".txt": "StringFormat", ".log": "StringFormat",
    ".bin": "ByteArrayFormat",
}  # fmt: skip
WITHOUT_EFFECT = {
    "schema.cache.size": "schemas are cached without a limit that matters",
    "confluent.license": "no licence is needed",
    "confluent.topic.bootstrap.servers": "no licence is needed",
    "confluent.topic.replication.factor": "no licence is needed",
    "partitioner.class": "the names of files tell topics and partitions",
    "partition.field.name": "the names of files tell topics and partitions",
    "path.format": "the names of files tell topics and partitions",
}
"""Keys that are accepted, each with the reason why it does nothing."""


def _check_topics(name: str, value: Any) -> None:
    for each in value or ():
        topic, colon, expression = each.partition(":")
        if not (topic.strip() and colon and expression):
            raise ConfigError(name, each, "is TOPIC:REGEX, such as orders:.*orders.*")
        try:
            compile_pattern(expression)
        except PatternError as error:
            raise ConfigError(name, each, f"has no regular expression of Java: {error}") from error


class StorageSourceConfig(Settings):
    """Settings of a source; each store adds its own."""

    mode: str = key(
        "mode", default=RESTORE, check=ValidString(RESTORE, GENERIC), importance=Importance.HIGH, group=CONNECTOR,
        order_in_group=1, display_name="Mode", doc="RESTORE_BACKUP reads what a sink wrote, into the topics and"
        " partitions that its names tell. GENERIC reads any files, into the topics of topic.regex.list.",
    )  # fmt: skip
    format_class: str = key(
        "format.class", default="", check=choice(SOURCE_FORMATS, FORMAT), importance=Importance.HIGH, group=CONNECTOR,
        order_in_group=2, display_name="Format class", doc="Format of the files: AvroFormat, JsonFormat,"
        " ParquetFormat, ByteArrayFormat, StringFormat or CsvFormat. Empty: by the extension of each file.",
    )  # fmt: skip
    topic_regexes: list[str] = key(
        "topic.regex.list", default="", check=Lambda(_check_topics, "TOPIC:REGEX, ..."), importance=Importance.HIGH,
        group=CONNECTOR, order_in_group=3, display_name="Topics and regular expressions",
        doc="For GENERIC: TOPIC:REGEX, ...; a file goes to the first topic whose expression matches its whole name."
        " Files that match none are passed over.",
    )  # fmt: skip
    folders: list[str] = key(
        "folders", default="", importance=Importance.HIGH, group=CONNECTOR, order_in_group=4, display_name="Folders",
        doc="For GENERIC: directories below topics.dir that are read. Empty: all.",
    )  # fmt: skip
    batch_size: int = key(
        "record.batch.max.size", default=200, check=Range.at_least(1), group=CONNECTOR, order_in_group=5,
        display_name="Record batch max size", doc=f"Most records of a poll. Not set: {LARGE_BATCH}.",
    )  # fmt: skip
    behavior_on_error: str = key(
        "behavior.on.error", default=FAIL, check=ValidString(FAIL, IGNORE, LOG), group=CONNECTOR, order_in_group=6,
        display_name="Behavior On Error", doc="What a file that does not parse does: fail the task, or go on with the"
        " next file, with a warning (log) or without (ignore).",
    )  # fmt: skip
    behavior_on_change: str = key(
        "behavior.on.change", default=IGNORE, check=ValidString(IGNORE, APPEND, REREAD), group=CONNECTOR,
        order_in_group=7, display_name="Behavior On Change", doc="What a file does that has changed since it was"
        " read: nothing but a warning (ignore), its rows behind those read (append), or all its rows (reread).",
    )  # fmt: skip
    starting_timestamp: int = key(
        "file.discovery.starting.timestamp", default=0, type=ConfigType.LONG, check=Range.at_least(0),
        importance=Importance.LOW, group=CONNECTOR, order_in_group=8, display_name="File discovery start",
        doc="Files that changed last before this time, in milliseconds since 1970, are passed over.",
    )  # fmt: skip
    decimal_format: str = key(
        "json.decimal.format", default="BASE64", importance=Importance.LOW, group=CONNECTOR, order_in_group=9,
        display_name="Decimal Format", doc="As of the sink; lines of JSON are read without schema.",
    )  # fmt: skip
    separator: str | None = key(
        "format.bytearray.separator", default=None, importance=Importance.LOW, group=CONNECTOR, order_in_group=10,
        display_name="Separator of ByteArrayFormat", doc="What ends each record. Not set: a line feed.",
    )  # fmt: skip
    delimiter: str = key(
        "csv.delimiter", default=",", importance=Importance.LOW, group=CONNECTOR, order_in_group=11,
        display_name="Delimiter of CsvFormat", doc="The character between the fields of a line.",
    )  # fmt: skip
    store_keys: bool = key(
        "store.kafka.keys", default=False, group=KEYS, order_in_group=1, display_name="Read keys",
        doc="Whether the sink wrote keys beside: a file waits for that of its keys.",
    )  # fmt: skip
    keys_format: str = key(
        "keys.format.class", default="AvroFormat", check=choice(FORMATS, FORMAT), importance=Importance.LOW,
        group=KEYS, order_in_group=2, display_name="Keys format class", doc="Format of the files of keys.",
    )  # fmt: skip
    store_headers: bool = key(
        "store.kafka.headers", default=False, group=KEYS, order_in_group=3, display_name="Read headers",
        doc="Whether the sink wrote headers beside: a file waits for that of its headers.",
    )  # fmt: skip
    headers_format: str = key(
        "headers.format.class", default="AvroFormat", check=choice(FORMATS, FORMAT), importance=Importance.LOW,
        group=KEYS, order_in_group=4, display_name="Headers format class", doc="Format of the files of headers.",
    )  # fmt: skip
    tombstone_partition: str = key(
        "tombstone.encoded.partition", default="tombstone", importance=Importance.LOW, group=KEYS, order_in_group=5,
        display_name="Tombstone directory", doc="Directory of files of keys whose records have no values.",
    )  # fmt: skip
    topics_dir: str = key(
        "topics.dir", default="topics", importance=Importance.HIGH, group=STORAGE, order_in_group=1,
        display_name="Topics directory", doc="Directory below which files are read. Empty: all of the place.",
    )  # fmt: skip
    directory_delim: str = key(
        "directory.delim", default="/", group=STORAGE, order_in_group=2, display_name="Directory Delimiter",
        doc="What the sink put between directories.",
    )  # fmt: skip
    file_delim: str = key(
        "file.delim", default="+", group=STORAGE, order_in_group=3, display_name="File Delimiter",
        doc="What the sink put between topic, partition and offset.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return where the files are."""
        raise NotImplementedError

    @property
    def poll_interval(self) -> float:
        """Return the seconds between two listings."""
        return next(int(value) for name, value in self.parsed.items() if name.endswith("poll.interval.ms")) / 1000

    @property
    def limit(self) -> int:
        """Return the most rows of a batch."""
        return self.batch_size if "record.batch.max.size" in self.originals else LARGE_BATCH

    @property
    def prefixes(self) -> list[str]:
        """Return what names begin with: the folders below `topics.dir`, or the directory itself."""
        above = f"{self.topics_dir}{self.directory_delim}" if self.topics_dir else ""
        if self.mode == RESTORE or not any(self.folders):
            return [above]
        delim = self.directory_delim
        return [f"{above}{each.strip(delim)}{delim}" for each in self.folders if each.strip(delim)]

    @cached_property
    def topics(self) -> list[tuple[str, Any]]:
        """Return the topics of GENERIC with their compiled expressions."""
        pairs = [each.partition(":") for each in self.topic_regexes]
        return [(topic.strip(), compile_pattern(expression)) for topic, _, expression in pairs]

    @cached_property
    def _values(self) -> Mapping[str, Any]:
        return given_values(self)

    @cached_property
    def _made(self) -> dict[str, FileFormat]:
        return {}

    def format_of(self, name: str) -> FileFormat | None:
        """Return the format of a file by its name without the extension of a compression; None for an unknown one."""
        chosen = self.format_class
        if not chosen:
            chosen = next((each for end, each in BY_EXTENSION.items() if name.lower().endswith(end)), "")
        return self.named("format.class", chosen) if chosen else None

    def named(self, key_name: str, chosen: str) -> FileFormat:
        """Return a format by the value of a key; made once."""
        if chosen not in self._made:
            self._made[chosen] = counterpart(key_name, chosen, SOURCE_FORMATS, FORMAT)(self._values)
        return self._made[chosen]


def source_faults(settings: StorageSourceConfig) -> dict[str, str]:
    """Return what is wrong across the keys of a source, by key."""
    if settings.mode == GENERIC and not any(settings.topic_regexes):
        return {"topic.regex.list": "is required for mode=GENERIC: TOPIC:REGEX, such as orders:.*"}
    return {}
