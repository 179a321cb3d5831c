"""A place by the address of a directory: on this machine, or in HDFS."""

from __future__ import annotations

from hearth_storage.place.local_place import LocalPlace
from hearth_storage.place.place import Place

HDFS = "hdfs://"


def place_of(directory: str) -> Place:
    """Return the place of a path, or of an address such as `hdfs://namenode:8020/lake`."""
    if directory.startswith(HDFS):
        from hearth_storage.place.hdfs_place import HdfsPlace

        return HdfsPlace(directory)
    return LocalPlace(directory)
