"""Odd offsets, names and life cycles of connectors over REST, as data."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.peer.connector_step import alter, alter_as, create, get, patch, put
from tests.peer.rest_case import RestCase, Step

_SOURCE = {"connector.class": "FileStreamSource", "file": "/nonexistent/in.txt", "topic": "odd"}
_FILE = str(Path(__file__).with_name("jars.txt"))
_SINK = {"connector.class": "FileStreamSink", "file": "/dev/null", "topics": "odd-read"}
_OFFSETS = "/connectors/c/offsets"
_POSITIONS: tuple[tuple[Any, Any], ...] = (
    *(({"filename": "f"}, {"position": each}) for each in (0, True, None, 2**64, 1e300)), ({"filename": "f"}, {}),
    *(({"filename": each}, {"position": 1}) for each in (None, 5, " ")), ({}, {"position": 1}), ({}, None),
    ({"filename": "f", "z": [1, {"a": None}]}, {"position": 1, "x": {"y": 1}}), ({"nobody": 1}, None),
)  # fmt: skip
_SECONDS: tuple[tuple[Any, Any], ...] = (
    ({"filename": "b"}, {"position": 2}), ({"filename": "b"}, None), ({"filename": "d"}, {"position": "q"}),
)  # fmt: skip
_PLACE = {"kafka_topic": "odd-read", "kafka_partition": 0}
_PLACES: tuple[tuple[Any, Any], ...] = (
    ({**_PLACE, "x": 1}, {"kafka_offset": 3, "y": 2}), ({}, {}), ({}, None), (_PLACE, {}),
    *((_PLACE, {"kafka_offset": each}) for each in ("a", " 3", 2**63, 1.0, 1.9, 1e3)),
    *(({**_PLACE, "kafka_partition": each}, {"kafka_offset": 3}) for each in ("a", True, [0], -1, 1e0)),
    *(({**_PLACE, "kafka_topic": each}, {"kafka_offset": 3}) for each in (5, "", "no such")),
)  # fmt: skip
_NAMES = ("a b", "a+b", "a;b", "a?b#c", "a\u200bb\U0001f980", "a:b@c&d=e", "(x)'\"", "..x.", "<b>", "|^`~*")


def _named(name: str) -> tuple[Step, ...]:
    """Return the steps of a connector with this name that never runs."""
    path = f"/connectors/{quote(name, safe='')}"
    return (
        create(_SOURCE, name, initial_state="STOPPED"),
        *(Step("GET", path + more) for more in ("", "/config", "/tasks")),
        Step("GET", "/connectors"),
        Step("DELETE", path),
    )


ODD_CASES = (
    RestCase("odd-names", tuple(step for name in _NAMES for step in _named(name))),
    RestCase(
        "odd-source-offsets",
        (
            create({**_SOURCE, "file": _FILE}, initial_state="STOPPED"),
            *(alter(row) for row in _POSITIONS),
            *(alter(({"filename": "b"}, {"position": 1}), each) for each in _SECONDS),
            alter_as({"partition": {"filename": "b"}}),
            alter_as({"offset": {}}),
            alter_as({}),
            Step("DELETE", _OFFSETS),
            get("/offsets"),
        ),
    ),
    RestCase(
        "odd-sink-offsets",
        (
            create({**_SINK}, initial_state="STOPPED"),
            *(alter(row) for row in _PLACES),
            alter((_PLACE, {"kafka_offset": 5}), (_PLACE, {"kafka_offset": 6})),
            Step("DELETE", _OFFSETS),
            get("/offsets"),
        ),
    ),
    RestCase(
        "stopped-altered-resumed-restarted",
        (
            create({**_SOURCE, "file": _FILE, "topic": "odd-written"}, initial_state="STOPPED"),
            alter(({"filename": _FILE}, {"position": 200})),
            put("/resume"),
            get("/status", state="RUNNING"),
            alter(({"filename": _FILE}, {"position": 1})),
            Step("DELETE", _OFFSETS),
            Step("POST", "/connectors/c/restart?includeTasks=true", state="RUNNING"),
            put("/stop", state="RUNNING"),
            Step("DELETE", _OFFSETS, state="NONE"),
            put("/pause"),
            get("/status", until="PAUSED"),
            get("/tasks"),
            alter(({"filename": _FILE}, {"position": 1})),
            put("/stop"),
            Step("DELETE", "/connectors/c"),
            get("/offsets"),
        ),
    ),
    RestCase(
        "source-that-becomes-a-sink",
        (
            create(_SOURCE),
            put("/config", _SINK, state="RUNNING"),
            get("", state="RUNNING"),
            get("/status"),
            get("/tasks"),
            put("/config", {**_SINK, "tasks.max": "3"}),
            get("/tasks", state="RUNNING"),
            get("/tasks/2/status"),
            patch({"tasks.max": None}),
            get("/status", state="RUNNING"),
            get("/tasks/2/status"),
            Step("POST", "/connectors/c/tasks/2/restart"),
        ),
    ),
    RestCase(
        "configurations-with-holes",
        (
            create({**_SOURCE, "a": None, "tasks.max": None}),
            get(),
            *(put("/config", {**_SOURCE, key: None}) for key in ("connector.class", "name", "topic")),
            *(put("/config", {**_SOURCE, "name": text}) for text in (" c", "")),
            *(patch({key: None}) for key in ("topic", "a")),
            put("/config", {}),
            put("/config", {"name": "c"}),
            create({}),
            Step("POST", "/connectors", {"config": _SOURCE}),
            create({**_SOURCE, "name": "c "}, name="c "),
        ),
    ),
)  # fmt: skip
