"""Rules about sources that run: acknowledgements, stored offsets and transformations."""

from __future__ import annotations

from collections.abc import Iterator

from hearth.herder.connector_fact import LikelyCause, ReportFacts, duration

STANDING_SECONDS = 600.0
"""An offset of a database's log that stands still for so long is named."""


def stalled_source(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield tasks whose records are not acknowledged, not committed, or all dropped."""
    for task in facts.running() if not facts.is_sink else ():
        counts = task["counts"]
        if counts["active"] and facts.is_stalled(task, "delivered"):
            yield LikelyCause(
                "not acknowledged", f"{counts['active']:g} records sent and not acknowledged, the last one was "
                f"{facts.ago(task['last']['delivered'])}",
                "the broker is away, or slower than the source, or too few replicas are in sync",
                "check the brokers and the topic; the task fails after producer.override.delivery.timeout.ms",
                task["id"],
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


def standing_offset(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield captures of a database whose offset stands still, so that the database keeps its log."""
    if facts.is_sink or "debezium" not in facts.get("connector.class").lower():
        return
    if float(facts.get("heartbeat.interval.ms", "0")) > 0:
        return
    for task in facts.running():
        age, runs = facts.age(task["last"]["committed"]), facts.age(task["since"]) or 0.0
        stands = runs if age is None else age
        if stands >= STANDING_SECONDS:
            yield LikelyCause(
                "offset stands still", f"no offset was committed for {duration(stands)}, and there is no heartbeat",
                "the captured tables do not change while others do: the database keeps its log from that offset on",
                "set heartbeat.interval.ms, and heartbeat.action.query where only other databases change", task["id"],
            )  # fmt: skip
