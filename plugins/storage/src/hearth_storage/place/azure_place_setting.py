"""How to reach Azure's blob storage and its data lake, which is the same storage with directories: the keys that sinks
and sources have.
"""

from __future__ import annotations

import re
from typing import Any

from hearth_api import Importance, NonEmptyString, Password, Range, Settings, Width, key
from hearth_storage.place.client_option import STORAGE, client_options, retries
from hearth_storage.place.place import PART_SIZE, Place

AZURE = "Azure"
_TENANT = re.compile(r"://[^/]+/([^/]+)/")


class AzurePlaceConfig(Settings):
    """How to reach a storage account."""

    store_url: str | None = key(
        "store.url", default=None, importance=Importance.LOW, group=STORAGE, order_in_group=3,
        display_name="Store URL", doc="Address of the storage account. Not set: that of Azure.",
    )  # fmt: skip
    block_size: int = key(
        "azblob.block.size", default=PART_SIZE, check=Range.between(5_242_880, 104_857_600),
        importance=Importance.HIGH, group=AZURE, order_in_group=4, display_name="Azure Block Size",
        doc="Bytes of a block of an upload; smaller files go in one conditional request.",
    )  # fmt: skip
    retries: int = key(
        "azblob.retry.retries", default=3, check=Range.at_least(1), group=AZURE, order_in_group=5,
        display_name="Azure Retries", doc="Attempts after the first one of a request.",
    )  # fmt: skip
    backoff_ms: int = key(
        "azblob.retry.backoff.ms", default=4000, check=Range.at_least(0), importance=Importance.LOW, group=AZURE,
        order_in_group=6, display_name="Retry Backoff (ms)", doc="Pause before the second attempt; it doubles.",
    )  # fmt: skip
    proxy_url: str = key(
        "azblob.proxy.url", default="", importance=Importance.LOW, group=AZURE, order_in_group=7,
        display_name="Azure Proxy Settings", doc="Address of an HTTP proxy.",
    )  # fmt: skip
    proxy_user: str | None = key(
        "azblob.proxy.user", default=None, importance=Importance.LOW, group=AZURE, order_in_group=8,
        display_name="Azure Proxy User", doc="User of the proxy.",
    )  # fmt: skip
    proxy_password: Password | None = key(
        "azblob.proxy.password", default=None, importance=Importance.LOW, group=AZURE, order_in_group=9,
        display_name="Azure Proxy Password", doc="Password of the proxy's user.",
    )  # fmt: skip

    def _container(self, name: str, account: str, **options: Any) -> Place:
        from obstore.store import AzureStore

        from hearth_storage.place.object_place import ObjectPlace

        if self.store_url:
            options["endpoint"] = self.store_url.rstrip("/")
        options["retry_config"] = retries(self.retries, self.backoff_ms)
        options["client_options"] = client_options(self.proxy_url, self.proxy_user, self.proxy_password)
        store = AzureStore(name, account_name=account, **options)
        return ObjectPlace(store, f"az://{account}/{name}", part_size=self.block_size)


class AzureBlobPlaceConfig(AzurePlaceConfig):
    """How to reach a container."""

    account: str = key(
        "azblob.account.name", check=NonEmptyString(), importance=Importance.HIGH, group=AZURE, order_in_group=1,
        width=Width.LONG, display_name="Account Name", doc="Name of the storage account.",
    )  # fmt: skip
    account_key: Password | None = key(
        "azblob.account.key", default=None, importance=Importance.HIGH, group=AZURE, order_in_group=2,
        width=Width.LONG, display_name="Account Key", doc="Key of the account. Not set: azblob.sas.token, else Azure's"
        " chain, which is environment, workload identity, then the machine.",
    )  # fmt: skip
    sas_token: Password | None = key(
        "azblob.sas.token", default=None, importance=Importance.LOW, group=AZURE, order_in_group=3,
        width=Width.LONG, display_name="SAS Token", doc="Shared access signature of the container.",
    )  # fmt: skip
    container: str = key(
        "azblob.container.name", default="topics", group=AZURE, order_in_group=3, width=Width.LONG,
        display_name="Container Name", doc="Name of the container.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the container."""
        return self._container(self.container, self.account, **_secret(self.account_key, self.sas_token))


class DataLakePlaceConfig(AzurePlaceConfig):
    """How to reach a file system of the data lake, generation 2."""

    account: str = key(
        "azure.datalake.gen2.account.name", check=NonEmptyString(), importance=Importance.HIGH, group=AZURE,
        order_in_group=1, width=Width.LONG, display_name="Account Name", doc="Name of the storage account.",
    )  # fmt: skip
    container: str = key(
        "azure.datalake.gen2.container.name", default="topics", group=AZURE, order_in_group=3, width=Width.LONG,
        display_name="Container Name", doc="Name of the container, which is the file system.",
    )  # fmt: skip
    access_key: Password | None = key(
        "azure.datalake.gen2.access.key", default=None, importance=Importance.HIGH, group=AZURE, order_in_group=10,
        display_name="Access Key", doc="Key of the account.",
    )  # fmt: skip
    sas_token: Password | None = key(
        "azure.datalake.gen2.sas.token", default=None, importance=Importance.HIGH, group=AZURE, order_in_group=11,
        display_name="SAS Token", doc="Shared access signature of the container.",
    )  # fmt: skip
    client_id: str = key(
        "azure.datalake.gen2.client.id", default="", importance=Importance.HIGH, group=AZURE, order_in_group=12,
        display_name="Client ID", doc="Application that signs in, with client.key and token.endpoint.",
    )  # fmt: skip
    client_key: Password | None = key(
        "azure.datalake.gen2.client.key", default=None, importance=Importance.HIGH, group=AZURE, order_in_group=13,
        display_name="Client Key", doc="Secret of the application.",
    )  # fmt: skip
    token_endpoint: str = key(
        "azure.datalake.gen2.token.endpoint", default="", importance=Importance.HIGH, group=AZURE, order_in_group=14,
        width=Width.LONG, display_name="Token Endpoint",
        doc="Where the application signs in: the address of a tenant, /oauth2/token at its end.",
    )  # fmt: skip

    def place(self) -> Place:
        """Return the container."""
        options = _secret(self.access_key, self.sas_token)
        if self.client_id:
            tenant = _TENANT.search(self.token_endpoint)
            secret = self.client_key.value if self.client_key else ""
            options = {"client_id": self.client_id, "client_secret": secret, "tenant_id": tenant[1] if tenant else ""}
        return self._container(self.container, self.account, **options)


def _secret(account_key: Password | None, sas_token: Password | None) -> dict[str, Any]:
    if account_key is not None and account_key.value:
        return {"account_key": account_key.value}
    return {"sas_key": sas_token.value} if sas_token is not None and sas_token.value else {}
