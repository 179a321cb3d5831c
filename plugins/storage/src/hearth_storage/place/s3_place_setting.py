"""How to reach a bucket of S3: the keys that sinks and sources have."""

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
    Settings,
    Width,
    key,
)
from hearth_storage.place.client_option import STORAGE, client_options, retries
from hearth_storage.place.place import PART_SIZE, Place

S3 = "S3"
PROVIDER = "s3.credentials.provider.class"
_REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-\d+|aws-global")
_ROLE = "AwsAssumeRoleCredentialsProvider"
_CHAIN = ("DefaultCredentialsProvider", "DefaultAWSCredentialsProviderChain")


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
    """How to reach a bucket."""

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
