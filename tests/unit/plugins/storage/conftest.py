"""Servers of object stores, one for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import object_store
from tests.object_store import StoreServer


@pytest.fixture(scope="session")
def s3() -> Iterator[StoreServer]:
    """Provide an S3 server."""
    with object_store.serving_s3() as server:
        yield server


@pytest.fixture(scope="session")
def google() -> Iterator[StoreServer]:
    """Provide a server of Google's storage."""
    with object_store.serving_google() as server:
        yield server


@pytest.fixture(scope="session")
def azure() -> Iterator[StoreServer]:
    """Provide a server of Azure's storage."""
    if not object_store.has_azurite():
        pytest.skip("no npm on this machine: apt install npm")
    with object_store.serving_azure() as server:
        yield server
