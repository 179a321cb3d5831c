"""Tables on an S3 server, which answers late, wrongly or not at all: each record is one row."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from hearth_api import ConnectError
from hearth_delta.delta_sink import DeltaSinkConnector
from tests import object_store
from tests.object_store import StoreServer
from tests.unit.plugins.delta.lake import PLACE, Lake, rewound, word
from tests.unit.plugins.storage.fault_proxy import failing

pytestmark = pytest.mark.slow
SECRET = "only-for-tests"
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[StoreServer]:
    """Provide a server for all tests of this module."""
    with object_store.serving_s3() as running:
        yield running


@pytest.fixture
def address() -> str:
    """Provide an empty directory of the server's bucket."""
    return f"s3://data/lake{next(_numbers)}"


def store(url: str) -> dict[str, str]:
    """Return the keys by which the sink reaches a server."""
    keys = {"aws.access.key.id": "key", "aws.secret.access.key": SECRET}
    return {"store.url": url, "s3.region": "us-east-1", **keys}


def test_a_table_in_a_bucket(server: StoreServer, address: str) -> None:
    """It is created, extended by commits, and goes on where it ended."""
    lake = Lake(address, store(server.url))
    with lake.sink() as run:
        run.put([word(0)])
        run.pre_commit()
    with lake.sink() as run:
        assert rewound(run) == {PLACE: 1}
        run.put([word(1)])
        run.pre_commit()
    assert lake.words() == ["w0", "w1"]


def test_two_tasks_commit_to_one_partition(server: StoreServer, address: str) -> None:
    """The store itself refuses the second commit of one version."""
    lake = Lake(address, store(server.url))
    with lake.sink() as old, lake.sink() as new:
        old.put([word(0)])
        new.put([word(0), word(1)])
        old.pre_commit()
        new.pre_commit()
        old.put([word(1), word(2)])
        old.pre_commit()
    assert lake.words() == ["w0", "w1", "w2"]


@pytest.mark.parametrize("kinds", [("cut behind",), ()], ids=["lost answers", "any faults"])
def test_answers_that_are_lost_or_errors(server: StoreServer, address: str, kinds: tuple[str, ...]) -> None:
    """A commit whose answer is lost has happened; the task finds it and goes on behind it."""
    with failing(server.url, seed=1) as proxy:
        proxy.rate = 0.2
        if kinds:
            proxy.kinds = kinds
        lake = Lake(address, store(proxy.url))
        with lake.sink() as run:
            for start in range(0, 40, 4):
                run.put([word(start + each) for each in range(4)])
                run.pre_commit()
        assert sum(proxy.faults.values()) > 10
    found = Lake(address, store(server.url)).words()
    assert sorted(found, key=lambda text: int(text[1:])) == [f"w{n}" for n in range(40)]


def test_a_store_that_does_not_answer_fails_the_task_in_the_end(address: str) -> None:
    """After max.retries; the error has one line."""
    lake = Lake(address, store("http://127.0.0.1:9"))
    with pytest.raises(ConnectError, match="cannot read table s3://") as caught, lake.sink(max_retries="0"):
        pass
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"store.url": "http://127.0.0.1:9"}, "Connection refused"),
        ({"tables.location": "s3://nowhere/bronze"}, "NoSuchBucket"),
    ],
)
def test_validation_names_what_the_store_says(
    server: StoreServer, address: str, changed: dict[str, str], message: str
) -> None:
    """Within seconds."""
    settings = {**Lake(address, store(server.url)).settings(auto_create="true"), **changed}
    config = DeltaSinkConnector().validate(settings)
    (error,) = config["tables.location"].error_messages
    assert message in error
    assert "\x1b" not in error
    assert SECRET not in error
