"""The source tasks of the stores."""

from __future__ import annotations

from hearth_storage.source.storage_source_task import StorageSourceTask
from hearth_storage.source.store_setting import (
    AzureBlobSourceConfig,
    DataLakeSourceConfig,
    FilesSourceConfig,
    GcsSourceConfig,
    S3SourceConfig,
)


class S3SourceTask(StorageSourceTask):
    """Reads files of a bucket of S3."""

    settings = S3SourceConfig


class GcsSourceTask(StorageSourceTask):
    """Reads files of a bucket of Google's storage."""

    settings = GcsSourceConfig


class AzureBlobSourceTask(StorageSourceTask):
    """Reads files of a container of Azure's storage."""

    settings = AzureBlobSourceConfig


class DataLakeSourceTask(StorageSourceTask):
    """Reads files of a file system of Azure's data lake."""

    settings = DataLakeSourceConfig


class FilesSourceTask(StorageSourceTask):
    """Reads files below a directory."""

    settings = FilesSourceConfig
