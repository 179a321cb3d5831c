"""A sink task in its stage: its calls and its requests."""

from __future__ import annotations

from concurrent.futures import Future
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hearth_api import (
    STRING_SCHEMA,
    ConfigDef,
    ConnectError,
    DataError,
    ErrantRecordReporter,
    OffsetAndMetadata,
    RetriableError,
    SinkConnector,
    SinkRecord,
    SinkTask,
    TopicPartition,
)
from hearth_api.batch import Batch, BatchSinkTask
from hearth_execution.order import number_rows
from hearth_execution.plugins import Plugins
from hearth_execution.transformation import Step, Transformations
from hearth_stage.sink import MOST_SECONDS, ChannelErrantReporter, StageSink, TaskNotices
from hearth_stage.task_call import (
    ClosePartitions,
    ContextRequest,
    OpenPartitions,
    PreCommit,
    PreCommitted,
    Put,
    ReportRecord,
    SinkStarted,
    StartSink,
    StopSink,
)

SAMPLES = Path(__file__).parents[2] / "samples"
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
heard: list[Any] = []
puts: list[list[SinkRecord]] = []


class Task(SinkTask):
    """Records its calls."""

    def version(self) -> str:
        """Return a version."""
        return "1.0"

    def start(self, props: Any) -> None:
        """Record the configuration."""
        heard.append(("start", dict(props)))

    def open(self, partitions: Any) -> None:
        """Record partitions, and the assignment of the context."""
        heard.append(("open", list(partitions), self.context.assignment()))

    def put(self, records: Any) -> None:
        """Record values."""
        puts.append(list(records))
        heard.append(("put", [(record.value, record.original_kafka_offset) for record in records]))

    def pre_commit(self, current_offsets: Any) -> Any:
        """Agree to all but the last record."""
        heard.append(("pre_commit", dict(current_offsets)))
        return {partition: OffsetAndMetadata(each.offset - 1) for partition, each in current_offsets.items()}

    def close(self, partitions: Any) -> None:
        """Record partitions, and the assignment of the context."""
        heard.append(("close", list(partitions), self.context.assignment()))

    def stop(self) -> None:
        """Record the call."""
        heard.append("stop")


class BatchTask(BatchSinkTask, Task):
    """Accepts batches and reads one column."""

    columns = frozenset({"value", "offset"})

    def put_batch(self, batches: list[Batch]) -> Any:
        """Record values, and decline odd ones."""
        texts = [batch.column("value").to_pylist() for batch in batches]
        heard.append(("put_batch", texts))
        return NotImplemented if ["odd"] in texts else None


class Connector(SinkConnector):
    """The connector of ``Task``."""

    def version(self) -> str:
        """Return a version."""
        return "1.0"

    def config(self) -> ConfigDef:
        """Return no keys."""
        return ConfigDef()

    def start(self, props: Any) -> None:
        """Need nothing."""

    def stop(self) -> None:
        """Need nothing."""

    def task_configs(self, max_tasks: int) -> list[dict[str, str]]:
        """Return one configuration."""
        return [{}]

    def task_class(self) -> type[Task]:
        """Return the task's class."""
        return Task


class BatchConnector(Connector):
    """The connector of ``BatchTask``."""

    def task_class(self) -> type[Task]:
        """Return the task's class."""
        return BatchTask


class Wire:
    """The runtime's side: records notices and leaves calls unanswered."""

    def __init__(self) -> None:
        self.sent: list[ContextRequest] = []
        self.calls: list[tuple[ReportRecord, Future[None]]] = []

    def notify(self, notice: ContextRequest) -> None:
        """Record a notice."""
        self.sent.append(notice)

    def begin(self, call: ReportRecord) -> Future[None]:
        """Record a call."""
        self.calls.append((call, Future()))
        return self.calls[-1][1]


@pytest.fixture(autouse=True)
def _samples(monkeypatch: pytest.MonkeyPatch) -> None:
    heard.clear()
    monkeypatch.syspath_prepend(str(SAMPLES))


