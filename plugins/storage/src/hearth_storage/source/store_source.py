"""The source connectors of each store. They import tasks late: describing a connector does not load Arrow."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.source.storage_source import StorageSourceConnector
from hearth_storage.source.store_setting import (
    AzureBlobSourceConfig,
    DataLakeSourceConfig,
    FilesSourceConfig,
    GcsSourceConfig,
    S3SourceConfig,
)


class S3SourceConnector(StorageSourceConnector):
    """Reads files of a bucket, as Confluent's `S3SourceConnector`."""

    settings = S3SourceConfig
    place_key = "s3.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.source.source_task import S3SourceTask

        return S3SourceTask


class GcsSourceConnector(StorageSourceConnector):
    """Reads files of a bucket, as Confluent's `GcsSourceConnector`."""

    settings = GcsSourceConfig
    place_key = "gcs.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.source.source_task import GcsSourceTask

        return GcsSourceTask


class AzureBlobStorageSourceConnector(StorageSourceConnector):
    """Reads files of a container, as Confluent's `AzureBlobStorageSourceConnector`."""

    settings = AzureBlobSourceConfig
    place_key = "azblob.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.source.source_task import AzureBlobSourceTask

        return AzureBlobSourceTask


class AzureDataLakeGen2SourceConnector(StorageSourceConnector):
    """Reads files of a file system of the data lake, generation 2."""

    settings = DataLakeSourceConfig
    place_key = "azure.datalake.gen2.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.source.source_task import DataLakeSourceTask

        return DataLakeSourceTask


class FilesSourceConnector(StorageSourceConnector):
    """Reads files below a directory."""

    settings = FilesSourceConfig
    place_key = "directory"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.source.source_task import FilesSourceTask

        return FilesSourceTask
