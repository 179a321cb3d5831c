"""Explanations: which condition each trouble has, by the report of a connector in that trouble."""

from __future__ import annotations

from typing import Any

import pytest

from hearth.herder.connector_report import COUNTS, RATES, moment
from hearth.herder.explanation import duration, explained

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
        "tasks": list(tasks),
        "lag": {"records": total, "seconds": oldest, "partitions": partitions},
        **given,
    }


def condition(found: dict[str, Any], **config: str) -> str:
    """Return the condition of a connector."""
    return str(explained(found, {key.replace("_", "."): value for key, value in config.items()}, NOW)["condition"])


BUSY = task(read=900, put=900, accepted=900, partitions=1, polled_ago=1, delivered_ago=1, committed_ago=1)
TROUBLES: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "paused": (report("sink", task("PAUSED"), target="PAUSED"), {}, "paused"),
    "stopped": (report("sink", target="STOPPED"), {}, "stopped"),
    "the connector's start raises": (report("source", state="FAILED", trace="a.B: no\nat x"), {}, "connector failed"),
    "a task fails": (report("source", task("FAILED", trace="a.B: no")), {}, "task failed"),
    "no tasks": (report("source"), {}, "no tasks"),
    "no free slot": (report("source", task("UNASSIGNED", since=300)), {}, "waiting for a slot"),
    "just launched": (report("source", task("UNASSIGNED", since=3)), {}, "starting"),
    "a new configuration is not applied": (report("sink", BUSY, running=False), {}, "changing"),
    "the broker does not acknowledge": (
        report("source", task(polled=50, sent=50, active=50, delivered_ago=600)), {}, "not acknowledged",
    ),
    "offsets cannot be stored": (
        report("source", task(polled=9, sent=9, acknowledged=9, commits_failed=4, committed_ago=600)), {},
        "not committed",
    ),
    "everything is filtered": (report("source", task(polled=70, polled_ago=1)), {}, "all filtered"),
    "a put hangs": (
        report("sink", task(read=9, put=9, accepted=4, partitions=1, delivered_ago=400, active=9)), {}, "put stalls",
    ),
    "the connector keeps records": (
        report("sink", task(read=320, put=320, accepted=320, active=320, partitions=1, delivered_ago=5)), {},
        "not committed",
    ),
    "commits are refused": (
        report("sink", task(read=9, put=9, accepted=9, active=9, partitions=1, commits_failed=3)), {}, "not committed",
    ),
    "no topic matches": (report("sink", task(), task(number=1)), {"topics": "none"}, "no partitions"),
    "more tasks than partitions": (report("sink", BUSY, task(number=1)), {}, "idle task"),
    "records vanish": (
        report("sink", task(read=9, put=5, accepted=5, failed=4, skipped=4, partitions=1, committed_ago=1)),
        {"errors.tolerance": "all"}, "records are skipped",
    ),
    "puts are slow": (
        report("sink", {**BUSY, "put_seconds": {"average": 100.0, "longest": 200.0}}), {}, "slow put",
    ),
    "the end is a mark": (report("sink", BUSY, lag=[partition(0, 1, 900)]), {}, "lag of 1"),
    "behind": (report("sink", BUSY, lag=[partition(0, 500, 120), partition(1, 400, 120)]), {}, "behind"),
    "nothing new": (report("sink", {**BUSY, "last": dict(BUSY["last"])}, lag=[partition(0, 0, 0)]), {}, "idle"),
    "an empty source": (report("source", task()), {}, "idle"),
    "all is well": (report("source", task(polled=9, sent=9, rates={"polled": 3.0})), {}, "flows"),
    "a host that just took over": (report("source", {"id": 0, "state": "RUNNING", "trace": None}), {}, "unknown"),
}  # fmt: skip


@pytest.mark.parametrize("trouble", TROUBLES)
def test_each_trouble_has_its_condition(trouble: str) -> None:
    """And every finding has evidence, cause and remedy."""
    found, config, wanted = TROUBLES[trouble]
    explanation = explained(found, config, NOW)
    assert explanation["condition"] == wanted
    assert all(each["evidence"] and each["cause"] and each["remedy"] for each in explanation["findings"])


@pytest.mark.parametrize(
    ("trace", "remedy"),
    [
        ("a.DataException: Unknown magic byte!", "set the converter of the format"),
        ("Caused by: json.decoder.JSONDecodeError: Expecting value", "schemas.enable=false"),
        (
            'a.DataException: JsonConverter with schemas.enable requires "schema" and "payload" fields',
            "schemas.enable",
        ),
        ("Broker: Message size too large", "max.message.bytes"),
        ("TOPIC_AUTHORIZATION_FAILED", "allow it READ or WRITE"),
        ("Broker: Unknown topic or partition", "topic.creation.default.partitions"),
        ("ModuleNotFoundError: No module named 'x'", "install the bundle"),
        ("a.ConnectException: Tolerance exceeded in error handler", "errors.tolerance=all"),
        ("java.lang.OutOfMemoryError: Java heap space", "plugin.limits.memory.bytes"),
        ("RuntimeError: no", "errors.task.restart.max"),
    ],
)
def test_a_failed_task_has_a_remedy_for_its_error(trace: str, remedy: str) -> None:
    """By the words of its trace."""
    (finding, *_) = explained(report("sink", task("FAILED", trace=trace, since=30)), {}, NOW)["findings"]
    assert (finding["condition"], finding["task"]) == ("task failed", 0)
    assert finding["evidence"] == f"{trace}, since 30 s ago"
    assert remedy in finding["remedy"]


def test_a_task_that_fails_again_says_so() -> None:
    """A restart that does nothing is explained."""
    ends = [{"at": moment(NOW - ago), "how": "failed", "words": "no"} for ago in (1, 60, 90)]
    (finding, *_) = explained(report("sink", task("FAILED", trace="no", ends=ends)), {}, NOW)["findings"]
    assert finding["evidence"].endswith("3 times with this or another error")


def test_findings_beyond_the_first_are_kept() -> None:
    """A connector may have several troubles."""
    found = report("sink", BUSY, task("FAILED", 1, trace="no"), lag=[partition(0, 990, 90), partition(1, 10, 90)])
    conditions = [each["condition"] for each in explained(found, {}, NOW)["findings"]]
    assert conditions[:2] == ["task failed", "behind"]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (200_000, "2 d")]
)
def test_durations_are_in_the_largest_unit_that_fits(seconds: float, text: str) -> None:
    """As people say them."""
    assert duration(seconds) == text
