"""The task of the sink to a directory."""

from __future__ import annotations

from hearth_storage.sink.local_setting import FilesSinkConfig
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class FilesSinkTask(StorageSinkTask):
    """Writes records to files below a directory."""

    settings = FilesSinkConfig
