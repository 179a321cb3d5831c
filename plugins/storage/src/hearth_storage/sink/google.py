"""The sink to Google's storage."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class GcsSinkConnector(StorageSinkConnector):
    """Writes records to files in a bucket, as Confluent's `GcsSinkConnector`."""

    settings = GcsSinkConfig
    place_key = "gcs.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.google_task import GcsSinkTask

        return GcsSinkTask
