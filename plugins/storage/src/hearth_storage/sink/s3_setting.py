"""The keys of the sink to S3."""

from __future__ import annotations

from typing import Any

from hearth_api import Importance, Password, Schema, ValidString, key
from hearth_storage.place.client_option import STORAGE, storage_check
from hearth_storage.place.s3_place_setting import S3, S3PlaceConfig
from hearth_storage.sink.sink_setting import (
    WITHOUT_EFFECT,
    StorageSinkConfig,
    compression_level_key,
    compression_type_key,
)

S3_WITHOUT_EFFECT = {
    **WITHOUT_EFFECT,
    "s3.http.send.expect.continue": "the client sends no such header",
    "s3.elastic.buffer.enable": "there is no buffer for each file",
    "s3.elastic.buffer.init.capacity": "there is no buffer for each file",
    "s3.send.digest": "each request has a SHA-256 of its body in its signature",
}
"""Keys that are accepted, each with the reason why it does nothing."""


class S3SinkConfig(S3PlaceConfig, StorageSinkConfig):
    """Settings of the S3 sink."""

    storage_class: str = key(
        "storage.class", importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        check=storage_check("io.confluent.connect.s3.storage.S3Storage"),
        doc="io.confluent.connect.s3.storage.S3Storage, which is the only one.",
    )  # fmt: skip
    compression_type: str = compression_type_key("s3.compression.type", S3, 14)
    compression_level: int = compression_level_key("s3.compression.level", S3, 15)
    acl: str | None = key(
        "s3.acl.canned", default=None, importance=Importance.LOW, group=S3, order_in_group=16,
        check=ValidString(
            None, "private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read",
            "bucket-owner-read", "bucket-owner-full-control",
        ),
        display_name="S3 Canned ACL", doc="Canned ACL of new objects.",
    )  # fmt: skip
    encryption: str = key(
        "s3.ssea.name", default="", check=ValidString("", "AES256", "aws:kms", "aws:kms:dsse"),
        importance=Importance.LOW, group=S3, order_in_group=17, display_name="S3 Server Side Encryption Algorithm",
        doc="Encryption by the server: AES256, aws:kms or aws:kms:dsse. Empty: that of the bucket.",
    )  # fmt: skip
    kms_key: str = key(
        "s3.sse.kms.key.id", default="", importance=Importance.LOW, group=S3, order_in_group=18,
        display_name="S3 Server Side Encryption Key", doc="Key of AWS KMS for aws:kms.",
    )  # fmt: skip
    customer_key: Password | None = key(
        "s3.sse.customer.key", default=None, importance=Importance.LOW, group=S3, order_in_group=19,
        display_name="S3 Server Side Encryption Customer-Provided Key (SSE-C)",
        doc="Key of one's own for encryption by the server, in base64.",
    )  # fmt: skip
    tagging: bool = key(
        "s3.object.tagging", default=False, importance=Importance.LOW, group=S3, order_in_group=20,
        display_name="S3 Object Tagging", doc="Whether objects have tags: startOffset, endOffset, recordCount.",
    )  # fmt: skip
    tags: list[str] = key(
        "s3.object.tagging.key.value.pairs", default="", importance=Importance.LOW, group=S3, order_in_group=21,
        display_name="S3 Object Tagging Extra Key Value pairs", doc="More tags, as key:value.",
    )  # fmt: skip
    tagging_errors: str = key(
        "s3.object.behavior.on.tagging.error", default="ignore", check=ValidString("ignore", "fail"),
        importance=Importance.LOW, group=S3, order_in_group=22, display_name="Behavior for S3 object tagging error",
        doc="Without effect: tags are part of the upload, so either both happen or none.",
    )  # fmt: skip
    schema_affix: str = key(
        "s3.schema.partition.affix.type", default="NONE", check=ValidString("NONE", "PREFIX", "SUFFIX"),
        importance=Importance.LOW, group=S3, order_in_group=23, display_name="Schema Partition Affix Type",
        doc="Whether schema_name=NAME stands before (PREFIX) or behind (SUFFIX) the directory.",
    )  # fmt: skip

    def affixed(self, path: str, schema: Schema | None) -> str:
        """Add the name of the schema, as Confluent's `SchemaPartitioner`; tombstones have none."""
        if self.schema_affix == "NONE" or (schema is None and path == self.tombstone_path):
            return path
        name = f"schema_name={(schema.name if schema is not None else None) or 'null'}"
        parts = (name, path) if self.schema_affix == "PREFIX" else (path, name)
        return self.directory_delim.join(parts)

    def _headers(self) -> dict[str, str]:
        return {"x-amz-acl": self.acl} if self.acl else {}

    def _object_options(self) -> dict[str, Any]:
        if self.customer_key is not None and self.customer_key.value:
            return {"server_side_encryption": "sse-c", "sse_customer_key_base64": self.customer_key.value}
        if not self.encryption:
            return {}
        kms = {"sse_kms_key_id": self.kms_key} if self.kms_key and self.encryption != "AES256" else {}
        return {"server_side_encryption": self.encryption, **kms}

    def _object_extras(self) -> dict[str, Any]:
        if not self.tagging:
            return {}
        return {"tags": dict(each.split(":", 1) for each in self.tags if ":" in each)}
