"""The task of the sink to Google's storage."""

from __future__ import annotations

from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class GcsSinkTask(StorageSinkTask):
    """Writes records to files in a bucket of Google's storage."""

    settings = GcsSinkConfig
