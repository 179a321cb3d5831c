"""Tables on an S3 server, which answers late, wrongly or not at all: each record is one row."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator

import pytest

from hearth_api import ConnectError
from hearth_delta.delta_sink import DeltaSinkConnector
from tests import s3_server
from tests.s3_server import S3Server, faulty
from tests.unit.plugins.delta.lake import PLACE, Lake, rewound, word

pytestmark = pytest.mark.slow
_numbers = itertools.count()


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    """Provide a server for all tests of this module."""
    with s3_server.serving() as running:
        yield running


@pytest.fixture
def bucket(server: S3Server) -> str:
    """Provide an empty bucket."""
    name = f"lake{next(_numbers)}"
    server.make_bucket(name)
    return name


def test_a_table_in_a_bucket(server: S3Server, bucket: str) -> None:
    """It is created, extended by commits, and goes on where it ended."""
    lake = Lake(f"s3://{bucket}/bronze", server.settings())
    with lake.sink() as run:
        run.put([word(0)])
        run.pre_commit()
    with lake.sink() as run:
        assert rewound(run) == {PLACE: 1}
        run.put([word(1)])
        run.pre_commit()
    assert lake.words() == ["w0", "w1"]


def test_two_tasks_commit_to_one_partition(server: S3Server, bucket: str) -> None:
    """The store itself refuses the second commit of one version."""
    lake = Lake(f"s3://{bucket}/bronze", server.settings())
    with lake.sink() as old, lake.sink() as new:
        old.put([word(0)])
        new.put([word(0), word(1)])
        old.pre_commit()
        new.pre_commit()
        old.put([word(1), word(2)])
        old.pre_commit()
    assert lake.words() == ["w0", "w1", "w2"]


def test_answers_that_are_lost_or_errors(server: S3Server, bucket: str) -> None:
    """A commit whose answer is lost has happened; the task finds it and goes on behind it."""
    chance = random.Random(1)
    cuts = []

    def fault(method: str, path: str) -> int | None:
        if chance.random() > 0.2:
            return None
        found = chance.choice([0, 500, 503])
        cuts.append((found, method, "_delta_log" in path))
        return found

    with faulty(server, fault) as proxy:
        lake = Lake(f"s3://{bucket}/bronze", proxy.settings())
        with lake.sink() as run:
            for start in range(0, 40, 2):
                run.put([word(start), word(start + 1)])
                run.pre_commit()
    assert (0, "PUT", True) in cuts, "an answer to a commit was lost"
    direct = Lake(f"s3://{bucket}/bronze", server.settings())
    assert sorted(direct.words(), key=lambda text: int(text[1:])) == [f"w{n}" for n in range(40)]


def test_a_store_that_does_not_answer_fails_the_task_in_the_end(server: S3Server, bucket: str) -> None:
    """After max.retries; the error has one line."""
    dead = {**server.settings(), "store.url": "http://127.0.0.1:9"}
    lake = Lake(f"s3://{bucket}/bronze", dead)
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
    server: S3Server, bucket: str, changed: dict[str, str], message: str
) -> None:
    """Within seconds."""
    settings = {**Lake(f"s3://{bucket}/bronze", server.settings()).settings(auto_create="true"), **changed}
    config = DeltaSinkConnector().validate(settings)
    (error,) = config["tables.location"].error_messages
    assert message in error
    assert "\x1b" not in error
    assert server.settings()["aws.secret.access.key"] not in error
