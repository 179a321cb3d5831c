"""Transaction boundaries, from the task's context to the stage's messages."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from hearth_api import STRING_SCHEMA, ConnectError, SourceConnector, SourceRecord, SourceTask
from hearth_execution.plugins import Plugins
from hearth_execution.transformation import Transformations
from hearth_stage.source import StageSource
from hearth_stage.task_call import AddCredit, EndTransaction, HandOver, PollFailed, StartSource
from hearth_stage.transaction_request import TransactionRequests

COMMIT, ABORT = EndTransaction(aborts=False), EndTransaction(aborts=True)


def records(*values: str) -> list[SourceRecord]:
    """Return records of one source partition."""
    return [
        SourceRecord({"file": "f"}, {"position": index}, "t", value_schema=STRING_SCHEMA, value=value)
        for index, value in enumerate(values)
    ]


def cuts(requests: TransactionRequests, polled: list[SourceRecord]) -> list[tuple[list[Any], bool | None]]:
    """Return the values between two ends, and which end."""
    return [([each.value for each in part], aborts) for part, aborts in requests.cut(polled)]


def test_poll_is_split_after_requested_records() -> None:
    """A request for a record applies once, and only to that very record."""
    requests, polled = TransactionRequests(), records("a", "b", "c", "b")
    requests.commit_transaction(polled[1])
    requests.abort_transaction(polled[2])
    assert cuts(requests, polled) == [(["a", "b"], False), (["c"], True), (["b"], None)]
    assert cuts(requests, polled) == [(["a", "b", "c", "b"], None)]


def test_request_for_a_batch_follows_all_of_it() -> None:
    """Also if the poll returned nothing: it ends the transaction of earlier polls."""
    requests = TransactionRequests()
    requests.commit_transaction()
    assert cuts(requests, records("a", "b")) == [(["a", "b"], False)]
    requests.abort_transaction()
    assert cuts(requests, []) == [([], True)]
    assert cuts(requests, []) == [([], None)]


def test_commit_and_abort_of_one_transaction_are_an_error() -> None:
    """As in Kafka Connect the task fails, even if a connector would ignore the error."""
    requests, (record,) = TransactionRequests(), records("a")
    requests.commit_transaction()
    requests.abort_transaction()
    with pytest.raises(ConnectError, match="both commit and abort of same transaction"):
        requests.of_batch()
    requests.commit_transaction(record)
    requests.abort_transaction(record)
    with pytest.raises(ConnectError, match="of same record against topic/partition t/None"):
        cuts(requests, [record])


Script = list[tuple[str, "int | None"]]
"""For each poll the ends that are asked for, and for which record, or for all where the poll returns none."""


class Bounded(SourceTask):
    """Requests the ends of its script, if it has a transaction context."""

    script: ClassVar[Script] = []
    contexts: ClassVar[list[Any]] = []

    def start(self, props: Any) -> None:
        """Record whether there are transactions."""
        self.contexts.append(self.context.transaction_context())

    def poll(self) -> list[SourceRecord] | None:
        """Return three records, or none, and request the ends of the script."""
        ask, place = self.script.pop(0)
        polled = records("a", "b", "c")
        for end in ask.split():
            named = [] if place is None else [polled[place]]
            getattr(self.context.transaction_context(), f"{end}_transaction")(*named)
        return polled if place is not None else None

    def stop(self) -> None:
        """Do nothing."""


class BoundedConnector(SourceConnector):
    """The connector of such tasks."""

    def version(self) -> str:
        """Return a version."""
        return "1.0"

    def task_class(self) -> type[SourceTask]:
        """Return the class of its tasks."""
        return Bounded

    config = start = stop = task_configs = None  # type: ignore[assignment]


class Wire:
    """The runtime's side: records notices."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def notify(self, notice: Any) -> None:
        """Record the number of records handed over, or the notice."""
        self.sent.append(sum(each.num_rows for each in notice.batches) if isinstance(notice, HandOver) else notice)


def polled(script: Script, *, ends_transactions: bool = True) -> list[Any]:
    """Return the messages of a stage whose task follows a script."""
    Bounded.script, Bounded.contexts = script, []
    wire: Any = Wire()
    source = StageSource(wire, Transformations(Plugins("source")))
    source.start(StartSource(f"{__name__}:BoundedConnector", {}, ends_transactions=ends_transactions))
    source.credit(AddCredit(10))
    for _ in range(len(script)):
        source.poll()
    sent: list[Any] = wire.sent
    return sent


def test_stage_reports_transaction_boundaries() -> None:
    """Between the records it hands over, each part separately."""
    assert polled([("commit", 1), ("", 0), ("abort", None)]) == [2, COMMIT, 1, 3, ABORT]


def test_task_that_requests_both_ends_fails() -> None:
    """Nothing of the poll is handed over: its transaction would have no end."""
    (failed,) = polled([("commit abort", 0)])
    assert isinstance(failed, PollFailed)


def test_task_without_boundaries_has_no_transaction_context() -> None:
    """``transaction_context`` is ``None`` then, which tasks check."""
    assert polled([("", 0)], ends_transactions=False) == [3]
    assert Bounded.contexts == [None]
