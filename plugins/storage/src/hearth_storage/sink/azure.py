"""The sinks to Azure's blob storage and to its data lake."""

from __future__ import annotations

from hearth_api import Task
from hearth_storage.sink.azure_setting import AZURE_WITHOUT_EFFECT, AzureBlobSinkConfig, DataLakeSinkConfig
from hearth_storage.sink.storage_sink import StorageSinkConnector


class AzureBlobStorageSinkConnector(StorageSinkConnector):
    """Writes records to files in a container, as Confluent's `AzureBlobStorageSinkConnector`."""

    settings = AzureBlobSinkConfig
    without_effect = AZURE_WITHOUT_EFFECT
    place_key = "azblob.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.azure_task import AzureBlobSinkTask

        return AzureBlobSinkTask


class AzureDataLakeGen2SinkConnector(StorageSinkConnector):
    """Writes records to files in a file system, as Confluent's `AzureDataLakeGen2SinkConnector`."""

    settings = DataLakeSinkConfig
    without_effect = AZURE_WITHOUT_EFFECT
    place_key = "azure.datalake.gen2.container.name"

    def task_class(self) -> type[Task]:
        """Return the task class; imported here so that describing the connector does not load Arrow."""
        from hearth_storage.sink.azure_task import DataLakeSinkTask

        return DataLakeSinkTask
