"""The author's test kit answers from memory and records a task's requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from hearth_api import DataError, SinkRecord, SinkTask, TopicPartition
from hearth_api.testing import MemoryErrantRecordReporter, MemorySinkTaskContext, MemorySourceTaskContext

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


class Asking(SinkTask):
    """Makes every request that its context offers."""

    def start(self, props: Mapping[str, str]) -> None:
        """Make the requests of a start."""
        assert self.context.config() == props

    def put(self, records: Collection[SinkRecord]) -> None:
        """Report every record."""
        self.context.offset(FIRST, 3)
        self.context.offset({SECOND: 5})
        self.context.pause(*self.context.assignment())
        self.context.resume(SECOND)
        self.context.timeout(250)
        self.context.request_commit()
        reporter = self.context.errant_record_reporter()
        for record in records:
            if reporter is None:
                raise DataError("bad")
            assert reporter.report(record, DataError("bad")).done()

    def stop(self) -> None:
        """Hold nothing."""


def record() -> SinkRecord:
    """Return a record."""
    return SinkRecord("t", 0, None, None, None, "x", 7)


def test_source_task_continues_from_the_last_offset_of_its_partition() -> None:
    """As after a restart; a partition without an offset has none."""
    offsets = [({"file": "a"}, {"position": 1}), ({"file": "b"}, {"position": 2}), ({"file": "a"}, {"position": 3})]
    context = MemorySourceTaskContext({"topic": "t"}, offsets)
    reader = context.offset_storage_reader()
    assert reader.offsets([{"file": "b"}, {"file": "c"}, {"file": "a"}]) == [{"position": 2}, None, {"position": 3}]
    assert (context.config(), context.transaction_context()) == ({"topic": "t"}, None)


def test_changing_a_returned_offset_does_not_affect_others() -> None:
    """A host reads each answer from its store."""
    context = MemorySourceTaskContext({"topic": "t"}, [({"file": "a"}, {"position": 1})])
    context.config()["topic"] = "other"
    (offset,) = context.offset_storage_reader().offsets([{"file": "a"}])
    assert offset is not None
    offset["position"] = 9
    assert context.config() == {"topic": "t"}
    assert context.offset_storage_reader().offset({"file": "a"}) == {"position": 1}


def test_requests_of_a_sink_task_are_recorded() -> None:
    """A test can read them; they have no other effect."""
    reporter = MemoryErrantRecordReporter()
    context = MemorySinkTaskContext({"a": "1"}, [FIRST, SECOND], reporter)
    task = Asking()
    task.initialize(context)
    task.start({"a": "1"})
    task.put([record()])
    assert (context.rewound, context.paused) == ({FIRST: 3, SECOND: 5}, {FIRST})
    assert (context.timeout_ms, context.commits_requested) == (250, 1)
    assert [(each.kafka_offset, str(error)) for each, error in reporter.reported] == [(7, "bad")]


def test_errant_record_reporter_is_none_by_default() -> None:
    """As for a connector without a dead letter topic or error log."""
    assert MemorySinkTaskContext().errant_record_reporter() is None