def put(*batches: Batch, consumed: int = 0) -> Put:
    """Return a put of batches, with rows numbered across all but the consumed ones."""
    numbered, first = [*batches], 0
    for place, each in enumerate(batches[: len(batches) - consumed]):
        numbered[place] = each.with_columns(row=pa.array(range(first, first + len(each)), pa.int32()))
        first += len(each)
    return Put(numbered, consumed)


def started(connector: str = "Connector", steps: bool = False, **args: Any) -> tuple[StageSink, Wire, SinkStarted]:
    """Return a stage with a started task, optionally with a transformation before it."""
    wire: Any = Wire()
    plugins = Plugins("sink")
    plugins.load("transforms.u", "sample.Upper", "sample_plugins:Upper", {})
    sink = StageSink(wire, Transformations(plugins))
    own = [Step("transforms.u")] if steps else []
    reply = sink.start(StartSink(f"{__name__}:{connector}", {"a": "1"}, own, **args))
    return sink, wire, reply


def batch(*values: str) -> Batch:
    """Return a consumed batch with offsets from 100."""
    columns = {
        "value": pa.array(values, pa.string()),
        "partition": pa.array([0] * len(values), pa.int32()),
        "offset": pa.array(range(100, 100 + len(values)), pa.int64()),
    }
    data = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
    return number_rows(Batch("t", None, STRING_SCHEMA, data, original_topic="t"))


@pytest.mark.parametrize(
    ("connector", "steps", "answer"),
    [
        ("Connector", False, SinkStarted("1.0", False, None, takes_next=True)),
        ("BatchConnector", False, SinkStarted("1.0", True, ["offset", "value"], takes_next=True)),
        ("BatchConnector", True, SinkStarted("1.0", True, None, takes_next=True)),
    ],
)
def test_start_returns_what_the_task_accepts(connector: str, steps: bool, answer: SinkStarted) -> None:
    """Unused columns need not be sent; a transformation may read any."""
    _, _, reply = started(connector, steps)
    assert reply == answer
    assert heard == [("start", {"a": "1"})]


def test_records_are_put_in_the_form_of_the_task() -> None:
    """A record task gets all records as one list, a batch task the batches; an empty put is a put as well."""
    sink, _, _ = started()
    sink.put(put(batch("a", "b"), batch("c")))
    sink.put(put())
    assert heard[1:] == [("put", [("a", 100), ("b", 101), ("c", 100)]), ("put", [])]
    sink, _, _ = started("BatchConnector")
    sink.put(put(batch("a", "b"), batch("c")))
    assert heard[-1] == ("put_batch", [["a", "b"], ["c"]])


def interleaved(rows: int, length: int) -> list[Batch]:
    """Return two batches of these many rows in total, which alternate at this interval; values are row numbers."""
    numbers = np.arange(rows)
    masks = numbers // length % 2 == 0, numbers // length % 2 == 1
    whole = batch(*map(str, numbers))
    return [whole.filter(pa.array(mask)) for mask in masks]


@pytest.mark.parametrize(
    ("connector", "steps"), [("Connector", False), ("Connector", True), ("BatchConnector", False)]
)
def test_rows_of_several_schemas_come_in_the_order_of_their_numbers(connector: str, steps: bool) -> None:
    """One batch per schema arrives, and the task gets records in the order they were consumed."""
    sink, _, _ = started(connector, steps)
    sink.put(Put(interleaved(20, 1)))
    assert heard[1:] == [("put", [(str(row), 100 + row) for row in range(20)])]


def test_long_runs_of_rows_are_put_as_consecutive_batches() -> None:
    """A task that does not declare support for interleaved batches need not look at row numbers."""
    sink, _, _ = started("BatchConnector")
    sink.put(Put(interleaved(64, 16)))
    texts = [str(row) for row in range(64)]
    assert heard[1:] == [("put_batch", [texts[start : start + 16] for start in range(0, 64, 16)])]


