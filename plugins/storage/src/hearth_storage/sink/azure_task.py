"""The tasks of the sinks to Azure."""

from __future__ import annotations

from hearth_storage.sink.azure_setting import AzureBlobSinkConfig, DataLakeSinkConfig
from hearth_storage.sink.storage_sink_task import StorageSinkTask


class AzureBlobSinkTask(StorageSinkTask):
    """Writes records to files in a container."""

    settings = AzureBlobSinkConfig


class DataLakeSinkTask(StorageSinkTask):
    """Writes records to files in a file system of the data lake."""

    settings = DataLakeSinkConfig
