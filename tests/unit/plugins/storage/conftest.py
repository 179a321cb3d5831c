"""Servers of object stores and HDFS, one for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import hdfs_cluster, object_store
from tests.hdfs_cluster import HdfsCluster
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


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HdfsCluster]:
    """Provide a name node and a data node."""
    with hdfs_cluster.serving(tmp_path_factory.mktemp("hdfs")) as cluster:
        yield cluster
