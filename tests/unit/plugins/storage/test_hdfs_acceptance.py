"""The HDFS sink keeps the contract that is asked of everybody's: the standard suite, on a real cluster."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

import orjson
import pytest

from hearth_api import Struct
from hearth_api.testing import acceptance_tests
from hearth_storage.place.hdfs_place import HdfsPlace
from hearth_storage.sink.store_sink import HdfsSinkConnector
from tests.hdfs_cluster import HdfsCluster
from tests.timeouts import eventually
from tests.unit.plugins.storage.test_hdfs_sink import settings
from tests.unit.plugins.storage.world import ORDER, names, order

pytestmark = pytest.mark.slow
_numbers = itertools.count()
_urls: list[str] = []


@pytest.fixture(autouse=True)
def _cluster(hdfs: HdfsCluster) -> None:
    """Tell the worlds where the cluster is."""
    _urls[:] = [hdfs.url]


def sink_world() -> dict[str, str]:
    """Name a directory that is not there."""
    return settings(f"{_urls[0]}/accepted{next(_numbers)}", flush_size="1")


def written(config: Mapping[str, str]) -> Iterator[Struct]:
    """Yield the records of all files, which a commit does not wait for."""
    place = HdfsPlace(config["store.url"])
    assert eventually(lambda: len(names(place, "topics/")) == 3, 20)
    for name in names(place, "topics/"):
        for line in place.read(name).splitlines():
            yield Struct.of(ORDER, orjson.loads(line))


SinkTest = acceptance_tests(HdfsSinkConnector, sink_world, records=[order(at) for at in range(3)], read_back=written)
