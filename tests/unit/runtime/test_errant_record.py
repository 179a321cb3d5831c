"""Records that a task itself found bad."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa
import pytest

from hearth.runtime.consumed_record import Consumed
from hearth.runtime.errant_record import take_report
from hearth.runtime.event_queue import Errant, EventQueue
from hearth.staging.failure_log import FailureLog
from hearth.staging.tolerance import Tolerance
from hearth_api import TopicPartition
from hearth_api.batch import Batch
from hearth_execution.failure import Failure
from hearth_stage.channel import ChannelClosed
from hearth_stage.task_call import ReportRecord
from tests.unit.runtime.sample import SETTINGS, failure


@dataclass
class Letters:
    """A dead letter topic that remembers."""

    failures: list[tuple[Failure, Consumed]] = field(default_factory=list)
    is_full = False

    def report(self, failure: Failure, record: Consumed) -> Future[None]:
        """Note a record."""
        self.failures.append((failure, record))
        kept: Future[None] = Future()
        kept.set_result(None)
        return kept


class Asked:
    """A request that notes that it was answered."""

    is_answered = False

    def answer(self, handler: Any) -> None:
        """Note it."""
        handler(self)
        self.is_answered = True


class Gone:
    """A request of a stage that was killed."""

    def fail(self, error: BaseException) -> None:
        """Fail as a connection does that was closed."""
        raise ChannelClosed("the other side is gone")


def bad_record() -> Batch:
    """Return a record as a stage sends it back."""
    row = {"partition": [1], "offset": [7], "key": [b"k"], "value": [b"v"]}
    types = {"partition": pa.int32(), "offset": pa.int64(), "key": pa.binary(), "value": pa.binary()}
    columns = [pa.array(values, types[name]) for name, values in row.items()]
    return Batch("t", None, None, pa.RecordBatch.from_arrays(columns, names=list(row)))


def test_intolerable_report_reaches_the_loop_before_its_answer() -> None:
    """Even if the stage is gone and cannot be answered, the record is not committed."""
    event_queue = EventQueue()
    report = ReportRecord(failure(0).error, bad_record())
    with pytest.raises(ChannelClosed):
        take_report(Tolerance(SETTINGS, FailureLog("c-0", SETTINGS)), event_queue, Gone(), report)  # type: ignore[arg-type]
    (errant,) = event_queue.take()
    assert isinstance(errant, Errant)
    assert (errant.partition, errant.offset) == (TopicPartition("t", 1), 7)


def test_reports_name_the_sink_task_interface() -> None:
    """Kafka Connect names ``SinkTask``, whatever the task's class, and the stage ``TASK_PUT``."""
    letters = Letters()
    asked: Any = Asked()
    tolerance = Tolerance(replace(SETTINGS, is_tolerant=True), FailureLog("c-0", SETTINGS), letters)
    take_report(tolerance, EventQueue(), asked, ReportRecord(failure(0).error, bad_record()))
    ((reported, record),) = letters.failures
    assert (reported.phase, reported.class_name) == ("TASK_PUT", "org.apache.kafka.connect.sink.SinkTask")
    assert record.place() == "topic 't', partition 1, offset 7, key 'k', 2 bytes (key text, value text)"
    assert record.place(with_key=False) == "topic 't', partition 1, offset 7, 2 bytes (key text, value text)"
    assert asked.is_answered
    assert tolerance.heard == 0  # nothing that follows has to wait for it
