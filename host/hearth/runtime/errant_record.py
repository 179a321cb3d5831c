"""Reports by a sink task of records it found bad (KIP-610)."""

from __future__ import annotations

from hearth.runtime.consumed_record import Consumed
from hearth.runtime.event_queue import Errant, EventQueue, MadeRecord
from hearth.staging.tolerance import Tolerance, answer_when_kept, reported_by_task
from hearth_api import ConnectError
from hearth_execution.failure import ErrorInfo
from hearth_stage.channel import Request
from hearth_stage.task_call import ReportRecord


def take_report(tolerance: Tolerance, event_queue: EventQueue, request: Request, report: ReportRecord) -> None:
    """Report a record that the task found bad, and answer the request when its dead letter is written.

    Where nothing is tolerated the task fails even if it ignores the answer: its loop is notified before it is
    answered.
    """
    if report.made:
        event_queue.put(MadeRecord(request, report))
    else:
        report_errant(tolerance, event_queue, request, report.error, Consumed.of(report.record))
    tolerance.heard += not tolerance.is_all


def report_errant(
    tolerance: Tolerance, event_queue: EventQueue, request: Request, error: ErrorInfo, record: Consumed
) -> None:
    """Report a record in its consumed form."""
    try:
        letter = tolerance.report(reported_by_task(error), record)
    except ConnectError as exceeded:
        event_queue.put(Errant(record.partition, record.offset, exceeded))
        request.fail(exceeded)
        return
    answer_when_kept(letter, request)
