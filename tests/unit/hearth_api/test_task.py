"""Tasks have Kafka Connect's defaults."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hearth_api import (
    UNDEFINED_VERSION,
    OffsetAndMetadata,
    SinkRecord,
    SinkTask,
    SourceRecord,
    SourceTask,
    TopicPartition,
    TransactionBoundary,
)


class Lines(SinkTask):
    """Records the flushed offsets."""

    def __init__(self) -> None:
        self.flushed: list[Mapping[TopicPartition, OffsetAndMetadata]] = []

    def start(self, props: Mapping[str, str]) -> None:
        pass

    def put(self, records: Collection[SinkRecord]) -> None:
        pass

    def flush(self, current_offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        self.flushed.append(current_offsets)

    def stop(self) -> None:
        pass


class Nothing(SourceTask):
    """Reads nothing."""

    def start(self, props: Mapping[str, str]) -> None:
        pass

    def poll(self) -> list[SourceRecord] | None:
        return None

    def stop(self) -> None:
        pass


def test_pre_commit_flushes_and_commits_everything_given() -> None:
    """A sink that overrides only flush commits exactly the offsets it flushed."""
    task = Lines()
    offsets = {TopicPartition("t", 0): OffsetAndMetadata(5)}
    assert task.pre_commit(offsets) is offsets
    assert task.flushed == [offsets]


def test_hooks_of_tasks_do_nothing_unless_overridden() -> None:
    """The hooks for partitions, commits and acknowledgements are optional."""
    sink, source = Lines(), Nothing()
    sink.open([])
    sink.close([])
    source.commit()
    source.commit_record(SourceRecord({}, {}, "t"), None)
    assert {sink.version(), source.version()} == {UNDEFINED_VERSION}


def test_transaction_boundaries_are_texts_of_configurations() -> None:
    """The value a user writes names the boundary."""
    assert [f"{boundary}" for boundary in TransactionBoundary] == ["poll", "interval", "connector"]
    assert TransactionBoundary("poll") is TransactionBoundary.POLL
