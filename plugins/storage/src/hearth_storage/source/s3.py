"""The source of S3 and stores that speak it."""

from __future__ import annotations

from hearth_api import ConfigType, Range, Task, key
from hearth_storage.sink.s3_setting import S3PlaceConfig
from hearth_storage.source.source_setting import CONNECTOR, StorageSourceConfig
from hearth_storage.source.storage_source import StorageSourceConnector


class S3SourceConfig(S3PlaceConfig, StorageSourceConfig):
    """Settings of the S3 source."""

    poll_interval_ms: int = key(
        "s3.poll.interval.ms", default=60_000, type=ConfigType.LONG, check=Range.at_least(1), group=CONNECTOR,
        order_in_group=20, display_name="Poll interval", doc="Milliseconds between two listings of the files.",
    )  # fmt: skip


class S3SourceConnector(StorageSourceConnector):
    """Reads files of a bucket, as Confluent's `S3SourceConnector`."""

    settings = S3SourceConfig
    place_key = "s3.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.source.source_task import S3SourceTask

        return S3SourceTask
