"""Explains what a connector does or waits for: rules over its report, the first that applies is the condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

STALLED_SECONDS = 60.0
"""Without success for so long although there is something to do, a phase counts as stalled."""
LONG_PUT_SHARE = 0.5
"""A put that takes this share of `max.poll.interval.ms` is named: the group removes the task after the whole."""

Report = Mapping[str, Any]
Task = Mapping[str, Any]


@dataclass(frozen=True)
class LikelyCause:
    """A condition, its evidence in figures, the likely cause, the remedy, and the key or request that it is about."""

    condition: str
    evidence: str
    cause: str
    remedy: str
    task: int | None = None


class ReportFacts:
    """What the rules look at: the report of a connector, its configuration and the time in seconds since the epoch."""

    def __init__(self, report: Report, config: Mapping[str, str | None], now: float) -> None:
        self.report, self.config, self._now = report, config, now
        self.is_sink = report["type"] == "sink"
        self.tasks: Sequence[Task] = report["tasks"]

    def age(self, moment: str | None) -> float | None:
        """Return how many seconds ago a time of the report was."""
        return (
            None
            if moment is None
            else max(0.0, self._now - datetime.fromisoformat(moment[:-1] + "+00:00").timestamp())
        )

    def ago(self, moment: str | None) -> str:
        """Return how long ago a time of the report was, in words."""
        age = self.age(moment)
        return "never" if age is None else f"{duration(age)} ago"

    def is_stalled(self, task: Task, phase: str) -> bool:
        """Return whether a phase has not succeeded for long, or since the task runs."""
        age = self.age(task["last"][phase])
        return (self.age(task["since"]) or 0.0 if age is None else age) >= STALLED_SECONDS

    def get(self, key: str, default: str = "") -> str:
        """Return a value of the configuration."""
        return (self.config.get(key) or default).strip()

    def running(self) -> Iterator[Task]:
        """Yield the tasks that run and have reported."""
        return (each for each in self.tasks if each["state"] == "RUNNING" and "counts" in each)


def duration(seconds: float) -> str:
    """Return a duration in the largest unit that fits: `45 s`, `3 min`, `5 h`, `2 d`."""
    for unit, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def explained(report: Report, config: Mapping[str, str | None], now: float) -> dict[str, Any]:
    """Return the condition of a connector, and all findings about it, the most likely cause first."""
    facts = ReportFacts(report, config, now)
    findings = [finding for rule in RULES for finding in rule(facts)]
    return {
        "name": report["name"],
        "condition": findings[0].condition,
        "findings": [{name: value for name, value in asdict(each).items() if value is not None} for each in findings],
    }


def _unwanted(facts: ReportFacts) -> Iterator[LikelyCause]:
    if (target := facts.report["target"]) != "STARTED":
        remedy = f"PUT /connectors/{facts.report['name']}/resume"
        yield LikelyCause(target.lower(), f"target state {target}", "somebody paused or stopped it", remedy)


def _failed_connector(facts: ReportFacts) -> Iterator[LikelyCause]:
    if facts.report["state"] == "FAILED":
        yield LikelyCause(
            "connector failed", _first_line(facts.report["trace"]), "it could not start, or reported an error",
            "correct its configuration, or restart it when what it needs is there again",
        )  # fmt: skip


def _failed_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    for task in facts.tasks:
        if task["state"] != "FAILED":
            continue
        trace = task["trace"] or ""
        times = sum(each["how"] == "failed" for each in task.get("ends", ()))
        again = f", {times} times with this or another error" if times > 1 else ""
        yield LikelyCause(
            "task failed", f"{_first_line(trace)}, since {facts.ago(task.get('since'))}{again}",
            *_cause_of(trace, facts), task["id"],
        )  # fmt: skip


_NO_JSON = ("JSONDecodeError", 'requires "schema" and "payload"', "JsonParseException")
_CAUSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("Unknown magic byte", "unknown magic byte"), "the records are not those of a schema registry",
     "set the converter of the format that the topic has; the key's and the value's may differ"),
    (_NO_JSON, "the records are no JSON, or plain JSON without schemas",
     "set the converter of the topic's format, or value.converter.schemas.enable=false for plain JSON"),
    (("MSG_SIZE_TOO_LARGE", "RecordTooLarge", "Message size too large"), "a record is larger than its topic takes",
     "raise producer.override.max.request.size, and max.message.bytes of the topic"),
    (("AUTHORIZATION_FAILED", "authorization failed", "Not authorized"), "the connector's principal may not do that",
     "allow it READ or WRITE on the topics, and READ on the group"),
    (("No such topic", "UNKNOWN_TOPIC", "Unknown topic or partition"), "the topic does not exist",
     "create it, or let the connector create it (topic.creation.default.partitions)"),
    (("MemoryError", "OutOfMemoryError"), "the plugin needs more memory than it has",
     "lower max.poll.records or the connector's batch size, or raise plugin.limits.memory.bytes"),
    (("No module named", "ClassNotFound", "is not on plugin.path"), "a plugin or a package of it is missing",
     "install the bundle, see GET /plugins for what was turned away"),
)  # fmt: skip


def _cause_of(trace: str, facts: ReportFacts) -> tuple[str, str]:
    for words, cause, remedy in _CAUSES:
        if any(each in trace for each in words):
            return cause, remedy
    if "Tolerance exceeded" in trace and facts.get("errors.tolerance", "none") != "all":
        return (
            "a record could not be processed, and none is tolerated",
            "correct the record or the step; or set errors.tolerance=all, for a sink with a dead letter queue "
            "(errors.deadletterqueue.topic.name)",
        )
    return "the task raised it", "see the trace in the status; restart the task, or set errors.task.restart.max"


def _missing_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    if facts.report["state"] == "RUNNING" and not facts.tasks:
        yield LikelyCause(
            "no tasks", "the connector runs and has no tasks", "it asked for none: it has found nothing to do",
            "check what it should read: its log says more",
        )  # fmt: skip


def _waiting_tasks(facts: ReportFacts) -> Iterator[LikelyCause]:
    for task in facts.tasks:
        if task["state"] in ("UNASSIGNED", "RESTARTING"):
            age = facts.age(task.get("since")) or 0.0
            is_long = age >= STALLED_SECONDS
            yield LikelyCause(
                "waiting for a slot" if is_long else "starting", f"{task['state']} for {duration(age)}",
                "Spark has no free core for it, or its executor was lost" if is_long else "it was just launched",
                "add executors or cores (spark.cores.max), or fewer tasks" if is_long else "wait", task["id"],
            )  # fmt: skip


def _outdated(facts: ReportFacts) -> Iterator[LikelyCause]:
    if facts.report["state"] == "RUNNING" and facts.report["target"] == "STARTED" and not facts.report["running"]:
        yield LikelyCause(
            "changing", "the tasks run an earlier configuration", "the new one is being applied, or could not be",
            "wait; if it stays so, see the connector's log",
        )  # fmt: skip


def _idle_members(facts: ReportFacts) -> Iterator[LikelyCause]:
    if not facts.is_sink:
        return
    tasks = list(facts.running())
    idle = [each for each in tasks if not each["counts"]["partitions"] and facts.is_stalled(each, "polled")]
    if idle and len(idle) == len(tasks):
        topics = facts.get("topics") or facts.get("topics.regex")
        yield LikelyCause(
            "no partitions", f"no task has a partition of {topics!r}", "no topic matches, or it may not be read",
            "check topics or topics.regex; new topics are found after metadata.max.age.ms (5 min)",
        )  # fmt: skip
    for task in idle if len(idle) < len(tasks) else ():
        yield LikelyCause(
            "idle task", f"task {task['id']} has no partitions, others have", "there are more tasks than partitions",
            "lower tasks.max, or add partitions to the topics", task["id"],
        )  # fmt: skip


def _stalled_sink(facts: ReportFacts) -> Iterator[LikelyCause]:
    for task in facts.running() if facts.is_sink else ():
        counts = task["counts"]
        if counts["put"] > counts["accepted"] and facts.is_stalled(task, "delivered"):
            retried = f", {counts['retried']:g} records put again" if counts["retried"] else ""
            yield LikelyCause(
                "put stalls", f"{counts['put'] - counts['accepted']:g} records in put, the last one returned "
                f"{facts.ago(task['last']['delivered'])}{retried}",
                "the target asks to retry" if retried else "the target does not answer, or the put hangs",
                "check the target; the log of the task has its last words", task["id"],
            )  # fmt: skip
        elif counts["active"] and counts["accepted"] and facts.is_stalled(task, "committed"):
            failed = f", {counts['commits_failed']:g} commits failed" if counts["commits_failed"] else ""
            yield LikelyCause(
                "not committed", f"{counts['active']:g} records read and not committed, last commit "
                f"{facts.ago(task['last']['committed'])}{failed}",
                "commits are refused" if failed else "the connector keeps records back until it has enough",
                "check the group and its coordinator" if failed else
                "wait, or lower its flush size or rotation interval", task["id"],
            )  # fmt: skip


def _stalled_source(facts: ReportFacts) -> Iterator[LikelyCause]:
    for task in facts.running() if not facts.is_sink else ():
        counts = task["counts"]
        if counts["active"] and facts.is_stalled(task, "delivered"):
            yield LikelyCause(
                "not acknowledged", f"{counts['active']:g} records sent and not acknowledged, the last one was "
                f"{facts.ago(task['last']['delivered'])}",
                "the broker is away, or slower than the source", "check the brokers and the topic", task["id"],
            )  # fmt: skip
        elif counts["commits_failed"] and counts["acknowledged"] and facts.is_stalled(task, "committed"):
            yield LikelyCause(
                "not committed", f"{counts['commits_failed']:g} commits failed, the last one succeeded "
                f"{facts.ago(task['last']['committed'])}",
                "offsets cannot be stored", "check offset.storage.topic and its brokers", task["id"],
            )  # fmt: skip
        elif counts["polled"] and not counts["sent"]:
            yield LikelyCause(
                "all filtered", f"{counts['polled']:g} records polled, none sent, {counts['skipped']:g} skipped",
                "transformations drop all of them, or all fail and that is tolerated",
                "check the predicates, and errors.tolerance", task["id"],
            )  # fmt: skip


def _skipped(facts: ReportFacts) -> Iterator[LikelyCause]:
    has_letters = bool(facts.get("errors.deadletterqueue.topic.name"))
    for task in facts.running():
        if (skipped := task["counts"]["skipped"]) and not has_letters:
            worst = max(task["failures"], key=lambda each: each["records"], default=None)
            how = "" if worst is None else f", most in {worst['phase']} with {worst['error']}"
            yield LikelyCause(
                "records are skipped", f"{skipped:g} records failed and were skipped{how}",
                "errors.tolerance=all without a dead letter queue: they are gone",
                "set errors.deadletterqueue.topic.name" if facts.is_sink else "set errors.tolerance=none, or "
                "errors.log.enable=true to see them", task["id"],
            )  # fmt: skip


def _slow_put(facts: ReportFacts) -> Iterator[LikelyCause]:
    limit = float(facts.get("consumer.override.max.poll.interval.ms", "300000")) / 1000
    for task in facts.running() if facts.is_sink else ():
        longest = task["put_seconds"]["longest"]
        if longest is not None and longest >= LONG_PUT_SHARE * limit:
            yield LikelyCause(
                "slow put", f"a put took {duration(longest)} of {duration(limit)}",
                "the group removes a task that does not poll for that long (max.poll.interval.ms)",
                "lower consumer.override.max.poll.records, or raise consumer.override.max.poll.interval.ms",
                task["id"],
            )  # fmt: skip


def _behind(facts: ReportFacts) -> Iterator[LikelyCause]:
    lag = facts.report["lag"]
    waiting = [each for each in lag["partitions"] if each["records"] and (each["seconds"] or 0) >= STALLED_SECONDS]
    if not waiting:
        return
    worst = max(waiting, key=lambda each: each["records"])
    place = f"{worst['topic']}-{worst['partition']}"
    if all(each["records"] == 1 for each in waiting):
        yield LikelyCause(
            "lag of 1", f"{place}: committed {worst['committed']}, end {worst['end']}",
            "the partition ends with the mark of a transaction, which is no record", "nothing: all records are there",
        )  # fmt: skip
        return
    share = worst["records"] / max(1, lag["records"])
    is_alone = len(lag["partitions"]) > 1 and share > 0.9
    yield LikelyCause(
        "behind", f"{lag['records']} records behind, the oldest for {duration(lag['seconds'])}; {place} has "
        f"{worst['records']}",
        "most of it is in one partition: a hot key, or a slow task" if is_alone else
        "records come faster than they are put, or an earlier backlog is worked off",
        "see hearth_step_seconds_total for the slow step; raise tasks.max up to the number of partitions",
    )  # fmt: skip


def _calm(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield what applies where nothing else does."""
    tasks = list(facts.running())
    if not tasks:
        yield LikelyCause("unknown", f"state {facts.report['state']}", "nothing was reported yet", "ask again in 10 s")
        return
    first = "read" if facts.is_sink else "polled"
    total = sum(each["counts"][first] for each in tasks)
    rate = sum(each["rates"][first] for each in tasks)
    if rate:
        yield LikelyCause("flows", f"{rate:g} records a second, {total:g} in all", "all is well", "nothing")
        return
    newest = max((each["last"]["polled"] or "" for each in tasks), default="") or None
    lag = facts.report["lag"]["records"]
    end = f", lag {lag}" if lag is not None else ""
    yield LikelyCause(
        "idle", f"{total:g} records {first}, the last {facts.ago(newest)}{end}",
        "the topics have no new records" if facts.is_sink else "polls bring nothing: the source has no new records",
        "nothing, if that is so",
    )  # fmt: skip


RULES: tuple[Callable[[ReportFacts], Iterator[LikelyCause]], ...] = (
    _unwanted, _failed_connector, _failed_tasks, _missing_tasks, _waiting_tasks, _outdated, _stalled_source,
    _stalled_sink, _idle_members, _skipped, _slow_put, _behind, _calm,
)  # fmt: skip
"""From what explains most to what explains least."""


def _first_line(text: str | None) -> str:
    lines = (text or "").splitlines()
    return lines[0] if lines else "without a word"
