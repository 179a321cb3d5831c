"""Offsets change only while nothing runs, whatever the concurrent requests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from hearth.herder.connector_offset import parse_sink_offsets
from hearth.kafka import fence
from hearth.storage import MemoryOffsetStore, State, TargetState
from hearth_api import ConfigError, ConnectError, RetriableError, TopicPartition
from tests.unit.herder.catalogue import CLUSTER
from tests.unit.herder.fake import Bench, FakeSpark

ROWS = [({"p": 1}, {"n": 2})]


class Watched(MemoryOffsetStore):
    """Offsets that record what runs when they are written, or cannot be written."""

    def __init__(self, spark: FakeSpark) -> None:
        super().__init__()
        self.spark = spark
        self.is_full = False
        self.running: list[set[tuple[str, int]]] = []
        self.launched: list[int] = []

    def put(self, connector: str, offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]) -> None:
        """Record it, and write."""
        if self.is_full:
            raise RetriableError("the disk is full")
        self.running.append(set(self.spark.linked))
        self.launched.append(len(self.spark.runs))
        super().put(connector, offsets)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """Provide a herder over watched offsets."""
    bench = Bench(tmp_path, offsets=Watched)
    yield bench
    bench.herder.shut_down()


def test_offsets_are_written_after_the_last_task_has_ended(bench: Bench) -> None:
    """Stop, new offsets and resume in a row: the tasks end, the offsets are written, new tasks start."""
    bench.put("c")
    bench.await_task("c", State.RUNNING)
    bench.herder.want("c", TargetState.STOPPED)
    altered = bench.herder.offsets.alter("c", ROWS)
    assert "successfully" in altered.result(30)["message"]
    bench.herder.want("c", TargetState.STARTED).result(30)
    bench.await_task("c", State.RUNNING)
    watched = bench.offsets
    assert isinstance(watched, Watched)
    assert (watched.running, watched.launched, len(bench.spark.runs)) == ([set()], [1], 2)
    assert bench.offsets.get("c", [{"p": 1}]) == [{"n": 2}]


def test_offsets_of_a_connector_resumed_meanwhile_are_not_changed(bench: Bench) -> None:
    """The target state at the time of the write counts: a task may start at any moment."""
    bench.put("c")
    bench.await_task("c", State.RUNNING)
    bench.herder.want("c", TargetState.STOPPED).result(30)
    bench.configs.put_target("c", TargetState.STARTED)
    with pytest.raises(ConfigError, match="must be in the STOPPED state"):
        bench.herder.offsets.reset("c").result(30)


def test_offsets_are_unchanged_if_writing_fails(bench: Bench) -> None:
    """All of them (invariant 5), and the request may be repeated."""
    bench.put("c")
    bench.herder.want("c", TargetState.STOPPED).result(30)
    bench.herder.offsets.alter("c", ROWS).result(30)
    assert isinstance(bench.offsets, Watched)
    bench.offsets.is_full = True
    with pytest.raises(RetriableError):
        bench.herder.offsets.alter("c", [({"p": 1}, None), ({"p": 2}, {"n": 1})]).result(30)
    assert bench.herder.offsets.read("c").result(30) == {"offsets": [{"partition": {"p": 1}, "offset": {"n": 2}}]}


def test_earlier_tasks_are_fenced_before_offsets_are_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With transactions, tasks write offsets themselves, and one that may still run could do so."""
    fenced: list[tuple[list[str], Any]] = []

    def note(settings: Any, ids: list[str]) -> None:
        if "no broker" in str(fenced):
            raise ConnectError("no broker")
        fenced.append((ids, exact.offsets.get("c", [{"p": 1}])))

    monkeypatch.setattr(fence, "fence_producers", note)
    exact = Bench(tmp_path, CLUSTER, offsets=Watched)
    try:
        exact.put("c", tasks_max="1")
        exact.await_task("c", State.RUNNING)
        assert exact.configs.snapshot().task_counts == {"c": 1}
        exact.herder.want("c", TargetState.STOPPED).result(30)
        exact.herder.offsets.alter("c", ROWS).result(30)
        assert fenced == [(["g-c-0"], [None])]
        exact.herder.offsets.reset("c").result(30)
        assert len(fenced) == 1, "they were fenced already"
        fenced.append((["no broker"], None))
        exact.herder.want("c", TargetState.STARTED).result(30)
        exact.await_task("c", State.RUNNING)
        exact.herder.want("c", TargetState.STOPPED).result(30)
        with pytest.raises(ConnectError, match="zombie fencing for source connector prior to modifying offsets"):
            exact.herder.offsets.alter("c", ROWS).result(30)
        assert exact.offsets.get("c", [{"p": 1}]) == [None]
    finally:
        exact.herder.shut_down()


@pytest.mark.parametrize(
    ("partition", "offset"), [(2**31, 0), (-(2**31) - 1, 0), (0, 2**63), (True, 0), ("", 0), ("0x1", 0), (" 1", 0)]
)
def test_sink_numbers_must_be_in_javas_range(partition: Any, offset: Any) -> None:
    """And written in digits."""
    with pytest.raises(ConfigError, match="Failed to parse the following Kafka"):
        parse_sink_offsets([({"kafka_topic": "t", "kafka_partition": partition}, {"kafka_offset": offset})])


def test_sink_numbers_may_be_strings() -> None:
    """And a topic may be a number."""
    rows = [({"kafka_topic": 5, "kafka_partition": "+1"}, {"kafka_offset": "-0"})]
    assert parse_sink_offsets(rows) == {TopicPartition("5", 1): 0}
