"""The keys of a directory."""

from __future__ import annotations

from hearth_api import Importance, NonEmptyString, key
from hearth_storage.place.client_option import STORAGE
from hearth_storage.place.directory import place_of
from hearth_storage.place.place import Place
from hearth_storage.sink.sink_setting import StorageSinkConfig, compression_type_key


class FilesSinkConfig(StorageSinkConfig):
    """Settings of the sink to a directory."""

    directory: str = key(
        "directory", check=NonEmptyString(), importance=Importance.HIGH, group=STORAGE, order_in_group=1,
        display_name="Directory", doc="Directory above topics.dir, which every executor must be able to write to:"
        " a path, or an address of HDFS such as hdfs://namenode:8020/lake.",
    )  # fmt: skip
    compression_type: str = compression_type_key("file.compression.type", STORAGE, 6)

    def place(self) -> Place:
        """Return the directory."""
        return place_of(self.directory)
