"""Sinks of the other stores, by the configurations that people have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hearth_api import ConfigError, SinkConnector, TopicPartition
from hearth_api.testing import SinkRun
from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.s3_setting import S3SinkConfig
from hearth_storage.sink.store_sink import (
    AzureBlobStorageSinkConnector,
    AzureDataLakeGen2SinkConnector,
    FilesSinkConnector,
    GcsSinkConnector,
    S3SinkConnector,
)
from tests.object_store import AZURE_ACCOUNT, AZURE_KEY, StoreServer, google_credentials
from tests.unit.plugins.storage.world import TOPIC, committed, local_settings, order, s3_settings

SHARED = {
    "name": "copy", "flush.size": "3", "schema.compatibility": "NONE",
    "partitioner.class": "io.confluent.connect.storage.partitioner.DefaultPartitioner",
    "confluent.topic.bootstrap.servers": "broker:9092", "confluent.topic.replication.factor": "1",
}  # fmt: skip


def google_settings(server: StoreServer, folder: Path) -> dict[str, str]:
    """Return the configuration of Confluent's quick start for Google's storage."""
    key = folder / "keyfile.json"
    key.write_text(google_credentials(server))
    return {
        **SHARED, "gcs.bucket.name": "data", "gcs.part.size": "5242880", "gcs.credentials.path": str(key),
        "storage.class": "io.confluent.connect.gcs.storage.GcsStorage", "topics.dir": "sunk",
        "format.class": "io.confluent.connect.gcs.format.json.JsonFormat", "gcf.compression.type": "gzip",
    }  # fmt: skip


def azure_settings(server: StoreServer) -> dict[str, str]:
    """Return the configuration of Confluent's quick start for Azure's storage."""
    return {
        **SHARED, "azblob.account.name": AZURE_ACCOUNT, "azblob.account.key": AZURE_KEY, "topics.dir": "sunk",
        "azblob.container.name": "data", "store.url": server.url, "azblob.retry.backoff.ms": "4",
        "format.class": "io.confluent.connect.azure.blob.format.avro.AvroFormat",
    }  # fmt: skip


def lake_settings(server: StoreServer) -> dict[str, str]:
    """Return a configuration for the data lake, which azurite answers as blob storage."""
    return {
        **SHARED, "azure.datalake.gen2.account.name": AZURE_ACCOUNT, "azure.datalake.gen2.access.key": AZURE_KEY,
        "azure.datalake.gen2.container.name": "data", "store.url": server.url, "topics.dir": "lake",
        "format.class": "io.confluent.connect.azure.storage.format.parquet.ParquetFormat",
    }  # fmt: skip


def sunk(kind: type[SinkConnector], config: dict[str, str]) -> list[str]:
    """Validate a configuration, sink seven records and return the names of the files."""
    faults = {value.name: value.error_messages for value in kind().validate(config).values if value.error_messages}
    assert faults == {}
    with SinkRun(kind, config, [TopicPartition(TOPIC, 0)], in_columns=True) as run:
        run.put([order(at) for at in range(7)])
        assert committed(run, 6)
        place = run.tasks[0]._place  # type: ignore[attr-defined]
        return [entry.name for page in place.list(f"{config['topics.dir']}/") for entry in page]


def names_of(directory: str, extension: str) -> list[str]:
    """Return Java's names of seven records in files of three."""
    return [f"{directory}/orders/partition=0/orders+0+{at:010d}{extension}" for at in (0, 3)]


def test_google(google: StoreServer, tmp_path: Path) -> None:
    """The keys of the quick start, unchanged."""
    assert sunk(GcsSinkConnector, google_settings(google, tmp_path)) == names_of("sunk", ".json.gz")


def test_azure(azure: StoreServer) -> None:
    """Blob storage, and the data lake."""
    assert sunk(AzureBlobStorageSinkConnector, azure_settings(azure)) == names_of("sunk", ".avro")
    assert sunk(AzureDataLakeGen2SinkConnector, lake_settings(azure)) == names_of("lake", ".snappy.parquet")


def test_a_key_of_google_that_is_none_is_refused() -> None:
    """With the key that names it."""
    with pytest.raises(ConfigError, match=r"gcs.credentials.json is no key of a service account"):
        GcsSinkConfig({**SHARED, "gcs.bucket.name": "b", "format.class": "JsonFormat", "gcs.credentials.json": "{}",
                       "storage.class": "GcsStorage"}).place()  # fmt: skip


