"""Explains what a connector does or waits for: rules over its report, the first that applies is the condition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from hearth.config.sink_key import DEAD_LETTER_TOPIC
from hearth.herder import sink_rule, source_rule, state_rule
from hearth.herder.connector_fact import LikelyCause, Report, ReportFacts

_CLIENTS = ("producer.", "consumer.", "admin.")
_CLIENT_KEYS = frozenset(
    {
        "max.request.size", "buffer.memory", "linger.ms", "compression.type", "delivery.timeout.ms", "acks",
        "enable.idempotence", "max.poll.records", "max.poll.interval.ms", "session.timeout.ms", "auto.offset.reset",
        "fetch.max.bytes", "fetch.min.bytes", "fetch.max.wait.ms", "max.partition.fetch.bytes", "isolation.level",
        "metadata.max.age.ms",
    }
)  # fmt: skip
"""Settings of Kafka's clients that no usual plugin has under the same name."""


def explained(report: Report, config: Mapping[str, str | None], now: float) -> dict[str, Any]:
    """Return the condition of a connector, and all findings about it, the most likely cause first.

    ``now`` is in seconds since the epoch. Advice about settings never is the condition.
    """
    facts = ReportFacts(report, config, now)
    findings = [finding for rule in RULES for finding in rule(facts)]
    return {
        "name": report["name"],
        "condition": findings[0].condition,
        "findings": [{name: value for name, value in asdict(each).items() if value is not None} for each in findings],
    }


def _skipped(facts: ReportFacts) -> Iterator[LikelyCause]:
    has_letters = bool(facts.get(DEAD_LETTER_TOPIC))
    for task in facts.running():
        if (skipped := task["counts"]["skipped"]) and not has_letters:
            worst = max(task["failures"], key=lambda each: each["records"], default=None)
            how = "" if worst is None else f", most in {worst['phase']} with {worst['error']}"
            yield LikelyCause(
                "records are skipped", f"{skipped:g} records failed and were skipped{how}",
                "errors.tolerance=all without a dead letter queue: they are gone",
                f"set {DEAD_LETTER_TOPIC}" if facts.is_sink else "set errors.tolerance=none, or "
                "errors.log.enable=true to see them", task["id"],
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
    evidence = f"{total:g} records {first}, the last {facts.ago(newest)}{end}"
    if not total and (began := _began_at(facts)):
        yield LikelyCause("idle", f"{evidence}; {began}", *_KEPT_OFFSETS)
        return
    yield LikelyCause(
        "idle", evidence,
        "the topics have no new records" if facts.is_sink else "polls bring nothing: the source has no new records",
        "nothing, if that is so",
    )  # fmt: skip


_KEPT_OFFSETS = (
    "it goes on at stored offsets, perhaps those of an earlier connector of this name: offsets outlive a connector",
    "nothing, if that is wanted; to begin anew: stop it, `hearth offsets reset NAME`, resume it",
)


def _began_at(facts: ReportFacts) -> str:
    """Return the stored offsets at which a connector goes on that has read nothing yet, empty if it has none."""
    if not facts.is_sink:
        stored = facts.report["offsets"]
        return f"{stored} source partitions have offsets" if stored else ""
    committed = [each for each in facts.report["lag"]["partitions"] if each["committed"]]
    if not committed:
        return ""
    first = committed[0]
    return f"it began at offset {first['committed']} of {first['topic']}-{first['partition']}"


def _ignored_settings(facts: ReportFacts) -> Iterator[LikelyCause]:
    """Yield settings of clients that the connector's clients do not get."""
    for key in facts.config:
        client, _, rest = key.partition(".")
        is_prefixed = f"{client}." in _CLIENTS and not rest.startswith("override.")
        if is_prefixed or key in _CLIENT_KEYS:
            own = "consumer" if facts.is_sink else "producer"
            wanted = f"{client}.override.{rest}" if is_prefixed else f"{own}.override.{key}"
            yield LikelyCause(
                "ignored setting", f"{key} is set",
                "a client of a connector gets only keys with .override.; the plugin has this one, if it knows it",
                f"set {wanted}, which the worker's connector.client.config.override.policy has to allow",
            )  # fmt: skip


RULES: tuple[Callable[[ReportFacts], Iterator[LikelyCause]], ...] = (
    state_rule.unwanted,
    state_rule.hanging_call,
    state_rule.failed_connector,
    state_rule.failed_tasks,
    state_rule.missing_tasks,
    state_rule.waiting_tasks,
    state_rule.outdated,
    state_rule.lost_runs,
    source_rule.stalled_source,
    sink_rule.stalled_sink,
    sink_rule.unread_partitions,
    _skipped,
    sink_rule.slow_put,
    sink_rule.behind,
    source_rule.standing_offset,
    _calm,
    sink_rule.never_committed,
    _ignored_settings,
)
"""From what explains most to what explains least, advice last."""