def test_interleaved_batches_are_put_unchanged_if_supported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It orders them itself by number."""
    monkeypatch.setattr(BatchTask, "takes_interleaved", True)
    sink, _, _ = started("BatchConnector")
    sink.put(Put(interleaved(4, 1)))
    assert heard[1:] == [("put_batch", [["0", "2"], ["1", "3"]])]


def test_declined_put_gets_all_records() -> None:
    """The batch form has written nothing then; the next put tries it again."""
    sink, _, _ = started("BatchConnector")
    sink.put(put(batch("a", "b"), batch("odd")))
    sink.put(put(batch("c")))
    assert heard[1:] == [
        ("put_batch", [["a", "b"], ["odd"]]),
        ("put", [("a", 100), ("b", 101), ("odd", 100)]),
        ("put_batch", [["c"]]),
    ]


@pytest.mark.parametrize("tolerant", [True, False])
def test_record_that_fails_in_a_step_is_skipped_or_prevents_the_put(tolerant: bool) -> None:
    """Without tolerance the task fails, and Kafka Connect puts nothing of that delivery."""
    sink, _, _ = started(steps=True, tolerant=tolerant)
    reply = sink.put(put(batch("a", "bad", "b")))
    assert [each.row for each in reply.failures] == [1]
    assert heard[1:] == ([("put", [("A", 100), ("B", 102)])] if tolerant else [])


def test_records_of_the_last_step_are_put_unchanged() -> None:
    """No column is created between two plugins in record form; a batch task gets columns."""
    sink, _, _ = started(steps=True)
    sink.put(put(batch("a", "drop", "b")))
    assert heard[-1] == ("put", [("A", 100), ("B", 102)])
    assert {type(record) for record in puts[-1]} == {SinkRecord}
    sink, _, _ = started("BatchConnector", steps=True)
    sink.put(put(batch("a", "drop", "b")))
    assert heard[-1] == ("put_batch", [["A", "B"]])


@pytest.mark.parametrize("connector", ["Connector", "BatchConnector"])
def test_records_selected_by_a_predicate_keep_their_order(connector: str) -> None:
    """In the order they were consumed, in either form."""
    plugins = Plugins("sink")
    plugins.load("transforms.u", "sample.UpperBatch", "sample_plugins:UpperBatch", {})
    plugins.load("predicates.p", "sample.IsLong", "sample_plugins:IsLong", {})
    wire: Any = Wire()
    sink = StageSink(wire, Transformations(plugins))
    sink.start(StartSink(f"{__name__}:{connector}", {"a": "1"}, [Step("transforms.u", "predicates.p")]))
    sink.put(put(batch("a", "long", "longer", "b")))
    (method, records) = heard[-1]
    values = [value for own in records for value in own] if method == "put_batch" else [value for value, _ in records]
    assert values == ["a", "LONG", "LONGER", "b"]


def test_task_agrees_to_offsets() -> None:
    """The task's return value is what may be committed."""
    sink, _, _ = started()
    reply = sink.pre_commit(PreCommit({FIRST: 7, SECOND: 9}))
    assert heard[1:] == [("pre_commit", {FIRST: OffsetAndMetadata(7), SECOND: OffsetAndMetadata(9)})]
    assert reply == PreCommitted({FIRST: 6, SECOND: 8})


def test_assignment_is_known_while_partitions_open_and_close() -> None:
    """A partition is assigned from the call of open to the end of close."""
    sink, _, _ = started()
    sink.open(OpenPartitions([FIRST]))
    sink.open(OpenPartitions([SECOND]))
    sink.close(ClosePartitions([FIRST]))
    sink.close(ClosePartitions([SECOND]))
    assert heard[1:] == [
        ("open", [FIRST], {FIRST}),
        ("open", [SECOND], {FIRST, SECOND}),
        ("close", [FIRST], {FIRST, SECOND}),
        ("close", [SECOND], {SECOND}),
    ]


def following(*batches: Batch, heard: int = 0) -> Put:
    """Return a put of batches, sent before the previous one is answered."""
    return Put(list(batches), heard=heard)


def taken(sink: StageSink, call: Put) -> int:
    """Run puts, and return how many the task accepted."""
    done = sink.put(call)
    assert done.error is None
    return done.taken


