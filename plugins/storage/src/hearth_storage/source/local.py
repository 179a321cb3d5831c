"""The source of a directory."""

from __future__ import annotations

from hearth_api import ConfigType, Importance, NonEmptyString, Range, Task, key
from hearth_storage.place.local_place import LocalPlace
from hearth_storage.place.place import Place
from hearth_storage.source.source_setting import CONNECTOR, STORAGE, StorageSourceConfig
from hearth_storage.source.storage_source import StorageSourceConnector


class FilesSourceConfig(StorageSourceConfig):
    """Settings of the source of a directory."""

    directory: str = key(
        "directory", check=NonEmptyString(), importance=Importance.HIGH, group=STORAGE, order_in_group=0,
        display_name="Directory", doc="Directory above topics.dir, which every executor must be able to read.",
    )  # fmt: skip
    poll_interval_ms: int = key(
        "file.poll.interval.ms", default=5_000, type=ConfigType.LONG, check=Range.at_least(1), group=CONNECTOR,
        order_in_group=20, display_name="Poll interval", doc="Milliseconds between two listings of the files.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the directory."""
        return LocalPlace(self.directory)


class FilesSourceConnector(StorageSourceConnector):
    """Reads files below a directory."""

    settings = FilesSourceConfig
    place_key = "directory"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.source.source_task import FilesSourceTask

        return FilesSourceTask
