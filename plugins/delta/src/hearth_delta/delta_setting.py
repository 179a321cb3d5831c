"""The keys of the sink."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from hearth_api import (
    ConfigError,
    Importance,
    Lambda,
    NonEmptyString,
    Password,
    Range,
    Settings,
    ValidString,
    Width,
    key,
)

INSERT, UPSERT = "insert", "upsert"
NONE, RECORD_KEY, RECORD_VALUE = "none", "record_key", "record_value"
LOCATION = "tables.location"
PROPERTY_PREFIX = "delta."
_TABLES, _WRITES, _STORE, _RETRIES = "Tables", "Writes", "Store", "Retries"
_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "file")
_ADDRESS = re.compile(r"(\w+)://.+")
_NOT_NEGATIVE = Range.at_least(0)
_POSITIVE = Range.at_least(1)


def _check_location(name: str, value: Any) -> None:
    text = str(value)
    address = _ADDRESS.fullmatch(text)
    if address is None and not os.path.isabs(text):
        raise ConfigError(name, value, "is neither an absolute path nor an address such as s3://bucket/lake")
    if address is not None and address[1] not in _SCHEMES:
        raise ConfigError(name, value, f"has an unknown scheme; known are {', '.join(_SCHEMES)}")


class DeltaSinkConfig(Settings):
    """Settings of the sink; keys that begin with `delta.` are properties of the tables that it creates."""

    location: str = key(
        LOCATION, check=Lambda(_check_location, "an absolute path or an address"), importance=Importance.HIGH,
        group=_TABLES, order_in_group=1, width=Width.LONG, display_name="Location of Tables",
        doc="Directory of the tables: an absolute path, or an address such as s3://bucket/lake, gs://bucket/lake or"
        " abfss://container@account.dfs.core.windows.net/lake.",
    )  # fmt: skip
    table_name_format: str = key(
        "table.name.format", default="${topic}", check=NonEmptyString(), group=_TABLES, order_in_group=2,
        width=Width.LONG, display_name="Table Name Format",
        doc="Name of the table within tables.location, with ${topic} for the topic.",
    )  # fmt: skip
    auto_create: bool = key(
        "auto.create", default=False, group=_TABLES, order_in_group=3, width=Width.SHORT, display_name="Auto-Create",
        doc="Whether a missing table is created. Its columns are nullable; keys that begin with delta. are its"
        " properties.",
    )  # fmt: skip
    auto_evolve: bool = key(
        "auto.evolve", default=False, group=_TABLES, order_in_group=4, width=Width.SHORT, display_name="Auto-Evolve",
        doc="Whether missing columns, also within structs, are added; nothing is changed or dropped.",
    )  # fmt: skip
    partition_fields: list[str] = key(
        "partition.field.name", default="", group=_TABLES, order_in_group=5, width=Width.LONG,
        display_name="Partition Field Name", doc="Columns by which a new table is partitioned, in order.",
    )  # fmt: skip
    parquet_codec: str = key(
        "parquet.codec", default="snappy", check=ValidString("none", "snappy", "gzip", "lz4", "zstd"),
        importance=Importance.LOW, group=_TABLES, order_in_group=6, width=Width.SHORT, display_name="Parquet Codec",
        doc="Compression of data files: none, snappy, gzip, lz4 or zstd.",
    )  # fmt: skip

    insert_mode: str = key(
        "insert.mode", default=INSERT, check=ValidString(INSERT, UPSERT), importance=Importance.HIGH, group=_WRITES,
        order_in_group=1, width=Width.MEDIUM, display_name="Insert Mode",
        doc="insert appends each record as a row. upsert keeps one row per primary key: that of its last record.",
    )  # fmt: skip
    pk_mode: str = key(
        "pk.mode", default=NONE, check=ValidString(NONE, RECORD_KEY, RECORD_VALUE), importance=Importance.HIGH,
        group=_WRITES, order_in_group=2, width=Width.MEDIUM, display_name="Primary Key Mode",
        doc="Where the primary key of insert.mode=upsert is: record_key or record_value; with insert, record_key adds"
        " the fields of the key to the row.",
    )  # fmt: skip
    pk_fields: list[str] = key(
        "pk.fields", default="", group=_WRITES, order_in_group=3, width=Width.LONG, display_name="Primary Key Fields",
        doc="Fields of the primary key, all fields of key or value if empty; the name of the column for a key that is"
        " no struct.",
    )  # fmt: skip
    delete_enabled: bool = key(
        "delete.enabled", default=False, group=_WRITES, order_in_group=4, width=Width.SHORT,
        display_name="Enable deletes",
        doc="Whether a record without value deletes the row of its key; requires insert.mode=upsert and"
        " pk.mode=record_key.",
    )  # fmt: skip
    flush_size: int = key(
        "flush.size", default=1_000_000, check=_POSITIVE, importance=Importance.HIGH, group=_WRITES, order_in_group=5,
        width=Width.SHORT, display_name="Flush Size",
        doc="Records after which those of a task are committed to their tables.",
    )  # fmt: skip
    flush_bytes: int = key(
        "flush.bytes", default=64 * 1024 * 1024, check=_POSITIVE, group=_WRITES, order_in_group=6, width=Width.SHORT,
        display_name="Flush Bytes", doc="Bytes in memory after which the records of a task are committed.",
    )  # fmt: skip
    flush_interval_ms: int = key(
        "flush.interval.ms", default=60_000, check=_POSITIVE, group=_WRITES, order_in_group=7, width=Width.SHORT,
        display_name="Flush Interval",
        doc="Milliseconds after which a record is committed at the latest; also when offsets are committed"
        " (offset.flush.interval.ms).",
    )  # fmt: skip

    store_url: str | None = key(
        "store.url", default=None, group=_STORE, order_in_group=1, width=Width.LONG, display_name="Store URL",
        doc="Address of an S3-compatible store, such as http://minio:9000; empty for Amazon's.",
    )  # fmt: skip
    s3_region: str | None = key(
        "s3.region", default=None, group=_STORE, order_in_group=2, width=Width.MEDIUM, display_name="AWS region",
        doc="Region of the bucket; empty for that of the environment.",
    )  # fmt: skip
    aws_access_key_id: str | None = key(
        "aws.access.key.id", default=None, group=_STORE, order_in_group=3, width=Width.MEDIUM,
        display_name="AWS Access Key ID",
        doc="Key of the account. Without it, credentials are those of the environment, or of the machine's role.",
    )  # fmt: skip
    aws_secret_access_key: Password | None = key(
        "aws.secret.access.key", default=None, group=_STORE, order_in_group=4, width=Width.MEDIUM,
        display_name="AWS Secret Access Key", doc="Secret of that key.",
    )  # fmt: skip
    path_style: bool = key(
        "s3.path.style.access.enabled", default=True, importance=Importance.LOW, group=_STORE, order_in_group=5,
        width=Width.SHORT, display_name="Path Style Access", doc="Whether the bucket stands in the path of requests.",
    )  # fmt: skip
    gcs_credentials_path: str | None = key(
        "gcs.credentials.path", default=None, group=_STORE, order_in_group=6, width=Width.LONG,
        display_name="GCS Credentials Path", doc="File with the credentials of a service account of Google's.",
    )  # fmt: skip
    azure_account: str | None = key(
        "azblob.account.name", default=None, group=_STORE, order_in_group=7, width=Width.MEDIUM,
        display_name="Azure Account Name", doc="Account of Azure's storage, unless the address names it.",
    )  # fmt: skip
    azure_account_key: Password | None = key(
        "azblob.account.key", default=None, group=_STORE, order_in_group=8, width=Width.MEDIUM,
        display_name="Azure Account Key", doc="Key of that account.",
    )  # fmt: skip

    max_retries: int = key(
        "max.retries", default=10, check=_NOT_NEGATIVE, group=_RETRIES, order_in_group=1, width=Width.SHORT,
        display_name="Maximum Retries", doc="Failures in a row after which the task fails.",
    )  # fmt: skip
    retry_backoff_ms: int = key(
        "retry.backoff.ms", default=3000, check=_NOT_NEGATIVE, group=_RETRIES, order_in_group=2, width=Width.SHORT,
        display_name="Retry Backoff (millis)", doc="Pause before records are written again.",
    )  # fmt: skip

    @property
    def is_upsert(self) -> bool:
        """Return whether rows are merged by key."""
        return self.insert_mode == UPSERT

    @property
    def key_names(self) -> list[str]:
        """Return the names in `pk.fields`."""
        return [name.strip() for name in self.pk_fields if name.strip()]

    @property
    def partition_names(self) -> list[str]:
        """Return the names in `partition.field.name`."""
        return [name.strip() for name in self.partition_fields if name.strip()]

    @property
    def table_properties(self) -> dict[str, str]:
        """Return the properties of new tables."""
        return {PROPERTY_PREFIX + name: str(value) for name, value in self.with_prefix(PROPERTY_PREFIX).items()}

    def address(self, topic: str) -> str:
        """Return the address of a topic's table."""
        return f"{self.location.rstrip('/')}/{self.table_name_format.replace('${topic}', topic)}"

    def storage_options(self) -> dict[str, str]:
        """Return the options of the store, in the words of deltalake."""
        secrets = {
            "aws_secret_access_key": self.aws_secret_access_key,
            "azure_storage_account_key": self.azure_account_key,
        }
        given: Mapping[str, str | None] = {
            "aws_endpoint_url": self.store_url,
            "aws_region": self.s3_region,
            "aws_access_key_id": self.aws_access_key_id,
            "google_application_credentials": self.gcs_credentials_path,
            "azure_storage_account_name": self.azure_account,
            **{name: None if secret is None else secret.value for name, secret in secrets.items()},
        }
        options = {name: value for name, value in given.items() if value}
        options["aws_virtual_hosted_style_request"] = str(not self.path_style).lower()
        if (self.store_url or "").startswith("http:"):
            options["aws_allow_http"] = "true"
        return options
