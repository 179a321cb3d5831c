"""The sink tasks of the stores; HDFS has one of its own."""

from __future__ import annotations

from hearth_storage.sink.azure_setting import AzureBlobSinkConfig, DataLakeSinkConfig
from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.local_setting import FilesSinkConfig
from hearth_storage.sink.s3_setting import S3SinkConfig
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class S3SinkTask(StorageSinkTask):
    """Writes records to files in a bucket."""

    settings = S3SinkConfig


class GcsSinkTask(StorageSinkTask):
    """Writes records to files in a bucket of Google's storage."""

    settings = GcsSinkConfig


class AzureBlobSinkTask(StorageSinkTask):
    """Writes records to files in a container."""

    settings = AzureBlobSinkConfig


class DataLakeSinkTask(StorageSinkTask):
    """Writes records to files in a file system of the data lake."""

    settings = DataLakeSinkConfig


class FilesSinkTask(StorageSinkTask):
    """Writes records to files below a directory."""

    settings = FilesSinkConfig
