"""Each record is one row, whatever ends when, and whoever still writes."""

from __future__ import annotations

from pathlib import Path

import pytest

import hearth_api as api
from hearth_api import SinkRecord, Struct, TopicPartition
from hearth_delta.delta_sink import DeltaSinkConnector
from hearth_delta.lake_table import LakeTable
from tests.unit.plugins import table_ledger
from tests.unit.plugins.delta.lake import NAME, PLACE, TOPIC, WORD, Lake, record, rewound, tombstone, word
from tests.unit.plugins.table_ledger import write_with_kills

UPSERT = {"insert_mode": "upsert", "pk_mode": "record_key", "delete_enabled": "true"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Provide a lake without tables."""
    return Lake(tmp_path / "lake")


@pytest.mark.parametrize("columns", [True, False])
def test_a_record_that_comes_again_is_not_written_again(lake: Lake, columns: bool) -> None:
    """Also in a put that brings new ones, and by the next task, which begins after the last."""
    with lake.sink(columns) as run:
        assert rewound(run) == {}
        run.put([word(0), word(1)])
        run.put([word(1), word(2)])
        run.pre_commit()
        run.put([word(0), word(1)])
        run.pre_commit()
    assert lake.words() == ["w0", "w1", "w2"]
    assert lake.versions() == {f"{NAME}/{TOPIC}/0": 2}
    with lake.sink(columns) as run:
        assert rewound(run) == {PLACE: 3}
        run.put([word(2), word(3)])
        run.pre_commit()
    assert lake.words() == ["w0", "w1", "w2", "w3"]


def test_rows_that_are_not_committed_come_again(lake: Lake) -> None:
    """A task that stops without a commit wrote nothing."""
    with lake.sink() as run:
        run.put([word(0)])
        run.pre_commit()
        run.put([word(1)])
    with lake.sink() as run:
        assert rewound(run) == {PLACE: 1}
        run.put([word(1)])
        run.pre_commit()
    assert lake.words() == ["w0", "w1"]


def test_rows_of_a_lost_partition_leave_the_buffer(lake: Lake) -> None:
    """Those of the others stay."""
    other = TopicPartition(TOPIC, 1)
    with lake.sink(True, [PLACE, other]) as run:
        run.put([word(0), record(0, WORD, {"word": "other"}, partition=1)])
        (task,) = run.tasks
        task.close([PLACE])
        run.pre_commit()
        assert lake.words() == ["other"]
        task.open([PLACE])
        run.put([word(0)])
        run.pre_commit()
    assert lake.words() == ["other", "w0"]


def test_connectors_and_partitions_share_a_table(lake: Lake) -> None:
    """Each connector has identifiers of its own."""
    for name in ("copy", "other"):
        with lake.sink(name=name) as run:
            run.put([word(0)])
            run.pre_commit()
    assert lake.words() == ["w0", "w0"]


@pytest.mark.parametrize("more", [{}, UPSERT], ids=["insert", "upsert"])
def test_a_task_that_lost_its_partition_writes_nothing(lake: Lake, more: dict[str, str]) -> None:
    """Whoever commits first writes the rows; the other finds them there."""

    def row(offset: int, text: str) -> SinkRecord:
        return record(offset, WORD, {"word": text}, offset)

    with lake.sink(**more) as old:
        old.put([row(0, "w0")])
        old.pre_commit()
        with lake.sink(**more) as new:
            assert rewound(new) == {PLACE: 1}
            old.put([row(1, "by the old task")])
            new.put([row(1, "by the new task")])
            new.pre_commit()
            old.pre_commit()
            old.put([row(2, "also by the old task")])
            old.pre_commit()
            new.put([row(2, "too late"), row(3, "w3")])
            new.pre_commit()
    assert sorted(lake.words()) == ["also by the old task", "by the new task", "w0", "w3"]


@pytest.mark.parametrize("columns", [True, False])
def test_a_bad_record_is_reported_once_and_passed(lake: Lake, columns: bool) -> None:
    """Its offset is in the table, also if it is the last one."""
    given = [word(0), record(1, api.STRING_SCHEMA, "no struct"), word(2), record(3, api.STRING_SCHEMA, "no struct")]
    with lake.sink(columns) as run:
        run.put(given)
        run.put(given)
        run.pre_commit()
        assert [each.kafka_offset for each, _ in run.reporter.reported] == [1, 3]
    assert lake.words() == ["w0", "w2"]
    with lake.sink(columns) as run:
        assert rewound(run) == {PLACE: 4}


def test_a_deletion_is_not_repeated(lake: Lake) -> None:
    """It would delete a later row of its key."""
    with lake.sink(**UPSERT) as run:
        given = [record(0, WORD, {"word": "a"}, 1), tombstone(1, 1), record(2, WORD, {"word": "b"}, 1)]
        run.put(given)
        run.pre_commit()
        run.put(given[:2])
        run.pre_commit()
    assert lake.rows() == [{"id": 1, "word": "b"}]


def test_tables_of_routed_records_skip_what_they_have(lake: Lake) -> None:
    """With transformations, one topic may fill several tables: a crash between two commits loses nothing."""

    def routed(offset: int, topic: str) -> SinkRecord:
        value = Struct.of(WORD, {"word": f"w{offset}"})
        return SinkRecord(
            topic, 0, None, None, WORD, value, offset,
            original_topic=TOPIC, original_kafka_partition=0, original_kafka_offset=offset,
        )  # fmt: skip

    given = [routed(0, "left"), routed(1, "right"), routed(2, TOPIC)]
    with lake.sink(transforms="route") as run, pytest.MonkeyPatch.context() as patch:
        patch.setattr(LakeTable, "commit", _failing_after(1))
        run.put(given)
        with pytest.raises(KeyboardInterrupt):
            run.pre_commit()
    assert lake.rows("left") == [{"word": "w0"}]
    with lake.sink(transforms="route") as run:
        assert rewound(run) == {}
        run.put(given)
        run.pre_commit()
    assert [lake.rows(topic) for topic in ("left", "right", TOPIC)] == [[{"word": f"w{n}"}] for n in range(3)]
    with lake.sink(transforms="route") as run:
        assert rewound(run) == {}


def _failing_after(commits: int) -> object:
    commit = LakeTable.commit
    done: list[object] = []

    def failing(*given: object) -> int:
        if len(done) == commits:
            raise KeyboardInterrupt
        done.append(given)
        return commit(*given)  # type: ignore[arg-type]

    return failing


def test_offsets_altered_by_hand_are_altered_in_the_table(lake: Lake) -> None:
    """A removed one is that of the consumer group again."""
    with lake.sink() as run:
        run.put([word(0), word(1), word(2)])
        run.pre_commit()
    connector = DeltaSinkConnector()
    assert connector.alter_offsets(lake.settings(), {PLACE: 1})
    with lake.sink() as run:
        assert rewound(run) == {PLACE: 1}
    assert connector.alter_offsets(lake.settings(), {PLACE: None})
    with lake.sink() as run:
        assert rewound(run) == {}
        run.put([word(0)])
        run.pre_commit()
    assert lake.words() == ["w0", "w0", "w1", "w2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kills", "count"), [(2, 6_000), pytest.param(60, 300_000, marks=pytest.mark.long)], ids=["short", "long"]
)
def test_ledger_of_killed_and_stopped_tasks(lake: Lake, kills: int, count: int) -> None:
    """Tasks are killed, or sleep while a successor writes and then go on: no row is lost and none is there twice."""
    config = lake.settings(auto_create="true", flush_size="200", topics=table_ledger.TOPIC)
    write_with_kills(DeltaSinkConnector, "delta", config, kills, count)
    numbers = lake.arrow(table_ledger.TOPIC).column("n").to_pylist()
    assert sorted(numbers) == list(range(count))
