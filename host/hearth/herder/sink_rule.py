"""Rules about sinks that run: partitions, puts, commits and lag."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hearth.herder.connector_fact import STALLED_SECONDS, LikelyCause, ReportFacts, Task, duration

LONG_PUT_SHARE = 0.5
"""A put that takes this share of `max.poll.interval.ms` is named: the group removes the task after the whole."""
NEVER_SECONDS = 600.0
"""A task that has run for so long and has never committed is named."""
ALONE_SHARE = 0.9
"""A partition that has this share of the lag has a reason of its own."""
_REFRESH = "consumer.override.metadata.max.age.ms"


def unread_partitions(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield topics and partitions that no task reads, and tasks that read none."""
    if not facts.is_sink:
        return
    tasks = list(facts.running())
    assigned = _assigned(tasks)
    idle = [each for each in tasks if not each["counts"]["partitions"] and facts.is_stalled(each, "polled")]
    if idle and len(idle) == len(tasks):
        topics = facts.get("topics") or facts.get("topics.regex")
        yield LikelyCause(
            "no partitions", f"no task has a partition of {topics!r}", "no topic matches, or it may not be read",
            f"check topics or topics.regex; new topics are found after {_REFRESH} ({_refresh_of(facts)})",
        )  # fmt: skip
        return
    for task in idle:
        yield LikelyCause(
            "idle task", f"task {task['id']} has no partitions, {len(tasks) - len(idle)} others have "
            f"{sum(assigned.values())}",
            "there are more tasks than partitions", "lower tasks.max, or add partitions to the topics", task["id"],
        )  # fmt: skip
    is_settled = bool(tasks) and all((facts.age(each["since"]) or 0.0) >= STALLED_SECONDS for each in tasks)
    if is_settled and len(tasks) == len(facts.tasks):
        yield from _unread_topics(facts, assigned)
        yield from _without_owner(facts, assigned)


def _assigned(tasks: list[Task]) -> Counter[str]:
    found: Counter[str] = Counter()
    for task in tasks:
        found.update(task["assigned"])
    return found


def _unread_topics(facts: ReportFacts, assigned: Mapping[str, int]) -> Iterator[LikelyCause]:
    wanted = [each.strip() for each in facts.get("topics").split(",") if each.strip()]
    if missing := [each for each in wanted if not assigned.get(each)]:
        yield LikelyCause(
            "topic not read", f"no task has a partition of {', '.join(missing)}",
            f"it does not exist, may not be read, or was created less than {_refresh_of(facts)} ago",
            f"create it, allow READ on it, or wait; {_REFRESH} says how soon new topics are found",
        )  # fmt: skip


def _refresh_of(facts: ReportFacts) -> str:
    return duration(float(facts.get(_REFRESH, "300000")) / 1000)


def _without_owner(facts: ReportFacts, assigned: Mapping[str, int]) -> Iterator[LikelyCause]:
    known: dict[str, list[Mapping[str, Any]]] = {}
    for each in facts.report["lag"]["partitions"]:
        if each["end"] is not None:
            known.setdefault(each["topic"], []).append(each)
    for topic, partitions in known.items():
        waiting = [each for each in partitions if (each["seconds"] or 0) >= STALLED_SECONDS]
        if waiting and 0 < assigned.get(topic, 0) < len(partitions):
            places = ", ".join(f"{topic}-{each['partition']}" for each in waiting)
            yield LikelyCause(
                "partition without owner", f"{assigned[topic]} of {len(partitions)} partitions of {topic} are "
                f"assigned; records wait in {places}",
                "the group still counts a member that is gone, or a member outside of this connector has them",
                f"see `kafka-consumer-groups --describe --group {facts.group}`; restart the tasks, or wait for "
                "session.timeout.ms",
            )  # fmt: skip


def stalled_sink(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield tasks whose puts or commits do not succeed."""
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
            yield _uncommitted(facts, task)


def _uncommitted(facts: ReportFacts, task: Task) -> LikelyCause:
    counts = task["counts"]
    evidence = (
        f"{counts['accepted']:g} records put, {counts['active']:g} of those read are not committed, last commit "
        f"{facts.ago(task['last']['committed'])}"
    )
    if counts["commits_failed"]:
        return LikelyCause(
            "not committed", f"{evidence}, {counts['commits_failed']:g} commits failed", "commits are refused",
            "check the group and its coordinator", task["id"],
        )  # fmt: skip
    if facts.is_stalled(task, "polled"):
        return LikelyCause(
            "waits for newer records", f"{evidence}; the last records came {facts.ago(task['last']['polled'])}",
            "the connector writes what it has when later records come: it rotates by the records' time",
            "set a rotation by the clock (rotate.schedule.interval.ms of Confluent's storage connectors), or wait",
            task["id"],
        )  # fmt: skip
    return LikelyCause(
        "not committed", evidence, "the connector keeps records back until it has enough",
        "wait, or lower its flush size or rotation interval", task["id"],
    )  # fmt: skip


def never_committed(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield tasks that put records for long and have never committed."""
    for task in facts.running() if facts.is_sink else ():
        counts = task["counts"]
        is_old = (facts.age(task["since"]) or 0.0) >= NEVER_SECONDS
        if is_old and counts["accepted"] and not counts["commits"] and not counts["commits_failed"]:
            yield LikelyCause(
                "no committed offset", f"{counts['accepted']:g} records put, no offset committed since "
                f"{facts.ago(task['since'])}: its positions are those of the task alone",
                "the connector keeps its offsets elsewhere, in its target, so the group shows no lag or a wrong one",
                "look for its progress in the target; lag and the group's offsets say nothing about it", task["id"],
            )  # fmt: skip


def slow_put(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield tasks whose puts come near to the limit of the group."""
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


def behind(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield the lag, with the partition that has most of it."""
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
    evidence = f"{lag['records']} records behind, the oldest for {duration(lag['seconds'])}; {place} has "
    if len(lag["partitions"]) > 1 and worst["records"] > ALONE_SHARE * lag["records"]:
        yield LikelyCause(
            "one partition behind", f"{evidence}{worst['records']} of them",
            "most records go to one partition (a hot key, or records without keys from one producer), or its records "
            "are slow to put",
            "spread the keys, or repartition the topic: more tasks do not help, a partition has one",
        )  # fmt: skip
        return
    yield LikelyCause(
        "behind", f"{evidence}{worst['records']}",
        "records come faster than they are put, or an earlier backlog is worked off",
        "see hearth_step_seconds_total for the slow step; raise tasks.max up to the number of partitions",
    )  # fmt: skip
