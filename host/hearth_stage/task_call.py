"""The calls to a task in a stage, and the task's messages: sources and sinks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Annotated, Any

from hearth_api import TopicPartition
from hearth_api.batch import Batch, PackedRecords
from hearth_api.batch import arrow as pa
from hearth_execution.failure import ErrorInfo, Failure
from hearth_execution.order import are_numbered_together, count_rows, is_numbered, join_all, rows_between
from hearth_execution.transformation import Outcome, Step
from hearth_stage.call import Call, Notice, operations
from hearth_stage.form import Form, form_of
from hearth_stage.poll_times import NO_POLLS, PollTimes

# Sources ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourceStarted:
    """The version of a source task, and whether it wants to be notified of each record and each commit."""

    version: str | None = None
    wants_records: bool = False
    wants_commits: bool = True


@dataclass(frozen=True)
class StartSource(Call[SourceStarted], op="source.start"):
    """Initializes and starts a task of the connector.

    The stage reports that the source is empty after ``empty_ms`` of empty polls, with ``ends_exhausted`` also as soon
    as the task is exhausted. With ``joins_polls`` it may join quick polls to one hand-over, and with ``packs`` it may
    pack records of many kinds. With ``drops_positions`` transformed records need not carry their source positions,
    because the polled ones do.
    """

    reference: str
    config: dict[str, str] = field(repr=False)
    steps: list[Step] = field(default_factory=list)
    ends_transactions: bool = False
    empty_ms: int | None = None
    ends_exhausted: bool = False
    names_only: bool = False
    drops_positions: bool = False
    joins_polls: bool = False
    packs: bool = False


@dataclass(frozen=True)
class AddCredit(Notice, op="source.credit"):
    """Lets the stage hand over ``count`` more times."""

    count: int


@dataclass(frozen=True)
class HoldPolling(Call[None], Notice, op="source.hold"):
    """Stops polling; as a call it is answered after everything that was handed over."""


@dataclass(frozen=True)
class ResumePolling(Notice, op="source.resume"):
    """Resumes polling."""


@dataclass(frozen=True)
class CommitSource(Notice, op="source.commit"):
    """The offsets so far are stored."""


@dataclass(frozen=True)
class CommitRecords(Notice, op="source.commit_records"):
    """Records are written; each is a list of number, topic, partition, offset and timestamp.

    There is one per record of the task, and they come from the runtime, so they are not checked one by one.
    """

    records: list[Any]


@dataclass(frozen=True)
class StopSource(Call[None], op="source.stop"):
    """Stops the task, after every commit before it."""


@dataclass(frozen=True)
class Polled:
    """The records of a poll, and the result of the stage's own steps, if there are any.

    ``origins`` has a batch for each kind of records; rows of several are numbered across them, in the order of the
    poll. Records that steps took as records may lack their values (``StartSource.names_only``). Records that no step
    touched may be packed (``StartSource.packs``).
    """

    origins: Sequence[Batch]
    outcome: Outcome | None = None

    @classmethod
    def join(cls, groups: Sequence[Sequence[Batch]]) -> Polled:
        """Join polls of one ``form`` to one."""
        packed = [group for group in groups if isinstance(group, PackedRecords)]
        return cls(PackedRecords.join(packed) if len(packed) == len(groups) else join_all(groups))

    @property
    def form(self) -> str | None:
        """Return the form of polls that may be joined; None after steps have run."""
        if self.outcome is not None:
            return None
        return "packed" if isinstance(self.origins, PackedRecords) else "batches"

    @property
    def num_rows(self) -> int:
        """Return the number of polled records."""
        return count_rows(self.origins)

    @property
    def size(self) -> int:
        """Return the size of the batches in a frame, which is faster to compute than their memory."""
        return sum(pa.ipc.get_record_batch_size(data) for data in self._data)

    @property
    def memory(self) -> int:
        """Return the memory of the polled records in bytes; a slice counts as the whole it was cut from."""
        return sum(data.get_total_buffer_size() for data in self._data)

    @property
    def _data(self) -> list[Any]:
        if isinstance(self.origins, PackedRecords):
            return [self.origins.data]
        return [batch.data for batch in (*self.origins, *(() if self.outcome is None else self.outcome.batches))]

    @property
    def results(self) -> Sequence[Batch]:
        """Return the resulting batches."""
        return self.origins if self.outcome is None else self.outcome.batches

    @property
    def failures(self) -> list[Failure]:
        """Return the failed rows."""
        return [] if self.outcome is None else self.outcome.failures


@dataclass(frozen=True)
class Group:
    """The number of batches that were polled, and of the following ones that resulted from them, if steps ran.

    If they are ``packed`` there are two, the arguments of ``PackedRecords.of_batches``.
    """

    polled: int
    results: int | None = None
    failures: list[Failure] = field(default_factory=list)
    packed: bool = False


@dataclass(frozen=True)
class HandOver(Notice, op="source.batches"):
    """The result of one poll, or of several consecutive ones (``StartSource.joins_polls``)."""

    groups: list[Group]
    batches: list[Batch]
    times: PollTimes = NO_POLLS

    @classmethod
    def of(cls, polled: Sequence[Polled], times: PollTimes = NO_POLLS) -> HandOver:
        """Return the hand-over of polls, in order."""
        groups: list[Group] = []
        batches: list[Batch] = []
        for each in polled:
            if is_packed := isinstance(each.origins, PackedRecords):
                origins = each.origins.to_batches()
            else:
                origins = [*each.origins]
            made = None if each.outcome is None else each.outcome.batches
            groups.append(Group(len(origins), None if made is None else len(made), each.failures, is_packed))
            batches += [*origins, *(made or ())]
        return cls(groups, batches, times)

    def polled(self) -> Iterator[Polled]:
        """Yield the polls; raises ``ValueError`` if a batch is missing."""
        rest = iter(self.batches)
        for group in self.groups:
            polled = _taken(rest, group.polled, least=1)
            made = None if group.results is None else _taken(rest, group.results)
            if group.packed:
                yield _unpacked(polled, made)
                continue
            if (len(polled) > 1 or is_numbered(polled[0])) and not are_numbered_together(polled):
                raise ValueError(
                    f"{len(polled)} batches were polled together, but their rows are not numbered across them"
                )
            yield Polled(polled, None if made is None else Outcome(made, group.failures))


def _unpacked(polled: list[Batch], made: list[Batch] | None) -> Polled:
    if len(polled) != 2 or made is not None:
        raise ValueError(f"packed records are two batches without step results, not {len(polled)}")
    return Polled(PackedRecords.of_batches(*polled))


def _taken(rest: Iterator[Batch], count: int, least: int = 0) -> list[Batch]:
    batches = list(islice(rest, max(count, 0)))
    if count < least or len(batches) != count:
        raise ValueError(f"a hand-over of {count} batches has {len(batches)}")
    return batches


@dataclass(frozen=True)
class EndTransaction(Notice, op="source.transaction"):
    """The task ends its transaction after the records handed over: commit it, or abort and drop its records."""

    aborts: bool = False


@dataclass(frozen=True)
class PollsEmpty(Notice, op="source.empty"):
    """Polls have returned nothing for the requested time; sent after the last of them."""


@dataclass(frozen=True)
class PollFailed(Notice, op="source.failed"):
    """A poll raised, and the task is not polled again."""

    error: ErrorInfo


# Sinks --------------------------------------------------------------------------------------------------------

_read_offsets = form_of(list[tuple[str, int, int]]).read

Offsets = Annotated[
    dict[TopicPartition, int],
    Form(
        lambda rows: {TopicPartition(topic, number): offset for topic, number, offset in _read_offsets(rows)},
        lambda offsets: [[*partition, offset] for partition, offset in offsets.items()],
    ),
]
"""Offsets of consumed partitions: lists of topic, partition and offset."""


@dataclass(frozen=True)
class SinkStarted:
    """A sink task: whether it accepts batches, and of which columns; ``None`` means all.

    ``takes_next`` is whether the stage accepts a put before the previous one is answered.
    """

    version: str | None = None
    is_batch: bool = False
    columns: list[str] | None = None
    takes_next: bool = False


@dataclass(frozen=True)
class StartSink(Call[SinkStarted], op="sink.start"):
    """Initializes and starts a task of the connector."""

    reference: str
    config: dict[str, str] = field(repr=False)
    steps: list[Step] = field(default_factory=list)
    reporter: bool = False
    tolerant: bool = False


@dataclass(frozen=True)
class OpenPartitions(Call[None], op="sink.open"):
    """Partitions are newly assigned."""

    partitions: list[TopicPartition]


@dataclass(frozen=True)
class PutDone:
    """How many puts of a call the task accepted, and what happened to the next one.

    ``failures`` are rows that failed in the stage's own steps: they were left out of their puts if that is tolerated,
    otherwise their put was not made. ``error`` is what the next put raised; the first put's error is raised by the
    call itself. Puts after a failed one are skipped. ``seconds`` is the duration of the puts that were started,
    ``longest`` that of one of them.
    """

    taken: int = 1
    failures: list[Failure] = field(default_factory=list)
    error: ErrorInfo | None = None
    seconds: float = 0.0
    longest: float = 0.0

    @property
    def begun(self) -> int:
        """Return how many puts were started."""
        return self.taken + (self.error is not None)


@dataclass(frozen=True)
class Put(Call[PutDone], op="sink.put"):
    """Passes records to the task; the last ``consumed`` of the batches hold the records as they were consumed.

    With ``heard`` it is sent before the previous put is answered, and applies only if that put was accepted completely
    and the stage had sent exactly ``heard`` context requests and reports (skipped puts included) by then. Such a call
    may contain several puts: ``ends`` holds the row number at which each ends, and the same condition applies to each
    of them.
    """

    batches: list[Batch]
    consumed: int = 0
    heard: int | None = None
    ends: list[int] = field(default_factory=list)

    @property
    def split(self) -> tuple[list[Batch], list[Batch]]:
        """Return the records to put, and the records as they were consumed."""
        first = len(self.batches) - self.consumed
        return self.batches[:first], self.batches[first:]

    def puts(self) -> Iterator[list[Batch]]:
        """Yield the records of each put."""
        batches, _ = self.split
        if not self.ends:
            yield batches
        for start, end in pairwise([0, *self.ends]):
            yield rows_between(batches, start, end)


@dataclass(frozen=True)
class SkipPuts(Notice, op="sink.skip_puts"):
    """Skips the puts that were sent ahead and have not started; handled at once, out of order."""


@dataclass(frozen=True)
class PreCommitted:
    """The offsets that a task agrees to commit."""

    offsets: Offsets = field(default_factory=dict)


@dataclass(frozen=True)
class PreCommit(Call[PreCommitted], op="sink.pre_commit"):
    """Makes the task flush; the offsets are those delivered so far."""

    offsets: Offsets


@dataclass(frozen=True)
class ClosePartitions(Call[None], op="sink.close"):
    """Partitions are revoked."""

    partitions: list[TopicPartition]


@dataclass(frozen=True)
class StopSink(Call[None], op="sink.stop"):
    """Stops the task."""


@dataclass(frozen=True)
class ContextRequest(Notice, op="sink.context"):
    """A request of a task to its context; ``timeout`` is in milliseconds."""

    rewind: Offsets = field(default_factory=dict)
    timeout: float | None = None
    pause: list[TopicPartition] = field(default_factory=list)
    resume: list[TopicPartition] = field(default_factory=list)
    commit: bool = False


@dataclass(frozen=True)
class ReportRecord(Call[None], op="sink.errant"):
    """Reports a bad record as it was consumed; or one that the task has ``made``, not converted to bytes yet."""

    error: ErrorInfo
    record: Batch
    made: bool = False


TO_STAGE = operations(
    StartSource,
    AddCredit,
    HoldPolling,
    ResumePolling,
    CommitSource,
    CommitRecords,
    StopSource,
    StartSink,
    OpenPartitions,
    Put,
    SkipPuts,
    PreCommit,
    ClosePartitions,
    StopSink,
)
FROM_STAGE = operations(HandOver, EndTransaction, PollsEmpty, PollFailed, ContextRequest, ReportRecord)
