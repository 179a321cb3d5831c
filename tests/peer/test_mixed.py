"""Pipelines of Java and Python plugins have the results of Java Connect with Java's plugins alone, byte for byte."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from hearth.discovery.catalogue import discover, read
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.isolation.java_stage import STAGE_LOCK
from hearth.maven.jar import fetch_jars
from tests.peer.cases import CASES, WORKERS
from tests.peer.comparison import OUTCOMES
from tests.peer.hearth_connect import HearthConnect, file_bundle
from tests.peer.plugin_list import place
from tests.peer.side import Side
from tests.peer.topic import Topics
from tests.peer.worker import Worker

pytestmark = pytest.mark.long

KAFKA = "org.apache.kafka.connect"
PREDICATES = "org/apache/kafka/connect/transforms/predicates/"
NAMED = {
    "connectors": f"{KAFKA}.file.FileStreamSinkConnector",
    "converters": f"{KAFKA}.json.JsonConverter",
    "transformations": f"{KAFKA}.transforms.InsertField$Value",
    "predicates": f"{KAFKA}.transforms.predicates.HasHeaderKey",
}
"""A class of each kind, by which the test recognises whose plugins are used."""
MIXES = (
    ("connectors", "converters"),
    ("transformations",),
    ("transformations", "predicates", "converters"),
)
"""The kinds of plugins that are Java's, each in a bundle of its own; all others are Python's."""
CHOSEN = [
    case
    for case in CASES
    if case.name
    in (
        "source-predicate", "source-predicate-negated", "source-nested-path", "source-untidy-lines",
        "source-topic-of-group", "chain-long", "chain-headers-as-json", "chain-headers-as-text",
        "chain-cast-tolerated", "chain-cast-fails", "sink-json-logical", "sink-mask-logical",
        "sink-json-nested", "sink-json-large-map", "sink-json-defaults", "sink-json-defaults-kept-null",
        "sink-json-numbers", "sink-json-many-fields", "sink-string", "sink-extract-null",
        "sink-insert-everything", "sink-insert-with-schema", "sink-header-predicate", "sink-headers-as-json",
        "sink-tombstone-predicate", "chain-long-orders", "chain-filters-headed", "chain-filters-tombstones",
        "sink-bad-json-tolerated", "pipe-transformed",
    )
]  # fmt: skip


def jar(name: str) -> Path:
    """Return one of Kafka's own jars."""
    return next(each for each in fetch_jars(STAGE_LOCK) if f".{name}-" in each.name)


def part(source: Path, folder: Path, is_wanted: Callable[[str], bool]) -> None:
    """Write a jar with some of the classes of another one."""
    folder.mkdir()
    with zipfile.ZipFile(source) as whole, zipfile.ZipFile(folder / source.name, "w") as copy:
        for name in filter(is_wanted, whole.namelist()):
            copy.writestr(name, whole.read(name))


def put(kind: str, plugins: Path) -> None:
    """Put Java's plugins of a kind on a plugin.path, with the version that they would return."""
    if kind == "connectors":
        place("connect-file", plugins)
    elif kind == "converters":
        part(jar("connect-json"), plugins / kind, lambda name: name.endswith(".class"))
    else:
        wanted = kind == "predicates"
        part(
            jar("connect-transforms"),
            plugins / kind,
            lambda name: name.endswith(".class") and name.startswith(PREDICATES) == wanted,
        )
    for location in plugins.iterdir():
        bundle = read(location)
        assert isinstance(bundle, JavaBundle), bundle
        bundle.remember({each.class_name: "4.3.1" for each in bundle.declarations})


def hearth(plugin_path: str, folder: Path, servers: str, settings: Mapping[str, str]) -> Worker:
    """Return a Hearth whose tasks share the processes of a bundle."""
    own = {"plugin.path": plugin_path, "task.isolation": "environment"}
    return HearthConnect(folder, servers, {**settings, **own})


@pytest.mark.parametrize("kinds", MIXES, ids=" ".join)
def test_outcomes_equal_javas(kinds: tuple[str, ...], broker: KafkaBroker, tmp_path: Path) -> None:
    """Java and Python plugins follow each other in both directions."""
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    for kind in kinds:
        put(kind, plugins)
    path = [plugins] if "connectors" in kinds else [file_bundle(), plugins]
    found = discover(path)
    used = {kind for kind, name in NAMED.items() if isinstance(found.find(name).bundle, JavaBundle)}
    assert used == set(kinds)
    make = partial(hearth, ",".join(map(str, path)))
    with Side(make, tmp_path, Topics(broker.bootstrap_servers), WORKERS) as side:
        outcomes: dict[str, Any] = OUTCOMES.play(side, CHOSEN)
    expected = {case.name: OUTCOMES.kept.answer(case) for case in CHOSEN}
    different = {name: (outcomes[name], expected[name]) for name in expected if outcomes[name] != expected[name]}
    assert different == {}
