"""The broker goes down while records flow, and comes back; meanwhile a source with unsent records is stopped."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from hearth.broker import KafkaBroker
from tests.conftest import quick_broker
from tests.crash.pipeline import Pipeline, pass_time
from tests.crash.process import await_end, holder
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

FIRST, MORE = 1_000, 20_000
BUFFER = {"producer.override.buffer.memory": "65536"}
"""A producer that buffers a part of the lines."""


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Provide a broker that tests stop and start."""
    with quick_broker(tmp_path_factory.mktemp("away")) as running:
        yield running


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory, away: KafkaBroker) -> Iterator[Pipeline]:
    """Provide a running pipeline."""
    with closing(Pipeline(tmp_path_factory.mktemp("host"), Topics(away.bootstrap_servers))) as pipeline:
        pipeline.start()
        yield pipeline


def append(path: Path, numbers: range) -> None:
    """Write numbers as lines."""
    with path.open("a") as file:
        file.writelines(f"{number}\n" for number in numbers)


@pytest.mark.slow
def test_an_ended_run_sends_nothing_later(tmp_path: Path, away: KafkaBroker, pipeline: Pipeline) -> None:
    """A deleted connector sends nothing more; lines of a restarted one follow those of its previous run in order."""
    host, topics = pipeline.host, Topics(away.bootstrap_servers)
    files = {name: tmp_path / name for name in ("deleted", "restarted")}
    for name, file in files.items():
        topics.create(name)
        append(file, range(FIRST))
        host.run({"name": name, "connector.class": "FileStreamSource", "file": str(file), "topic": name, **BUFFER})
        assert eventually(partial(_has, topics, name, FIRST), TIMEOUT), host.last_words()
    stages = [holder(file) for file in files.values()]
    away.kill()
    for file in files.values():
        append(file, range(FIRST, FIRST + MORE))
    pass_time(3)
    assert host.rest.call("DELETE", "/connectors/deleted").status == 204
    await_end(stages[:1], 5)
    assert host.rest.call("POST", "/connectors/restarted/tasks/0/restart").status == 204
    await_end(stages[1:])
    away.start()
    assert eventually(partial(_has, topics, "restarted", FIRST + MORE), TIMEOUT), host.last_words()
    pass_time(3)
    for name, count in (("deleted", FIRST), ("restarted", FIRST + MORE)):
        assert [record.value for record in topics.read(name)] == [str(each).encode() for each in range(count)]
    host.delete("restarted")


def _has(topics: Topics, name: str, count: int) -> bool:
    """Return whether a topic has ``count`` records; False while the broker is starting."""
    with suppress(KafkaException):
        return topics.count(name) >= count
    return False


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.long)])
def test_no_line_is_lost_while_the_broker_is_down(away: KafkaBroker, pipeline: Pipeline, seconds: int) -> None:
    """Tasks neither fail nor lose anything while their broker is down, and commit again when it is back."""
    pipeline.ledger.begin()
    with pipeline.ledger.flowing():
        pass_time(1.0)
        away.kill()
        pass_time(seconds)
        away.start()
        back = pipeline.await_new_line()
    print(f"lines flow {back:.2f} s after a broker is back that was away for {seconds} s")
    for config in pipeline.connectors():
        assert pipeline.host.rest.states(config["name"]) == ["RUNNING", "RUNNING"]
    pipeline.ledger.prove()
    assert eventually(pipeline.ledger.is_all_committed, TIMEOUT), pipeline.ledger
    print(pipeline.ledger)
