"""Request sequences for a cluster worker, whose responses partly differ from a standalone worker's."""

from __future__ import annotations

from tests.peer.connector_step import alter, create, patch, put, refused, validate
from tests.peer.distributed import GROUP
from tests.peer.rest_case import RestCase, Step
from tests.peer.rest_cases import REST_CASES

_SOURCE = {"connector.class": "FileStreamSource", "file": "/nonexistent/in.txt", "topic": "cluster-topic"}
_SINK = {"connector.class": "FileStreamSink", "file": "/dev/null", "topics": "cluster-topic"}
_ALIKE = {
    "odd-names", "odd-source-offsets", "configurations-with-holes", "wrong-groups-without-default",
    "wrong-topics-of-no-partitions", "wrong-topics-of-many-replicas-too-many", "topic-group-regex-broken",
    "tasks-max-zero", "sink-topics-missing", "tolerance-unknown", "transform-without-type", "patched",
    "bodies-that-cannot-be-read", "name-with-blanks", "restart-flags",
}  # fmt: skip
"""Standalone sequences that are useful here as well."""


def _validated(change: dict[str, str], base: dict[str, str] = _SINK) -> Step:
    return validate(base["connector.class"], {"name": "c", **base, **change})


CLUSTER_CASES = (
    *(case for case in REST_CASES if case.name in _ALIKE),
    RestCase("worker", (Step("GET", "/"),)),
    RestCase("between-workers", (
        Step("POST", "/connectors/c/tasks", []),
        Step("POST", "/connectors/c/tasks", [{"a": "b"}], content_type="text/plain"),
        Step("PUT", "/connectors/c/fence"), Step("PUT", "/connectors/c/fence", "x", content_type="text/plain"))),
    RestCase(
        "life",
        (
            create(_SOURCE),
            create(_SOURCE),
            Step("GET", "/connectors/c", state="RUNNING"),
            Step("GET", "/connectors/c/config"),
            Step("GET", "/connectors/c/tasks"),
            Step("GET", "/connectors/c/status"),
            Step("GET", "/connectors/c/tasks-config", same="status"),
            Step("GET", "/connectors?expand=info&expand=status"),
            put(
                "/config",
                {**_SOURCE, "tasks.max": "1", "batch.size": "7", "a.key": "1", "another.key": "2", "last": "3"},
            ),
            Step("GET", "/connectors/c/config", state="RUNNING"),
            patch({"batch.size": None, "last": "4"}),
            Step("GET", "/connectors/c/config", state="RUNNING"),
            Step("GET", "/connectors/c/tasks"),
            *(Step("POST", f"/connectors/c/tasks/{each}/restart") for each in ("0", "1", "-1", "99")),
            Step("POST", "/connectors/c/restart", state="RUNNING"),
            Step("POST", "/connectors/d/restart"),
            Step("POST", "/connectors/d/restart?includeTasks=true"),
            Step("POST", "/connectors/d/tasks/0/restart"),
            *(Step("PUT", f"/connectors/d/{each}") for each in ("pause", "resume", "stop")),
            Step("PUT", "/connectors/c/pause", state="RUNNING"),
            Step("GET", "/connectors/c/status", state="PAUSED"),
            Step("PUT", "/connectors/c/resume"),
            Step("PUT", "/connectors/c/stop", state="RUNNING"),
            Step("GET", "/connectors/c", state="NONE"),
            Step("GET", "/connectors/c/tasks"),
            Step("DELETE", "/connectors/c"),
            Step("DELETE", "/connectors/c"),
            Step("GET", "/connectors/c"),
        ),
    ),
    RestCase(
        "initial-states",
        (
            *(create(_SOURCE, name=each.lower(), initial_state=each) for each in ("RUNNING", "PAUSED", "STOPPED")),
            Step("GET", "/connectors/running/status", state="RUNNING", of="running"),
            Step("GET", "/connectors/paused/status", until="PAUSED"),
            Step("GET", "/connectors/paused/tasks"),
            Step("PUT", "/connectors/paused/resume"),
            Step("GET", "/connectors/paused/status", state="RUNNING", of="paused"),
            Step("GET", "/connectors/stopped/status", state="NONE", of="stopped"),
            Step("GET", "/connectors/stopped/tasks"),
        ),
    ),
    RestCase("group-of-a-sink", (
        _validated({}), *(_validated({"consumer.override.group.id": each}) for each in ("g", "")),
        _validated({"consumer.override.group.id": GROUP}), _validated({"name": "peers"}),
        _validated({"name": "peers", "consumer.override.group.id": "g"}))),
    refused("sink-in-the-group-of-workers", _SINK, {"consumer.override.group.id": GROUP}),
    RestCase("sink-named-as-the-group-of-workers", (create(_SINK, name="peers"),)),
    RestCase("exactly-once", tuple(_validated({"exactly.once.support": each}, _SOURCE) for each in (
        "required", "REQUIRED", "requested", "maybe", ""))),
    RestCase("boundaries", tuple(_validated({"transaction.boundary": each}, _SOURCE) for each in (
        "connector", "CONNECTOR", "poll", "interval", "never"))),
    refused("exactly-once-required", _SOURCE, {"exactly.once.support": "required"}),
    refused("boundaries-of-the-connector", _SOURCE, {"transaction.boundary": "connector"}),
    RestCase(
        "source-positions",
        (
            create(_SOURCE),
            alter(({"filename": "x"}, {"position": 5}), state="RUNNING"),
            Step("DELETE", "/connectors/c/offsets"),
            Step("PUT", "/connectors/c/stop"),
            alter(({"filename": "/nonexistent/in.txt"}, {"position": 5}), state="NONE"),
            Step("GET", "/connectors/c/offsets"),
            alter(({"filename": "/nonexistent/in.txt"}, {"position": -5})),
            alter(({"filename": "/nonexistent/other.txt"}, {"position": 7})),
            Step("GET", "/connectors/c/offsets", same="status"),
            Step("DELETE", "/connectors/c/offsets"),
            Step("GET", "/connectors/c/offsets", until="[]"),
            Step("GET", "/connectors/d/offsets"),
            Step("DELETE", "/connectors/d/offsets"),
            alter(({"filename": "x"}, {"position": 5}), connector="d"),
        ),
    ),
)  # fmt: skip
