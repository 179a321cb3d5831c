"""The task of the sink to S3."""

from __future__ import annotations

from hearth_storage.sink.s3_setting import S3SinkConfig
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class S3SinkTask(StorageSinkTask):
    """Writes records to files in a bucket."""

    settings = S3SinkConfig
