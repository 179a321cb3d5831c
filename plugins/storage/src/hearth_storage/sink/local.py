"""The sink to a directory."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.local_setting import FilesSinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class FilesSinkConnector(StorageSinkConnector):
    """Writes records to files below a directory, under the names that the sinks of object stores give them."""

    settings = FilesSinkConfig
    place_key = "directory"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.local_task import FilesSinkTask

        return FilesSinkTask
