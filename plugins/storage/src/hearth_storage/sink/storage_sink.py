"""What the sink connectors of all stores have."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import ClassVar

from hearth_api import ConnectError, SinkConnector, TopicPartition
from hearth_storage.sink.joda_format import JodaFormat, pattern_warnings, zone_of
from hearth_storage.sink.sink_setting import WITHOUT_EFFECT, StorageSinkConfig
from hearth_storage.store_connector import StoreConnector

_TIMED = ("TimeBasedPartitioner", "DailyPartitioner", "HourlyPartitioner")
_COMPRESSED = ("JsonFormat", "ByteArrayFormat", "StringFormat")
_log = logging.getLogger(__name__)


def sink_faults(settings: StorageSinkConfig) -> dict[str, str]:
    """Return what is wrong across the keys of a sink, by key."""
    partitioner = _simple(settings.partitioner_class)
    faults = {}
    if partitioner == "FieldPartitioner" and not any(settings.partition_fields):
        faults["partition.field.name"] = "is required for FieldPartitioner: the fields that directories are made of"
    if partitioner in _TIMED:
        faults.update(_time_faults(settings, partitioner))
    if settings.rotate_schedule_interval_ms > 0 and not settings.timezone:
        faults["timezone"] = "timezone configuration must be set when using rotate.schedule.interval.ms"
    if settings.writes_tombstones and not settings.store_keys:
        faults["store.kafka.keys"] = (
            "Writing Kafka record keys to storage is mandatory when tombstone writing is enabled."
        )
    if settings.store_headers and _simple(settings.headers_format_class) == "ByteArrayFormat":
        faults["headers.format.class"] = "headers are no bytes: choose AvroFormat, JsonFormat or ParquetFormat"
    if settings.infers_schemas and (name := _simple(settings.format_class)) in _COMPRESSED:
        faults["schema.inference.enable"] = f"has no effect on {name}, whose files have no schema: leave it out"
    return faults | _compression_faults(settings) | settings.faults()


def sink_warnings(settings: StorageSinkConfig) -> list[str]:
    """Return what in valid settings gives up a promise, or probably means something else to its author."""
    partitioner = _simple(settings.partitioner_class)
    found = []
    if partitioner == "TimeBasedPartitioner":
        warnings = pattern_warnings(settings.path_format, settings.locale)
        found += [f"path.format={settings.path_format}: {each}" for each in warnings]
    if settings.rotate_interval_ms > 0 and partitioner in ("DefaultPartitioner", "FieldPartitioner"):
        found.append("rotate.interval.ms has no effect: this partitioner has no times")
    if settings.rotate_schedule_interval_ms > 0:
        found.append("rotate.schedule.interval.ms: the clock decides where files end, so another run has other files")
    if partitioner in _TIMED and settings.timestamp_extractor.startswith("Wallclock"):
        found.append(
            "timestamp.extractor=Wallclock: records that a crash repeats may be in two directories;"
            " Record and RecordField write each once"
        )
    if settings.flush_size < 100:
        found.append(
            f"flush.size={settings.flush_size}: a file for every {settings.flush_size} records of a partition"
        )
    return found


def _simple(name: str) -> str:
    return name.replace("$", ".").rpartition(".")[2]


def _time_faults(settings: StorageSinkConfig, partitioner: str) -> dict[str, str]:
    faults = {}
    if partitioner == "TimeBasedPartitioner":
        if settings.partition_duration_ms <= 0:
            faults["partition.duration.ms"] = "Partition duration needs to be a positive."
        if not settings.path_format.strip() or settings.path_format == settings.directory_delim:
            faults["path.format"] = "Path format cannot be empty."
        elif settings.timezone:
            try:
                JodaFormat(settings.path_format, zone_of(settings.timezone))
            except ConnectError as error:
                faults["path.format"] = f"Invalid value {settings.path_format}: {error}"
    if not settings.locale.strip():
        faults["locale"] = "Locale cannot be empty."
    if not settings.timezone.strip():
        faults["timezone"] = "Timezone cannot be empty."
    return faults


def _compression_faults(settings: StorageSinkConfig) -> dict[str, str]:
    kinds = {"format.class": settings.format_class}
    if settings.store_keys:
        kinds["keys.format.class"] = settings.keys_format_class
    if settings.store_headers:
        kinds["headers.format.class"] = settings.headers_format_class
    given = (value for name, value in settings.parsed.items() if name.endswith(".compression.type"))
    compression = next(given, "none")
    if compression == "none":
        return {}
    return {
        name: f"Compression Type {compression} not valid for {_simple(value)}: it is for {', '.join(_COMPRESSED)}"
        for name, value in kinds.items()
        if _simple(value) in ("AvroFormat", "ParquetFormat")
    }


class StorageSinkConnector(StoreConnector, SinkConnector):
    """Writes records to files, with any number of tasks; each store derives a class."""

    without_effect: ClassVar[Mapping[str, str]] = WITHOUT_EFFECT

    def faults(self, settings: StorageSinkConfig) -> dict[str, str]:
        """Return what is wrong across the keys, by key."""
        return sink_faults(settings)

    def start(self, props: Mapping[str, str]) -> None:
        """Check the settings, and log what they give up or what has no effect."""
        settings = self.settings(props)
        for name, fault in sink_faults(settings).items():
            raise ConnectError(f"{name}: {fault}")
        for text in sink_warnings(settings):
            _log.warning("%s", text)
        self.log_without_effect(props)
        self._props = dict(props)

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return the same configuration for every task."""
        return [dict(self._props) for _ in range(max_tasks)]

    def alter_offsets(self, connector_config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Accept every change; files that exist keep the records that they have from being written again."""
        return True
