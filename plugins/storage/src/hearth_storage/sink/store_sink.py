"""The sink connectors of each store. They import tasks late: describing a connector does not load Arrow."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.azure_setting import AZURE_WITHOUT_EFFECT, AzureBlobSinkConfig, DataLakeSinkConfig
from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.hdfs_setting import HDFS_WITHOUT_EFFECT, HdfsSinkConfig
from hearth_storage.sink.local_setting import FilesSinkConfig
from hearth_storage.sink.s3_setting import S3_WITHOUT_EFFECT, S3SinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class S3SinkConnector(StorageSinkConnector):
    """Writes records to files in a bucket, as Confluent's `S3SinkConnector`."""

    settings = S3SinkConfig
    without_effect = S3_WITHOUT_EFFECT
    place_key = "s3.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.sink_task import S3SinkTask

        return S3SinkTask


class GcsSinkConnector(StorageSinkConnector):
    """Writes records to files in a bucket, as Confluent's `GcsSinkConnector`."""

    settings = GcsSinkConfig
    place_key = "gcs.bucket.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.sink_task import GcsSinkTask

        return GcsSinkTask


class AzureBlobStorageSinkConnector(StorageSinkConnector):
    """Writes records to files in a container, as Confluent's `AzureBlobStorageSinkConnector`."""

    settings = AzureBlobSinkConfig
    without_effect = AZURE_WITHOUT_EFFECT
    place_key = "azblob.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.sink_task import AzureBlobSinkTask

        return AzureBlobSinkTask


class AzureDataLakeGen2SinkConnector(StorageSinkConnector):
    """Writes records to files in a file system, as Confluent's `AzureDataLakeGen2SinkConnector`."""

    settings = DataLakeSinkConfig
    without_effect = AZURE_WITHOUT_EFFECT
    place_key = "azure.datalake.gen2.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.sink_task import DataLakeSinkTask

        return DataLakeSinkTask


class HdfsSinkConnector(StorageSinkConnector):
    """Writes records to files in HDFS, as Confluent's `HdfsSinkConnector` of Hadoop 2."""

    settings = HdfsSinkConfig
    without_effect = HDFS_WITHOUT_EFFECT
    place_key = "store.url"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.hdfs_task import HdfsSinkTask

        return HdfsSinkTask


class Hdfs3SinkConnector(HdfsSinkConnector):
    """Writes records to files in HDFS, as Confluent's `Hdfs3SinkConnector`; its keys and files are the same."""


class FilesSinkConnector(StorageSinkConnector):
    """Writes records to files below a directory, under the names that the sinks of object stores give them."""

    settings = FilesSinkConfig
    place_key = "directory"

    def task_class(self) -> type[Task]:
        """Return the task class."""
        from hearth_storage.sink.sink_task import FilesSinkTask

        return FilesSinkTask
