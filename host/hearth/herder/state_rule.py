"""Rules about what is wanted of a connector, and about the states of the connector and its tasks."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.herder.connector_fact import (
    STALLED_SECONDS,
    LikelyCause,
    ReportFacts,
    Task,
    duration,
    first_line,
)
from hearth.herder.failure_cause import cause_of, place_of

CALL_SECONDS = 10.0
"""A call of the connector's plugin that takes longer is named."""
LOSS_SECONDS = 600.0
"""For how long the loss of a run is named although the task runs again."""

_UNKNOWN_OF_CONNECTOR = (
    "it could not start, or reported an error",
    "correct its configuration, or restart it when what it needs is there again",
)
_UNKNOWN_OF_TASK = (
    "the task raised it",
    "see the trace in the status; restart the task, or set errors.task.restart.max",
)
_UNKNOWN_OF_LOSS = "its executor ended, or its process did", "look for the reason in the executor's log"


def unwanted(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield that somebody paused or stopped the connector."""
    if (target := facts.report["target"]) != "STARTED":
        remedy = f"PUT /connectors/{facts.report['name']}/resume"
        yield LikelyCause(target.lower(), f"target state {target}", "somebody paused or stopped it", remedy)


def hanging_call(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield a call of the connector that does not return."""
    call = facts.report["call"]
    if call is not None and (age := facts.age(call["since"]) or 0.0) >= CALL_SECONDS:
        yield LikelyCause(
            "call hangs", f"its {call['name']} has been running for {duration(age)}",
            "the connector waits for another system, or hangs; other connectors are not affected",
            "check what it connects to; the call is ended after plugin.call.timeout.ms, and the trace then shows its "
            "threads",
        )  # fmt: skip


def failed_connector(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield that the connector itself failed."""
    if facts.report["state"] == "FAILED":
        trace = facts.report["trace"] or ""
        cause = cause_of(trace, facts) or _UNKNOWN_OF_CONNECTOR
        yield LikelyCause("connector failed", first_line(trace), *cause)


def failed_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield each failed task with the record, how often it failed, and how fast."""
    for task in facts.tasks:
        if task["state"] != "FAILED":
            continue
        trace = task["trace"] or ""
        yield LikelyCause(
            "task failed",
            f"{first_line(trace)}, since {facts.ago(task.get('since'))}{place_of(trace)}{_again(task)}",
            *(cause_of(trace, facts) or _UNKNOWN_OF_TASK), task["id"],
        )  # fmt: skip


def _again(task: Task) -> str:
    failed = [each for each in task.get("ends", ()) if each["how"] == "failed"]
    if len(failed) < 2:
        return ""
    newest, before = failed[:2]
    same = "the same" if first_line(newest["words"]) == first_line(before["words"]) else "another"
    return f", failed again after {newest['seconds']:g} s with {same} error: {len(failed)} times so far"


def lost_runs(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield that the process or the executor of a task keeps ending."""
    for task in facts.tasks:
        lost = [each for each in task.get("ends", ()) if each["how"] == "lost"]
        if not lost or (facts.age(lost[0]["at"]) or 0.0) > LOSS_SECONDS or task["state"] == "FAILED":
            continue
        cause = cause_of(lost[0]["words"], facts) or _UNKNOWN_OF_LOSS
        evidence = f"{len(lost)} runs were lost, the last {facts.ago(lost[0]['at'])}: {first_line(lost[0]['words'])}"
        yield LikelyCause("loses its runs", evidence, *cause, task["id"])


def missing_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield that the connector has no tasks, which a restart does not change."""
    if facts.report["state"] == "RUNNING" and not facts.tasks:
        yield LikelyCause(
            "no tasks", "the connector runs and has no tasks",
            "it asked for none: it has found nothing to do, and a restart asks it again",
            "check what it should read: its log says more",
        )  # fmt: skip


def waiting_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield the tasks that do not run yet."""
    for task in facts.tasks:
        if task["state"] in ("UNASSIGNED", "RESTARTING"):
            age = facts.age(task.get("since")) or 0.0
            is_long = age >= STALLED_SECONDS
            yield LikelyCause(
                "waiting for a slot" if is_long else "starting", f"{task['state']} for {duration(age)}",
                "Spark has no free core for it, or its executor was lost" if is_long else "it was just launched",
                "add executors or cores (spark.cores.max), or fewer tasks" if is_long else "wait", task["id"],
            )  # fmt: skip


def outdated(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield that the tasks run an earlier configuration."""
    if facts.report["state"] == "RUNNING" and facts.report["target"] == "STARTED" and not facts.report["running"]:
        yield LikelyCause(
            "changing", "the tasks run an earlier configuration", "the new one is being applied, or could not be",
            "wait; if it stays so, see the connector's log",
        )  # fmt: skip
