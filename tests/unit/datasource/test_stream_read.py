"""A streaming read without Spark: calls on the driver, and copies that read segments."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows
from pyspark.sql.types import IntegerType, StringType, StructField, StructType

from hearth.datasource import planning, spool
from hearth.datasource.data_source_error import DataSourceFailed
from hearth.datasource.segment import Segment
from hearth.datasource.stream_read import HearthStreamReader, SegmentPartition, packed
from tests.timeouts import TIMEOUT, eventually
from tests.unit.datasource.acting_source import acting_plan

SCHEMA = StructType(
    [StructField("key", StringType()), StructField("value", StructType([StructField("id", IntegerType())]))]
)
ALL = ReadAllAvailable()
Make = Callable[..., HearthStreamReader]


@pytest.fixture(autouse=True)
def _keep_signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Begin reads of a source that acts as its configuration says; all use the same spool."""
    made: list[HearthStreamReader] = []

    def begin(tasks: int = 1, name: str = "Connector", options: dict[str, str] | None = None, **config: str) -> Any:
        plans = tuple(acting_plan(tmp_path, number, name, **config) for number in range(tasks))
        monkeypatch.setattr(planning, "planned", lambda *_: SimpleNamespace(plans=plans))
        given = {"connector.class": "x", "hearth.spool": str(tmp_path / "spool"), "hearth.idle.ms": "30"}
        made.append(HearthStreamReader({**given, **(options or {})}, SCHEMA))
        return made[-1]

    yield begin
    for each in made:
        if each._read is not None:
            each.stop()


def rows(reader: HearthStreamReader, start: Any, end: Any) -> list[int]:
    """Return the ids of a micro-batch, read by a copy."""
    copy = pickle.loads(pickle.dumps(reader))
    batches = (batch for part in reader.partitions(start, end) for batch in copy.read(part))
    return [row["value"]["id"] for batch in batches for row in batch.to_pylist()]


def drained(reader: HearthStreamReader, start: Any, limit: Any = ALL) -> tuple[list[list[int]], Any]:
    """Return the micro-batches of a read that ends, and where it ended."""
    batches = []
    while (end := reader.latestOffset(start, limit)) != start:
        batches.append(rows(reader, start, end))
        start = end
    return batches, start


def flat(batches: list[list[int]]) -> list[int]:
    """Return the rows of micro-batches, one after the other."""
    return list(chain.from_iterable(batches))


def awaited(reader: HearthStreamReader, start: Any) -> Any:
    """Return where the next micro-batch ends."""
    while (end := reader.latestOffset(start, ALL)) == start:
        pass
    return end


def followed(reader: HearthStreamReader, start: Any, seen: list[int]) -> None:
    """Take micro-batches for ever."""
    while True:
        end = awaited(reader, start)
        seen += rows(reader, start, end)
        start.update(end)


def test_records_arrive_once_and_the_next_read_continues(reader: Make) -> None:
    """With the trigger that ends, and a source that has more by then."""
    first = reader(last="35")
    first.prepareForTriggerAvailableNow()
    batches, end = drained(first, first.initialOffset())
    assert flat(batches) == list(range(1, 36))
    assert end["rows"] == 35
    assert first.reportLatestOffset() == end
    first.stop()
    second = reader(last="50")
    second.prepareForTriggerAvailableNow()
    batches, end = drained(second, end)
    assert flat(batches) == list(range(36, 51))


def test_replanned_micro_batch_is_the_same(reader: Make) -> None:
    """Spark ended before it was committed; the one who comes back plans it first, without asking what there is."""
    first = reader(last="1000000", step="100")
    start = first.initialOffset()
    end = awaited(first, start)
    seen = rows(first, start, end)
    first.stop()
    again = reader(last="1000000", step="100")
    assert rows(again, start, end) == seen
    after = awaited(again, end)
    assert rows(again, end, after)[0] == seen[-1] + 1
    again.commit(end)
    with pytest.raises(DataSourceFailed, match="spool"):
        again.partitions(start, end)


def test_micro_batches_respect_the_maximum_of_rows(reader: Make) -> None:
    """As many as the option says, where polls bring no more at once."""
    read = reader(last="100", step="5", options={"hearth.max.records.per.trigger": "20"})
    limit = read.getDefaultReadLimit()
    assert limit == ReadMaxRows(20)
    read.prepareForTriggerAvailableNow()
    batches, _ = drained(read, read.initialOffset(), limit)
    assert flat(batches) == list(range(1, 101))
    assert max(map(len, batches)) <= 20