@pytest.mark.parametrize(
    ("more", "key", "message"),
    [
        ({"format_class": "io.confluent.connect.s3.format.parquet.ParkettFormat"}, "format.class", "ParquetFormat"),
        ({"partitioner_class": "TimePartitioner"}, "partitioner.class", "TimeBasedPartitioner"),
        ({"partitioner_class": "json.Missing"}, "partitioner.class", "is no class of this bundle"),
        ({"partitioner_class": "json.JSONDecoder"}, "partitioner.class", "does not derive from"),
        ({"partitioner_class": "FieldPartitioner"}, "partition.field.name", "is required"),
        ({"partitioner_class": "DailyPartitioner"}, "locale", "Locale cannot be empty"),
        ({"partitioner_class": "TimeBasedPartitioner", "timezone": "UTC", "path_format": "yyyy-bb",
          "partition_duration_ms": "1", "locale": "en"}, "path.format", "Illegal pattern component: bb"),
        ({"timezone": "Mars/Phobos"}, "timezone", "is no time zone"),
        ({"rotate_schedule_interval_ms": "1000"}, "timezone", "must be set when using rotate.schedule"),
        ({"behavior_on_null_values": "write"}, "store.kafka.keys", "mandatory when tombstone"),
        ({"format_class": "ParquetFormat", "s3_compression_type": "gzip"}, "format.class", "not valid for Parquet"),
        ({"flush_size": "0"}, "flush.size", "at least 1"),
        ({"s3_part_size": "1024"}, "s3.part.size", ""),
        ({"s3_region": "moon"}, "s3.region", "is no region"),
        ({"storage_class": "io.confluent.connect.s3.storage.S3Store"}, "storage.class", "S3Storage"),
        ({"s3_credentials_provider_class": "com.example.Mine"}, "s3.credentials.provider.class", "Java class"),
        ({"store_kafka_headers": "true", "headers_format_class": "ByteArrayFormat"}, "headers.format.class", "bytes"),
    ],
)  # fmt: skip
def test_a_wrong_value_is_named_with_its_key(more: dict[str, str], key: str, message: str) -> None:
    """Before the store is asked."""
    config = s3_settings("http://127.0.0.1:9", **more)
    found = S3SinkConnector().validate(config)[key].error_messages
    assert any(message in each for each in found), found


def test_a_bucket_that_is_absent_is_named(s3: StoreServer, tmp_path: Path) -> None:
    """With what to do; a directory as well."""
    (found,) = S3SinkConnector().validate(s3_settings(s3.url, "none"))["s3.bucket.name"].error_messages
    assert "NoSuchBucket" in found
    assert found.endswith("create the bucket, or correct its name")
    (found,) = FilesSinkConnector().validate(local_settings(tmp_path / "none"))["directory"].error_messages
    assert found.endswith("is no directory: create it")


def test_what_gives_up_a_promise_is_logged(s3: StoreServer, caplog: pytest.LogCaptureFixture) -> None:
    """The clock, letters that mean something else, a file for each few records, keys without effect."""
    caplog.set_level("INFO")
    more = {
        "partitioner_class": "TimeBasedPartitioner", "path_format": "YYYY/MM/DD", "partition_duration_ms": "1000",
        "timezone": "UTC", "locale": "en", "rotate_schedule_interval_ms": "1000", "flush_size": "1",
        "s3_elastic_buffer_enable": "true",
    }  # fmt: skip
    S3SinkConnector().start(s3_settings(s3.url, **more))
    for text in ("dd for the day", "the clock decides", "Wallclock", "a file for every 1", "s3.elastic.buffer.enable"):
        assert text in caplog.text


def test_credentials_never_show() -> None:
    """Neither in a setting's text nor in an address."""
    settings = S3SinkConfig(s3_settings("http://127.0.0.1:9", s3_proxy_url="http://p:1", s3_proxy_user="u",
                                        s3_proxy_password="hush"))  # fmt: skip
    assert "hush" not in repr(settings)
    assert settings.place().address == "s3://data"
    assert json.dumps(settings.originals)
