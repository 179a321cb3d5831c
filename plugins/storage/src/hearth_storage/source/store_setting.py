"""The keys of the sources of each store: those of the place, those of all sources, and the interval of listings."""

from __future__ import annotations

from typing import Any

from hearth_api import ConfigType, Importance, NonEmptyString, Range, key
from hearth_storage.place.azure_place_setting import AzureBlobPlaceConfig, DataLakePlaceConfig
from hearth_storage.place.client_option import STORAGE
from hearth_storage.place.directory import place_of
from hearth_storage.place.google_place_setting import GcsPlaceConfig
from hearth_storage.place.place import Place
from hearth_storage.place.s3_place_setting import S3PlaceConfig
from hearth_storage.source.source_setting import CONNECTOR, StorageSourceConfig


def _interval(store: str, default: int = 60_000) -> Any:
    return key(
        f"{store}.poll.interval.ms", default=default, type=ConfigType.LONG, check=Range.at_least(1), group=CONNECTOR,
        order_in_group=20, display_name="Poll interval", doc="Milliseconds between two listings of the files.",
    )  # fmt: skip


class S3SourceConfig(S3PlaceConfig, StorageSourceConfig):
    """Settings of the S3 source."""

    poll_interval_ms: int = _interval("s3")


class GcsSourceConfig(GcsPlaceConfig, StorageSourceConfig):
    """Settings of the source of Google's storage."""

    poll_interval_ms: int = _interval("gcs")


class AzureBlobSourceConfig(AzureBlobPlaceConfig, StorageSourceConfig):
    """Settings of the source of blob storage."""

    poll_interval_ms: int = _interval("azblob")


class DataLakeSourceConfig(DataLakePlaceConfig, StorageSourceConfig):
    """Settings of the source of the data lake."""

    poll_interval_ms: int = _interval("azure.datalake.gen2")


class FilesSourceConfig(StorageSourceConfig):
    """Settings of the source of a directory."""

    directory: str = key(
        "directory", check=NonEmptyString(), importance=Importance.HIGH, group=STORAGE, order_in_group=0,
        display_name="Directory", doc="Directory above topics.dir, which every executor must be able to read:"
        " a path, or an address of HDFS such as hdfs://namenode:8020/lake.",
    )  # fmt: skip
    poll_interval_ms: int = _interval("file", 5_000)

    def place(self) -> Place:
        """Return the directory."""
        return place_of(self.directory)
