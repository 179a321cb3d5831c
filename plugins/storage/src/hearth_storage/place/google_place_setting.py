"""How to reach a bucket of Google's storage: the keys that sinks and sources have."""

from __future__ import annotations

from typing import Any

from hearth_api import ConfigError, Importance, Lambda, NonEmptyString, Password, Range, Settings, Width, key
from hearth_storage.place.client_option import STORAGE, client_options, retries
from hearth_storage.place.place import PART_SIZE, Place

GCS = "GCS"


def _check_url(name: str, value: Any) -> None:
    if value:
        raise ConfigError(name, value, "has no effect on this store: write gcs_base_url into the credentials")


class GcsPlaceConfig(Settings):
    """How to reach a bucket."""

    store_url: str | None = key(
        "store.url", default=None, check=Lambda(_check_url, "nothing"), importance=Importance.LOW, group=STORAGE,
        order_in_group=3, display_name="Store URL", doc="Not for this store.",
    )  # fmt: skip
    bucket: str = key(
        "gcs.bucket.name", check=NonEmptyString(), importance=Importance.HIGH, group=GCS, order_in_group=1,
        width=Width.LONG, display_name="GCS Bucket", doc="Name of the bucket.",
    )  # fmt: skip
    part_size: int = key(
        "gcs.part.size", default=PART_SIZE, check=Range.between(5_242_880, 2_147_483_647), importance=Importance.HIGH,
        group=GCS, order_in_group=2, display_name="GCS Part Size",
        doc="Bytes of a part of an upload; smaller files go in one conditional request.",
    )  # fmt: skip
    credentials_path: str = key(
        "gcs.credentials.path", default="", importance=Importance.HIGH, group=GCS, order_in_group=3,
        width=Width.LONG, display_name="Credentials path", doc="File of a service account's key. Empty, without"
        " gcs.credentials.json: Google's chain, which is GOOGLE_APPLICATION_CREDENTIALS, gcloud, then the machine.",
    )  # fmt: skip
    credentials_json: Password | None = key(
        "gcs.credentials.json", default=None, importance=Importance.HIGH, group=GCS, order_in_group=4,
        display_name="Credentials JSON", doc="The key itself, as text.",
    )  # fmt: skip
    part_retries: int = key(
        "gcs.part.retries", default=3, check=Range.at_least(0), group=GCS, order_in_group=5,
        display_name="GCS Part Upload Retries", doc="Attempts after the first one of a request.",
    )  # fmt: skip
    backoff_ms: int = key(
        "gcs.retry.backoff.ms", default=200, check=Range.at_least(0), importance=Importance.LOW, group=GCS,
        order_in_group=6, display_name="Retry Backoff (ms)", doc="Pause before the second attempt; it doubles.",
    )  # fmt: skip
    proxy_url: str = key(
        "gcs.proxy.url", default="", importance=Importance.LOW, group=GCS, order_in_group=7,
        display_name="GCS Proxy Settings", doc="Address of an HTTP proxy.",
    )  # fmt: skip
    proxy_user: str | None = key(
        "gcs.proxy.user", default=None, importance=Importance.LOW, group=GCS, order_in_group=8,
        display_name="GCS Proxy User", doc="User of the proxy.",
    )  # fmt: skip
    proxy_password: Password | None = key(
        "gcs.proxy.password", default=None, importance=Importance.LOW, group=GCS, order_in_group=9,
        display_name="GCS Proxy Password", doc="Password of the proxy's user.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the bucket."""
        from obstore.store import GCSStore

        from hearth_storage.place.object_place import ObjectPlace

        options: dict[str, Any] = {
            "retry_config": retries(self.part_retries, self.backoff_ms),
            "client_options": client_options(self.proxy_url, self.proxy_user, self.proxy_password),
        }
        if self.credentials_json is not None and self.credentials_json.value:
            options["service_account_key"] = self.credentials_json.value
        elif self.credentials_path:
            options["service_account"] = self.credentials_path
        try:
            store = GCSStore(self.bucket, **options)
        except Exception as error:
            name = "gcs.credentials.json" if "service_account_key" in options else "gcs.credentials.path"
            text = " ".join(str(error).partition("\n\n")[0].split())
            raise ConfigError(f"{name} is no key of a service account: {text}") from error
        return ObjectPlace(store, f"gs://{self.bucket}", part_size=self.part_size)
