"""The keys of the sinks to Azure's blob storage and to its data lake."""

from __future__ import annotations

from hearth_api import Importance, key
from hearth_storage.place.azure_place_setting import AZURE, AzureBlobPlaceConfig, DataLakePlaceConfig
from hearth_storage.place.client_option import STORAGE, storage_check
from hearth_storage.sink.sink_setting import (
    WITHOUT_EFFECT,
    StorageSinkConfig,
    compression_level_key,
    compression_type_key,
)

AZURE_WITHOUT_EFFECT = {
    **WITHOUT_EFFECT,
    "azblob.retry.type": "pauses grow exponentially",
    "azblob.retry.max.backoff.ms": "pauses grow up to 15 seconds",
    "azblob.connection.timeout.ms": "a request may take a minute",
    "azblob.retry.secondary.host": "the primary host is asked alone",
}
"""Keys that are accepted, each with the reason why it does nothing."""


class AzureSinkConfig(StorageSinkConfig):
    """Settings that both sinks have."""

    compression_type: str = compression_type_key("az.compression.type", AZURE, 20)
    compression_level: int = compression_level_key("az.compression.level", AZURE, 21)


class AzureBlobSinkConfig(AzureBlobPlaceConfig, AzureSinkConfig):
    """Settings of the sink to blob storage."""

    storage_class: str = key(
        "storage.class", default="io.confluent.connect.azure.blob.storage.AzureBlobStorageStorage",
        check=storage_check("io.confluent.connect.azure.blob.storage.AzureBlobStorageStorage"),
        importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        doc="io.confluent.connect.azure.blob.storage.AzureBlobStorageStorage, which is the only one.",
    )  # fmt: skip


class DataLakeSinkConfig(DataLakePlaceConfig, AzureSinkConfig):
    """Settings of the sink to the data lake, generation 2."""

    storage_class: str = key(
        "storage.class", default="io.confluent.connect.azure.datalake.gen2.storage.AzureDataLakeGen2Storage",
        check=storage_check("io.confluent.connect.azure.datalake.gen2.storage.AzureDataLakeGen2Storage"),
        importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        doc="io.confluent.connect.azure.datalake.gen2.storage.AzureDataLakeGen2Storage, which is the only one.",
    )  # fmt: skip
