"""The keys of the sink to Google's storage."""

from __future__ import annotations

from hearth_api import Importance, Range, ValidString, key
from hearth_storage.place.client_option import STORAGE, storage_check
from hearth_storage.place.google_place_setting import GCS, GcsPlaceConfig
from hearth_storage.sink.sink_setting import StorageSinkConfig


class GcsSinkConfig(GcsPlaceConfig, StorageSinkConfig):
    """Settings of the sink to Google's storage."""

    storage_class: str = key(
        "storage.class", check=storage_check("io.confluent.connect.gcs.storage.GcsStorage"),
        importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        doc="io.confluent.connect.gcs.storage.GcsStorage, which is the only one.",
    )  # fmt: skip
    compression_type: str = key(
        "gcf.compression.type", default="none", check=ValidString("none", "gzip"), importance=Importance.LOW,
        group=GCS, order_in_group=10, display_name="Compression type",
        doc="Compression of files of JsonFormat, ByteArrayFormat and StringFormat: none or gzip.",
    )  # fmt: skip
    compression_level: int = key(
        "gcf.compression.level", default=-1, check=Range.between(-1, 9), importance=Importance.LOW, group=GCS,
        order_in_group=11, display_name="Compression Level", doc="Level of gzip; -1 is its default.",
    )  # fmt: skip
