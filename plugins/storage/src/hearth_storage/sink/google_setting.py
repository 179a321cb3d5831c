"""The keys of the sink to Google's storage."""

from __future__ import annotations

from hearth_api import Importance, key
from hearth_storage.place.client_option import STORAGE, storage_check
from hearth_storage.place.google_place_setting import GCS, GcsPlaceConfig
from hearth_storage.sink.sink_setting import StorageSinkConfig, compression_level_key, compression_type_key


class GcsSinkConfig(GcsPlaceConfig, StorageSinkConfig):
    """Settings of the sink to Google's storage."""

    storage_class: str = key(
        "storage.class", check=storage_check("io.confluent.connect.gcs.storage.GcsStorage"),
        importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        doc="io.confluent.connect.gcs.storage.GcsStorage, which is the only one.",
    )  # fmt: skip
    compression_type: str = compression_type_key("gcf.compression.type", GCS, 10)
    compression_level: int = compression_level_key("gcf.compression.level", GCS, 11)
