"""Explanations: which condition each trouble has, by the report of a connector in that trouble."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.herder.connector_fact import duration
from hearth.herder.connector_report import COUNTS, RATES, moment
from hearth.herder.explanation import explained

NOW = 1_800_000_000.0


def task(state: str = "RUNNING", number: int = 0, **given: Any) -> dict[str, Any]:
    """Return a task that has run for an hour; counts are given by name, last successes as seconds ago."""
    last = {phase: given.pop(phase, None) for phase in ("polled_ago", "delivered_ago", "committed_ago")}
    return {
        "id": number,
        "state": state,
        "trace": given.pop("trace", None),
        "since": moment(NOW - given.pop("since", 3600)),
        "restarts": 0,
        "ends": given.pop("ends", []),
        "assigned": given.pop("assigned", {"t": given.get("partitions", 0)}),
        "last": {name.removesuffix("_ago"): None if ago is None else moment(NOW - ago) for name, ago in last.items()},
        "rates": dict.fromkeys(RATES, 0.0) | given.pop("rates", {}),
        "put_seconds": {"average": None, "longest": given.pop("longest", None)},
        "failures": given.pop("failures", []),
        "counts": dict.fromkeys(COUNTS, 0) | given,
    }


def partition(number: int, records: int, seconds: float) -> dict[str, Any]:
    """Return the lag of a partition."""
    return {
        "topic": "t", "partition": number, "committed": 0, "end": records, "records": records, "seconds": seconds,
    }  # fmt: skip


def report(
    type_: str, *tasks: dict[str, Any], lag: list[dict[str, Any]] | None = None, **given: Any
) -> dict[str, Any]:
    """Return the report of a connector that runs."""
    partitions = lag or []
    total = sum(each["records"] for each in partitions) if partitions else None
    oldest = max((each["seconds"] for each in partitions), default=None)
    return {
        "name": "c",
        "type": type_,
        "state": "RUNNING",
        "trace": None,
        "target": "STARTED",
        "revision": 3,
        "running": True,
        "call": None,
        "offsets": None,
        "tasks": list(tasks),
        "lag": {"records": total, "seconds": oldest, "partitions": partitions},
        **given,
    }


BUSY = task(read=900, put=900, accepted=900, partitions=1, commits=3, polled_ago=1, delivered_ago=1, committed_ago=1)
CONVERTING = (
    "org.apache.kafka.connect.errors.ConnectException: Tolerance exceeded in error handler\n"
    "record: topic 't', partition 0, offset 5, 12 bytes ({})\nstage: {} with class x\nCaused by: {}"
)
PUTTING = "org.apache.kafka.connect.errors.ConnectException: Exiting WorkerSinkTask due to unrecoverable exception."
NULL = "DataException: Only Struct objects supported for [field insertion], found: null"
MISSING = "ConfigError: Failed to find any class that implements Connector and which name matches a.Jdbc"
LETTERS = {"errors.tolerance": "all", "errors.deadletterqueue.topic.name": "letters"}
ENDS = [{"at": moment(NOW - ago), "how": "failed", "words": "no", "seconds": 0.4} for ago in (1, 60, 90)]
OUT_OF_MEMORY = "the stage process of c was ended: it used 9 bytes of memory, more than plugin.limits.memory.bytes=8"
LOST = [{"at": moment(NOW - 20), "how": "lost", "words": OUT_OF_MEMORY, "seconds": 9.0}]
KEPT = task(read=320, put=320, accepted=320, active=320, partitions=1, polled_ago=5, delivered_ago=5)
WAITING = task(
    read=320, put=320, accepted=320, active=20, partitions=1, commits=3, polled_ago=7200, delivered_ago=7200,
    committed_ago=9000,
)  # fmt: skip
DEBEZIUM = {"connector.class": "io.debezium.connector.postgresql.PostgresConnector"}
STANDING = task(polled=9, sent=9, acknowledged=9, commits=1, polled_ago=7200, committed_ago=7200)

Trouble = tuple[dict[str, Any], dict[str, str], str, str]
"""A report, the configuration, the condition that names the trouble, and words of its finding."""
THIRTY: dict[int, dict[str, Trouble]] = {
    1: {
        "an empty topic": (report("sink", task(partitions=1), lag=[partition(0, 0, 0)]), {"topics": "t"}, "idle",
                           "0 records read, the last never, lag 0"),
        "it keeps records back": (report("sink", KEPT), {}, "not committed", "320 records put, 320 of those read"),
    },
    2: {"it rotates by time": (report("sink", WAITING), {}, "waits for newer records", "last commit 2 h ago")},
    3: {"a hot key": (report("sink", BUSY, lag=[partition(0, 990, 90), partition(1, 10, 90)]), {},
                      "one partition behind", "t-0 has 990 of them")},
    4: {"a lost partition": (report("sink", BUSY, lag=[partition(0, 0, 0), partition(1, 70, 90)]), {"topics": "t"},
                             "partition without owner", "1 of 2 partitions of t are assigned; records wait in t-1")},
    5: {"a transaction's mark": (report("sink", BUSY, lag=[partition(0, 1, 900)]), {}, "lag of 1", "end 1")},
    6: {"offsets are elsewhere": (report("sink", KEPT), {}, "no committed offset", "320 records put")},
    7: {"too many tasks": (report("sink", BUSY, task(number=1)), {}, "idle task", "1 others have 1")},
    8: {
        "a new topic": (report("sink", BUSY), {"topics": "t, new"}, "topic not read", "a partition of new"),
        "no topic": (report("sink", task(), task(number=1)), {"topics": "none"}, "no partitions", "'none'"),
    },
    9: {
        "puts get slow": (report("sink", {**BUSY, "put_seconds": {"average": 100.0, "longest": 200.0}}), {},
                          "slow put", "3 min of 5 min"),
        "it was removed": (report("sink", task("FAILED", trace="_MAX_POLL_EXCEEDED")), {}, "task failed",
                           "the group removed the task"),
    },
    10: {
        "no acknowledgement": (report("source", task(polled=50, sent=50, active=50, delivered_ago=600)), {},
                               "not acknowledged", "50 records sent and not acknowledged"),
        "time is over": (report("source", task("FAILED", trace="Local: Message timed out")), {}, "task failed",
                         "the brokers did not acknowledge in time"),
    },
    11: {"not from a registry": (
        report("sink", task("FAILED", trace=CONVERTING.format("value JSON", "VALUE_CONVERTER", "Unknown magic byte"))),
        {}, "task failed", "value.converter=org.apache.kafka.connect.json.JsonConverter, with")},
    12: {"plain JSON": (
        report("sink", task("FAILED", trace=CONVERTING.format(
            "key text, value JSON", "KEY_CONVERTER", 'requires "schema" and "payload"'))),
        {}, "task failed", "key.converter=org.apache.kafka.connect.storage.StringConverter")},
    13: {"a bad record": (
        report("sink", task("FAILED", trace=CONVERTING.format("value binary", "TRANSFORMATION", "ValueError: x"))),
        {}, "task failed", "topic 't', partition 0, offset 5, 12 bytes (value binary) in TRANSFORMATION")},
    14: {"records vanish": (
        report("sink", task(read=9, put=5, accepted=5, failed=4, skipped=4, partitions=1, committed_ago=1)),
        {"errors.tolerance": "all"}, "records are skipped", "4 records failed and were skipped")},
    15: {"an error of put": (report("sink", task("FAILED", trace=PUTTING)), LETTERS, "task failed",
                             "an error of put has no dead letter")},
    16: {"a tombstone": (
        report("sink", task("FAILED", trace=CONVERTING.format("key text", "TRANSFORMATION", NULL))), {}, "task failed",
        "RecordIsTombstone")},
    17: {"no such plugin": (report("source", state="FAILED", trace=MISSING), {}, "connector failed",
                            "hearth plugins list")},
    19: {
        "start hangs": (report("source", state="UNASSIGNED", call={"name": "start", "since": moment(NOW - 75)}), {},
                        "call hangs", "its start has been running for 75 s"),
        "a put hangs": (report("sink", task(read=9, put=9, accepted=4, partitions=1, delivered_ago=400, active=9)), {},
                        "put stalls", "5 records in put"),
        "it was ended": (report("source", state="FAILED", trace="the stage process of c did not answer 'start'"), {},
                         "connector failed", "look at its threads"),
    },
    20: {"no slot": (report("source", task("UNASSIGNED", since=300)), {}, "waiting for a slot",
                     "UNASSIGNED for 5 min")},
    23: {
        "a topic": (report("source", task("FAILED", trace="Broker: Topic authorization failed")), {}, "task failed",
                    "WRITE (a source"),
        "a group": (report("sink", task("FAILED", trace="Broker: Group authorization failed")), {}, "task failed",
                    "allow it READ on group connect-c"),
        "a transactional id": (
            report("source", task("FAILED", trace="Broker: Transactional Id authorization failed")), {}, "task failed",
            "transactional ids that begin with the worker's group.id and c"),
    },
    24: {"a large record": (
        report("source", task("FAILED", trace="Broker: Message size too large")),
        {"producer.override.max.request.size": "2000"}, "task failed", "max.request.size (now 2000)")},
    25: {"no override": (report("sink", BUSY), {"consumer.max.poll.records": "5"}, "ignored setting",
                         "set consumer.override.max.poll.records")},
    26: {
        "a source comes again": (report("source", task(), offsets=3), {}, "idle", "3 source partitions have offsets"),
        "a sink comes again": (
            report("sink", task(partitions=1), lag=[{**partition(0, 0, 0), "committed": 7, "end": 7}]),
            {"topics": "t"}, "idle", "it began at offset 7 of t-0"),
    },
    27: {"no heartbeat": (report("source", STANDING), DEBEZIUM, "offset stands still",
                          "no offset was committed for 2 h")},
    28: {
        "it comes again": (report("sink", task(since=20, ends=LOST)), {}, "loses its runs",
                           "1 runs were lost, the last 20 s ago"),
        "it fails": (report("sink", task("FAILED", trace="java.lang.OutOfMemoryError: Java heap space")), {},
                     "task failed", "lower max.poll.records"),
    },
    29: {
        "it fails again": (report("sink", task("FAILED", trace="no", ends=ENDS)), {}, "task failed",
                           "failed again after 0.4 s with the same error: 3 times so far"),
        "no tasks": (report("source"), {}, "no tasks", "a restart asks it again"),
    },
}  # fmt: skip
"""The questions of operators by their numbers in the guide; `hearth doctor` answers 18, 21, 22 and 30."""
TROUBLES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "paused": (report("sink", task("PAUSED"), target="PAUSED"), {}, "paused"),
    "stopped": (report("sink", target="STOPPED"), {}, "stopped"),
    "the connector's start raises": (report("source", state="FAILED", trace="a.B: no\nat x"), {}, "connector failed"),
    "a task fails": (report("source", task("FAILED", trace="a.B: no")), {}, "task failed"),
    "just launched": (report("source", task("UNASSIGNED", since=3)), {}, "starting"),
    "a new configuration is not applied": (report("sink", BUSY, running=False), {}, "changing"),
    "offsets cannot be stored": (
        report("source", task(polled=9, sent=9, acknowledged=9, commits_failed=4, committed_ago=600)), {},
        "not committed",
    ),
    "everything is filtered": (report("source", task(polled=70, polled_ago=1)), {}, "all filtered"),
    "commits are refused": (
        report("sink", task(read=9, put=9, accepted=9, active=9, partitions=1, commits_failed=3)), {}, "not committed",
    ),
    "behind": (report("sink", BUSY, task(partitions=1), lag=[partition(0, 500, 120), partition(1, 400, 120)]), {},
               "behind"),
    "nothing new": (report("sink", {**BUSY, "last": dict(BUSY["last"])}, lag=[partition(0, 0, 0)]), {}, "idle"),
    "an empty source": (report("source", task()), {}, "idle"),
    "a call has just begun": (
        report("source", task(), call={"name": "start", "since": moment(NOW - 2)}), {}, "idle",
    ),
    "a loss of long ago": (report("source", task(ends=[{**LOST[0], "at": moment(NOW - 900)}])), {}, "idle"),
    "all is well": (report("source", task(polled=9, sent=9, rates={"polled": 3.0})), {}, "flows"),
    "a heartbeat": (report("source", STANDING), {**DEBEZIUM, "heartbeat.interval.ms": "1000"}, "idle"),
    "a host that just took over": (report("source", {"id": 0, "state": "RUNNING", "trace": None}), {}, "unknown"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("question", "name"), [(number, name) for number, cases in THIRTY.items() for name in cases], ids=str
)
def test_the_questions_of_operators_are_answered_by_name(question: int, name: str) -> None:
    """With the figures or the key that the answer needs."""
    found, config, wanted, words = THIRTY[question][name]
    findings = explained(found, config, NOW)["findings"]
    answers = [each for each in findings if each["condition"] == wanted]
    assert answers, findings
    assert any(words in text for each in answers for text in each.values() if isinstance(text, str)), answers


def test_at_least_26_of_the_30_questions_have_an_answer() -> None:
    """Four more are about clusters, not about connectors."""
    assert len(THIRTY) >= 26


@pytest.mark.parametrize("trouble", TROUBLES)
def test_each_trouble_has_its_condition(trouble: str) -> None:
    """And every finding has evidence, cause and remedy."""
    found, config, wanted = TROUBLES[trouble]
    explanation = explained(found, config, NOW)
    assert explanation["condition"] == wanted
    assert all(each["evidence"] and each["cause"] and each["remedy"] for each in explanation["findings"])


def test_advice_about_settings_is_not_the_condition() -> None:
    """A connector that works does not turn to another condition for it."""
    assert explained(report("sink", BUSY), {"consumer.max.poll.records": "5"}, NOW)["condition"] == "idle"


def test_findings_beyond_the_first_are_kept() -> None:
    """A connector may have several troubles."""
    found = report("sink", BUSY, task("FAILED", 1, trace="no"), lag=[partition(0, 990, 90), partition(1, 10, 90)])
    conditions = [each["condition"] for each in explained(found, {}, NOW)["findings"]]
    assert conditions[:2] == ["task failed", "one partition behind"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")]
)
def test_durations_are_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    """As people say them."""
    assert duration(seconds) == text