def test_full_spool_pauses_its_tasks(reader: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until Spark has committed some of what waits for it; all comes once in the end."""
    monkeypatch.setattr(spool, "MOST_ROWS", 30)
    read = reader(last="300", options={"hearth.max.records.per.trigger": "10"})
    read.prepareForTriggerAvailableNow()
    start = read.initialOffset()
    read.latestOffset(start, ALL)
    assert eventually(lambda: waiting(read) >= 30, TIMEOUT)
    assert not eventually(lambda: waiting(read) > 40, 0.5)
    batches, _ = drained(read, start)
    assert flat(batches) == list(range(1, 301))


def waiting(reader: HearthStreamReader) -> int:
    """Return how many rows tasks have brought by now."""
    reached = reader.reportLatestOffset()
    assert reached is not None
    return int(reached["rows"])


def test_tasks_have_their_own_positions(reader: Make) -> None:
    """Each with its own positions."""
    read = reader(tasks=2, last="30")
    read.prepareForTriggerAvailableNow()
    batches, end = drained(read, read.initialOffset())
    assert sorted(flat(batches)) == sorted([*range(1, 31), *range(1, 31)])
    assert sorted(end["at"]) == ["0", "1"]


@pytest.mark.parametrize(("trap", "message"), [("fail 20", "the source is broken"), ("die 20", "signal 9")])
def test_failed_task_fails_the_query_without_losing_records(reader: Make, trap: str, message: str) -> None:
    """A restarted query reads what was polled before."""
    first = reader(last="50", trap=trap)
    end: Any = first.initialOffset()
    seen: list[int] = []
    with pytest.raises(DataSourceFailed, match=message):
        followed(first, end, seen)
    first.stop()
    second = reader(last="50")
    second.prepareForTriggerAvailableNow()
    batches, _ = drained(second, end)
    assert seen + flat(batches) == list(range(1, 51))


def test_source_is_notified_of_committed_records_once(reader: Make, tmp_path: Path) -> None:
    """Not before, and of each once."""
    heard = tmp_path / "heard"
    heard.touch()
    read = reader(name="Acknowledging", last="30", heard=str(heard))
    read.prepareForTriggerAvailableNow()
    start = read.initialOffset()
    end = read.latestOffset(start, ALL)
    count = len(rows(read, start, end))
    assert heard.read_text() == ""
    after = read.latestOffset(end, ALL)
    read.stop()
    acknowledged = [line for line in heard.read_text().split() if line != "commit"]
    assert acknowledged in ([str(number) for number in range(1, count + 1)], [])
    assert after["rows"] == 30


def test_spool_of_another_checkpoint_is_an_error(reader: Make, tmp_path: Path) -> None:
    """And one that lacks what the checkpoint has."""
    read = reader(last="5")
    start = read.initialOffset()
    with pytest.raises(DataSourceFailed, match="belongs to the spool another"):
        read.latestOffset({**start, "spool": "another"}, ALL)
    with pytest.raises(DataSourceFailed, match="is at segment 9"):
        read.latestOffset({**start, "at": {"0": 9}}, ALL)


def test_missing_spool_option_is_an_error(reader: Make) -> None:
    """Spark does not tell data sources where the checkpoint is."""
    with pytest.raises(DataSourceFailed, match=r"hearth\.spool"):
        HearthStreamReader({"connector.class": "x"}, SCHEMA).initialOffset()


def test_copy_for_executors_has_no_options(reader: Make) -> None:
    """It goes to every executor, and needs the columns alone."""
    assert b"hush" not in pickle.dumps(HearthStreamReader({"connector.class": "x", "password": "hush"}, SCHEMA))


def test_small_segments_are_read_together() -> None:
    """Segments without rows are not read."""
    sizes = [0, 10, 499_990, 1, 0, 500_000, 3]
    segments = [Segment(0, number, 1, size, size, 0) for number, size in enumerate(sizes)]
    parts = packed(segments, "s")
    assert all(isinstance(part, SegmentPartition) for part in parts)
    assert [[int(Path(name).stem[:12]) for name in part.names] for part in parts] == [[1, 2], [3], [5], [6]]
