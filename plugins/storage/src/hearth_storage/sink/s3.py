"""The sink to S3 and stores that speak it."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.s3_setting import S3_WITHOUT_EFFECT, S3SinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class S3SinkConnector(StorageSinkConnector):
    """Writes records to files in a bucket, as Confluent's `S3SinkConnector`."""

    settings = S3SinkConfig
    without_effect = S3_WITHOUT_EFFECT
    place_key = "s3.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.s3_task import S3SinkTask

        return S3SinkTask
