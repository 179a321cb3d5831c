"""The sink to a directory."""

from __future__ import annotations

from hearth_api import Importance, NonEmptyString, Task, ValidString, key
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.place.place import Place
from hearth_storage.sink.sink_setting import STORAGE, StorageSinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class FilesSinkConfig(StorageSinkConfig):
    """Settings of the sink to a directory."""

    directory: str = key(
        "directory", check=NonEmptyString(), importance=Importance.HIGH, group=STORAGE, order_in_group=1,
        display_name="Directory", doc="Directory above topics.dir, which every executor must be able to write to.",
    )  # fmt: skip
    compression_type: str = key(
        "file.compression.type", default="none", check=ValidString("none", "gzip"), importance=Importance.LOW,
        group=STORAGE, order_in_group=6, display_name="Compression type",
        doc="Compression of files of JsonFormat, ByteArrayFormat and StringFormat: none or gzip.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the directory."""
        return LocalPlace(self.directory)


class FilesSinkConnector(StorageSinkConnector):
    """Writes records to files below a directory, under the names that the sinks of object stores give them."""

    settings = FilesSinkConfig
    place_key = "directory"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.local_task import FilesSinkTask

        return FilesSinkTask
