"""The keys of S3."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from hearth_api import (
    ConfigError,
    ConfigType,
    Importance,
    Lambda,
    NonEmptyString,
    Password,
    Range,
    Schema,
    Settings,
    ValidString,
    Width,
    key,
)
from hearth_storage.place.place import PART_SIZE, Place
from hearth_storage.sink.client_option import client_options, retries, storage_check
from hearth_storage.sink.sink_setting import STORAGE, WITHOUT_EFFECT, StorageSinkConfig

S3 = "S3"
PROVIDER = "s3.credentials.provider.class"
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-\d+|aws-global")
_ROLE = "AwsAssumeRoleCredentialsProvider"
_CHAIN = ("DefaultCredentialsProvider", "DefaultAWSCredentialsProviderChain")
S3_WITHOUT_EFFECT = {
    **WITHOUT_EFFECT,
    "s3.http.send.expect.continue": "the client sends no such header",
    "s3.elastic.buffer.enable": "there is no buffer for each file",
    "s3.elastic.buffer.init.capacity": "there is no buffer for each file",
    "s3.send.digest": "each request has a SHA-256 of its body in its signature",
}
"""Keys that are accepted, each with the reason why it does nothing."""


def _check_region(name: str, value: Any) -> None:
    if not _REGION.fullmatch(str(value).strip().lower()):
        raise ConfigError(name, value, "is no region: write us-east-1 or eu-central-1")


def _check_provider(name: str, value: Any) -> None:
    simple = str(value or "").rpartition(".")[2]
    if simple not in ("", *_CHAIN, _ROLE):
        raise ConfigError(
            name, value, "is a Java class, which cannot run here: the chain of AWS is the default, and"
            f" {_ROLE} assumes a role",
        )  # fmt: skip


class S3PlaceConfig(Settings):
    """How to reach a bucket; the source has these keys as well."""

    bucket: str = key(
        "s3.bucket.name", check=NonEmptyString(), importance=Importance.HIGH, group=S3, order_in_group=1,
        width=Width.LONG, display_name="S3 Bucket", doc="Name of the bucket.",
    )  # fmt: skip
    region: str = key(
        "s3.region", default="us-west-2", check=Lambda(_check_region, "a region of AWS"), group=S3, order_in_group=2,
        width=Width.LONG, display_name="AWS region", doc="Region of the bucket.",
    )  # fmt: skip
    store_url: str | None = key(
        "store.url", default=None, importance=Importance.HIGH, group=STORAGE, order_in_group=3,
        display_name="Store URL", doc="Address of a store that speaks S3. Not set: AWS.",
    )  # fmt: skip
    access_key: str = key(
        "aws.access.key.id", default="", importance=Importance.HIGH, group=S3, order_in_group=3, width=Width.LONG,
        display_name="AWS Access Key ID", doc="Access key. Empty: by the chain of AWS, which is environment,"
        " web identity, container, then machine.",
    )  # fmt: skip
    secret_key: Password | None = key(
        "aws.secret.access.key", default=None, importance=Importance.HIGH, group=S3, order_in_group=4,
        width=Width.LONG, display_name="AWS Secret Access Key", doc="Secret of the access key.",
    )  # fmt: skip
    credentials_provider: str | None = key(
        PROVIDER, default=None, check=Lambda(_check_provider, "the default chain or an assumed role"),
        importance=Importance.LOW, group=S3, order_in_group=5, display_name="AWS Credentials Provider Class",
        doc="DefaultCredentialsProvider, or AwsAssumeRoleCredentialsProvider with"
        " s3.credentials.provider.sts.role.arn, .sts.role.session.name and .sts.role.external.id.",
    )  # fmt: skip
    path_style: bool = key(
        "s3.path.style.access.enabled", default=True, importance=Importance.LOW, group=S3, order_in_group=6,
        display_name="Enable Path Style Access to S3", doc="Whether the bucket is in the path rather than the host.",
    )  # fmt: skip
    wan_mode: bool = key(
        "s3.wan.mode", default=False, group=S3, order_in_group=7, display_name="S3 accelerated endpoint enabled",
        doc="Whether requests go to the bucket's accelerated endpoint.",
    )  # fmt: skip
    part_retries: int = key(
        "s3.part.retries", default=3, check=Range.at_least(0), group=S3, order_in_group=8,
        display_name="S3 Part Upload Retries", doc="Attempts after the first one of a request.",
    )  # fmt: skip
    part_backoff_ms: int = key(
        "s3.retry.backoff.ms", default=200, type=ConfigType.LONG, check=Range.at_least(0), importance=Importance.LOW,
        group=S3, order_in_group=9, display_name="Retry Backoff (ms)",
        doc="Pause before the second attempt; it doubles, with jitter.",
    )  # fmt: skip
    proxy_url: str = key(
        "s3.proxy.url", default="", importance=Importance.LOW, group=S3, order_in_group=10,
        display_name="S3 Proxy Settings", doc="Address of an HTTP proxy.",
    )  # fmt: skip
    proxy_user: str | None = key(
        "s3.proxy.user", default=None, importance=Importance.LOW, group=S3, order_in_group=11,
        display_name="S3 Proxy User", doc="User of the proxy.",
    )  # fmt: skip
    proxy_password: Password | None = key(
        "s3.proxy.password", default=None, importance=Importance.LOW, group=S3, order_in_group=12,
        display_name="S3 Proxy Password", doc="Password of the proxy's user.",
    )  # fmt: skip
    part_size: int = key(
        "s3.part.size", default=PART_SIZE, check=Range.between(5_242_880, 2_147_483_647), importance=Importance.HIGH,
        group=S3, order_in_group=13, display_name="S3 Part Size",
        doc="Bytes of a part of an upload; smaller files go in one conditional request.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the bucket."""
        from obstore.store import S3Store

        from hearth_storage.place.object_place import ObjectPlace

        options: dict[str, Any] = {
            "region": self.region.strip().lower(),
            "virtual_hosted_style_request": not self.path_style or self.wan_mode,
            "retry_config": retries(self.part_retries, self.part_backoff_ms),
            "client_options": self._client_options(),
            **self._endpoint(),
            **self._credentials(),
            **self._object_options(),
        }
        store = S3Store(self.bucket, **options)
        return ObjectPlace(store, f"s3://{self.bucket}", part_size=self.part_size, **self._object_extras())

    def _endpoint(self) -> dict[str, Any]:
        if self.wan_mode:
            return {"endpoint": f"https://{self.bucket}.s3-accelerate.amazonaws.com"}
        return {"endpoint": self.store_url.rstrip("/")} if self.store_url else {}

    def _credentials(self) -> dict[str, Any]:
        if (self.credentials_provider or "").endswith(_ROLE):
            from hearth_storage.place.assumed_role import AssumedRole

            return {"credential_provider": AssumedRole(self._role(), self.region)}
        if self.access_key:
            secret = self.secret_key
            return {"access_key_id": self.access_key, "secret_access_key": secret.value if secret else ""}
        return {}

    def _role(self) -> Mapping[str, str]:
        """Return the keys of the provider of roles, with the access key that assumes the role."""
        secret = self.secret_key
        own = {"aws.access.key.id": self.access_key, "aws.secret.access.key": secret.value if secret else ""}
        return {**own, **self.with_prefix("s3.credentials.provider.")}

    def _client_options(self) -> dict[str, Any]:
        options = client_options(self.proxy_url, self.proxy_user, self.proxy_password)
        return {**options, "default_headers": self._headers()}

    def _headers(self) -> dict[str, str]:
        return {}

    def _object_options(self) -> dict[str, Any]:
        return {}

    def _object_extras(self) -> dict[str, Any]:
        return {}


class S3SinkConfig(S3PlaceConfig, StorageSinkConfig):
    """Settings of the S3 sink."""

    storage_class: str = key(
        "storage.class", importance=Importance.HIGH, group=STORAGE, order_in_group=1, display_name="Storage Class",
        check=storage_check("io.confluent.connect.s3.storage.S3Storage"),
        doc="io.confluent.connect.s3.storage.S3Storage, which is the only one.",
    )  # fmt: skip
    compression_type: str = key(
        "s3.compression.type", default="none", check=ValidString("none", "gzip"), importance=Importance.LOW, group=S3,
        order_in_group=14, display_name="Compression type",
        doc="Compression of files of JsonFormat, ByteArrayFormat and StringFormat: none or gzip.",
    )  # fmt: skip
    compression_level: int = key(
        "s3.compression.level", default=-1, check=Range.between(-1, 9), importance=Importance.LOW, group=S3,
        order_in_group=15, display_name="Compression Level", doc="Level of gzip; -1 is its default.",
    )  # fmt: skip
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