def test_put_ahead_is_accepted_after_a_successful_put() -> None:
    """Also after the third."""
    sink, _, _ = started()
    calls = [put(batch("a")), following(batch("b")), following(batch("c"))]
    assert [taken(sink, call) for call in calls] == [1, 1, 1]
    assert heard[1:] == [("put", [("a", 100)]), ("put", [("b", 100)]), ("put", [("c", 100)])]


def test_puts_ahead_are_skipped_after_a_refused_put(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither at once nor later; the refused put has to be repeated first."""
    sink, _, _ = started()

    def refuse(_task: Task, _records: Any) -> None:
        raise RetriableError("not now")

    with monkeypatch.context() as patched:
        patched.setattr(Task, "put", refuse)
        with pytest.raises(RetriableError):
            sink.put(put(batch("a")))
    assert [taken(sink, following(batch(value))) for value in "bc"] == [0, 0]
    assert [taken(sink, call) for call in (put(batch("a")), following(batch("b")))] == [1, 1]
    assert heard[1:] == [("put", [("a", 100)]), ("put", [("b", 100)])]


def test_puts_ahead_are_skipped_after_a_request_of_the_task() -> None:
    """It may request other records, or none; puts after a skipped one are skipped as well."""
    sink, _, _ = started("BatchConnector", reporter=True, tolerant=True)
    _, context = sink._parts()
    sink.put(put(batch("a")))
    context.pause(FIRST)
    context.timeout(1)
    assert taken(sink, following(batch("b"), heard=1)) == 0
    assert taken(sink, following(batch("c"), heard=2)) == 0
    assert taken(sink, put(batch("b"))) == taken(sink, following(batch("c"), heard=2)) == 1


@pytest.mark.parametrize("tolerant", [True, False])
def test_puts_ahead_are_accepted_after_a_tolerated_report(tolerant: bool) -> None:
    """Only a dead letter depends on it; without tolerance a report ends the task."""
    sink, _, _ = started("BatchConnector", reporter=True, tolerant=tolerant)
    _, context = sink._parts()
    sink.put(put(batch("a")))
    reporter = context.errant_record_reporter()
    assert reporter is not None
    with nullcontext() if tolerant else pytest.raises(ConnectError):
        reporter.report(MADE, DataError("bad"))
    assert taken(sink, following(batch("b"))) == (1 if tolerant else 0)


def test_puts_ahead_are_skipped_on_request_of_the_runtime() -> None:
    """It is counted like messages of the task; later puts are accepted."""
    sink, _, _ = started()
    sink.put(put(batch("a")))
    sink.skip_puts()
    assert taken(sink, following(batch("b"))) == 0
    assert taken(sink, put(batch("b"))) == taken(sink, following(batch("c"), heard=1)) == 1
    assert heard[1:] == [("put", [("a", 100)]), ("put", [("b", 100)]), ("put", [("c", 100)])]


@pytest.mark.parametrize("tolerant", [True, False])
def test_puts_ahead_are_accepted_after_tolerated_failures(tolerant: bool) -> None:
    """Otherwise the first of them ends the task."""
    sink, _, _ = started(steps=True, tolerant=tolerant)
    assert sink.put(put(batch("a", "bad"))).failures
    assert taken(sink, following(batch("b"))) == (1 if tolerant else 0)


def several(*values: str, heard: int = 0) -> Put:
    """Return a call with one put per value, sent before the previous put is answered."""
    return Put([number_rows(batch(*values))], heard=heard, ends=[*range(1, len(values) + 1)])


def test_several_puts_of_a_call_run_in_order() -> None:
    """With the same results as separate calls."""
    sink, _, _ = started()
    assert [taken(sink, call) for call in (put(batch("a")), several("b", "c"), several("d"))] == [1, 2, 1]
    assert [value for _, ((value, _),) in heard[1:]] == ["a", "b", "c", "d"]


def test_empty_put_among_several_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transformations may have dropped everything between two ends."""
    sink, _, _ = started()
    sink.put(put(batch("a")))
    rows = number_rows(batch("b", "x", "c")).filter(pa.array([True, False, True]))
    assert taken(sink, Put([rows], heard=0, ends=[1, 2, 3])) == 3
    assert [[value for value, _ in records] for _, records in heard[2:]] == [["b"], [], ["c"]]


def test_error_of_one_of_several_puts_has_the_accepted_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is put after it, neither of the same call nor of the next."""
    sink, _, _ = started()
    plain = Task.put

    def refuse(task: Task, records: Any) -> None:
        if records[0].value == "c":
            raise RetriableError("not now")
        plain(task, records)

    monkeypatch.setattr(Task, "put", refuse)
    sink.put(put(batch("a")))
    done = sink.put(several("b", "c", "d"))
    assert (done.taken, done.begun, done.error and done.error.kind) == (1, 2, "retriable")
    assert taken(sink, several("e")) == 0
    with pytest.raises(RetriableError):
        sink.put(put(batch("c")))
    assert [value for _, ((value, _),) in heard[1:]] == ["a", "b"]


@pytest.mark.parametrize("requester", ["by the task", "by the runtime"])
def test_several_puts_stop_after_a_request_of_the_task(requester: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime has to handle the task's request, or skips further puts; the current put is completed."""
    sink, _, _ = started()
    _, context = sink._parts()
    plain = Task.put

    def speak(task: Task, records: Any) -> None:
        plain(task, records)
        if records[0].value == "c":
            context.request_commit() if requester == "by the task" else sink.skip_puts()

    monkeypatch.setattr(Task, "put", speak)
    sink.put(put(batch("a")))
    assert taken(sink, several("b", "c", "d")) == 2
    assert taken(sink, several("e", heard=1)) == 0
    assert taken(sink, put(batch("d"))) == taken(sink, several("e", heard=1)) == 1
    assert [value for _, ((value, _),) in heard[1:]] == ["a", "b", "c", "d", "e"]


def test_several_puts_stop_when_they_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The timeout of a call is meant for one put, so the first slow put is the last of its call."""
    sink, _, _ = started()
    plain, now = Task.put, [0.0]

    def slow(task: Task, records: Any) -> None:
        plain(task, records)
        now[0] += MOST_SECONDS * 2 if records[0].value == "c" else MOST_SECONDS / 4

    monkeypatch.setattr(Task, "put", slow)
    monkeypatch.setattr("hearth_stage.sink.time.perf_counter", lambda: now[0])
    sink.put(put(batch("a")))
    done = sink.put(several("b", "c", "d"))
    assert (done.taken, done.seconds) == (2, MOST_SECONDS * 2.25)
    assert taken(sink, several("e")) == 0


@pytest.mark.parametrize(("tolerant", "count", "failed"), [(True, 3, [2, 4]), (False, 1, [2])])
def test_failures_of_several_puts_are_numbered_across_all(tolerant: bool, count: int, failed: list[int]) -> None:
    """With tolerance the rest of each put is put; otherwise nothing from the first of them on."""
    sink, _, _ = started(steps=True, tolerant=tolerant)
    sink.put(put(batch("a")))
    rows = number_rows(batch("b", "c", "bad", "d", "bad"))
    done = sink.put(Put([rows], heard=0, ends=[2, 4, 5]))
    assert (done.taken, [each.row for each in done.failures]) == (count, failed)
    assert taken(sink, several("e")) == (1 if tolerant else 0)


def test_context_requests_go_to_the_runtime() -> None:
    """Requests are sent unchanged."""
    sink, wire, _ = started()
    context = sink._parts()[1]
    context.offset(FIRST, 3)
    context.offset({FIRST: 4, SECOND: 5})
    context.timeout(250)
    context.pause(FIRST, SECOND)
    context.resume(SECOND)
    context.request_commit()
    assert wire.sent == [
        ContextRequest(rewind={FIRST: 3}),
        ContextRequest(rewind={FIRST: 4, SECOND: 5}),
        ContextRequest(timeout=250),
        ContextRequest(pause=[FIRST, SECOND]),
        ContextRequest(resume=[SECOND]),
        ContextRequest(commit=True),
    ]
    assert context.config() == {"a": "1"}


def test_reporter_exists_only_with_dead_letters_or_error_log() -> None:
    """Kafka Connect provides none unless a dead letter topic or the error log is set."""
    assert started()[0]._parts()[1].errant_record_reporter() is None


def consumed(*values: bytes) -> Batch:
    """Return the consumed records of the rows of ``batch``."""
    columns = {
        "partition": pa.array([0] * len(values), pa.int32()),
        "offset": pa.array(range(100, 100 + len(values)), pa.int64()),
        "key": pa.nulls(len(values), pa.binary()),
        "value": pa.array(values, pa.binary()),
    }
    return Batch("t", None, None, pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns)))


def reporting(tolerant: bool = True, steps: bool = False) -> tuple[ErrantRecordReporter, Wire, list[SinkRecord]]:
    """Return a reporter, and records of a put."""
    sink, wire, _ = started(reporter=True, tolerant=tolerant, steps=steps)
    reporter = sink._parts()[1].errant_record_reporter()
    assert reporter is not None
    sink.put(put(batch("a", "b"), consumed(b"raw a", b"raw b"), consumed=1))
    return reporter, wire, puts[-1]


@pytest.mark.parametrize("error", [None, DataError("refused")])
def test_report_completes_when_the_record_is_dead_lettered(error: Exception | None) -> None:
    """The future of a report completes with the runtime's answer."""
    reporter, wire, records = reporting()
    done = reporter.report(records[1], DataError("bad"))
    ((call, answer),) = wire.calls
    assert (call.op, call.error.message) == ("sink.errant", "bad")
    assert not done.done()
    if error is None:
        answer.set_result(None)
    else:
        answer.set_exception(error)
    assert done.exception() is error


@pytest.mark.parametrize("steps", [False, True])
def test_report_has_the_consumed_record(steps: bool) -> None:
    """However late, and however a transformation or the task changed the record."""
    reporter, wire, records = reporting(steps=steps)
    reporter.report(records[1], DataError("bad"))
    reporter.report(records[0].new_record(value="changed", topic="u"), DataError("bad"))
    bodies = [call.record for call, _ in wire.calls]
    assert [body.column("value").to_pylist() for body in bodies] == [[b"raw b"], [b"raw a"]]
    assert [body.column("offset").to_pylist() for body in bodies] == [[101], [100]]


def test_report_raises_without_tolerance() -> None:
    """As the author API specifies; the runtime gets it as well, and fails the task."""
    reporter, wire, records = reporting(tolerant=False)
    with pytest.raises(ConnectError, match="Tolerance exceeded in error handler"):
        reporter.report(records[0], DataError("bad"))
    assert len(wire.calls) == 1


MADE = SinkRecord("t", 0, None, None, STRING_SCHEMA, "made up", 3)


def test_record_made_by_the_task_is_reported_unconverted() -> None:
    """A task may have combined several; the runtime converts it, as Java's worker does."""
    reporter, wire, _ = reporting()
    reporter.report(MADE, DataError("bad"))
    ((call, _),) = wire.calls
    assert call.made
    assert call.record.value_schema == STRING_SCHEMA
    assert (call.record.column("value").to_pylist(), call.record.column("offset").to_pylist()) == (["made up"], [3])


def test_record_made_by_the_task_needs_converters_elsewhere() -> None:
    """The converter is in the task's own process, which waits for the report."""
    wire: Any = Wire()
    reporter = ChannelErrantReporter(TaskNotices(wire), tolerant=True, converts=True)
    with pytest.raises(ConnectError, match="a converter of the connector is in the same bundle as its task"):
        reporter.report(MADE, DataError("bad"))
    assert wire.calls == []


def test_task_is_stopped_once() -> None:
    """Stopping and ending call the task's ``stop`` once."""
    sink, _, _ = started()
    sink.stop(StopSink())
    sink.end()
    assert heard[1:] == ["stop"]
