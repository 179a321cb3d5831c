"""A jar of Kafka Connect runs: in a JVM stage of its own, with Python converters and transformations around it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.discovery.catalogue import read
from hearth.discovery.java.java_bundle import JavaBundle
from hearth.foundation.user_file import cache_directory
from hearth.packaging.java_pack import pack_java
from hearth.packaging.sign import new_key, sign
from tests.peer.hearth_connect import HearthConnect
from tests.peer.plugin_list import place
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

SOURCE_CLASS = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK_CLASS = "org.apache.kafka.connect.file.FileStreamSinkConnector"
_STRINGS = {
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "500",
}


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a signed bundle with the file connectors of Kafka's own jar."""
    bundle = read(place("connect-file", tmp_path_factory.mktemp("jars")))
    assert isinstance(bundle, JavaBundle)
    folder = tmp_path_factory.mktemp("signed")
    new_key(folder / "key")
    location = pack_java(bundle, folder / "plugins")
    sign(location, folder / "key")
    return location


@pytest.fixture(scope="module")
def worker(broker: KafkaBroker, location: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HearthConnect]:
    """Run a worker that takes signed bundles, and whose plugin.path has that one alone."""
    folder, plugins = tmp_path_factory.mktemp("java"), location.parent
    trust = {"plugin.trust": "signed", "plugin.trust.keys": str(plugins.parent / "key.pub")}
    started = HearthConnect(folder, broker.bootstrap_servers, {**_STRINGS, **trust, "plugin.path": str(plugins)}, [])
    started.start()
    yield started
    started.stop()


def test_plugins_of_a_jar_are_listed_and_described(worker: HearthConnect) -> None:
    """Their settings are those that the class defines."""
    listed = {each["class"]: each["type"] for each in json.loads(worker.rest.call("GET", "/connector-plugins").text)}
    assert listed == {SOURCE_CLASS: "source", SINK_CLASS: "sink"}
    keys = json.loads(worker.rest.call("GET", "/connector-plugins/FileStreamSource/config").text)
    assert {"file", "topic", "batch.size"} <= {key["name"] for key in keys}


def test_versions_are_listed_once_a_connector_was_validated(worker: HearthConnect, location: Path) -> None:
    """All of its bundle, as Java Connect lists them."""
    bundle = read(location)
    assert isinstance(bundle, JavaBundle)
    cache_directory("java-bundles", f"{bundle.key}.versions.json").unlink(missing_ok=True)
    assert worker.rest.create({"name": "bad", "connector.class": SOURCE_CLASS}).status == 400
    bundle = read(location)
    assert isinstance(bundle, JavaBundle)
    assert [each.version for each in bundle.declarations] == ["4.3.1", "4.3.1"]


def test_a_mistake_is_reported_in_the_words_of_the_class(worker: HearthConnect) -> None:
    """The connector validates its configuration itself."""
    answer = worker.rest.create({"name": "bad", "connector.class": SOURCE_CLASS, "batch.size": "none"})
    assert answer.status == 400
    message = json.loads(answer.text)["message"]
    assert 'Missing required configuration "topic" which has no default value.' in message
    assert "Invalid value none for configuration batch.size: Not a number of type INT" in message


def test_lines_pass_from_java_to_java(worker: HearthConnect, broker: KafkaBroker, tmp_path: Path) -> None:
    """Python transformations are between them; the stored offset is that of the Java connector."""
    topic, lines, copy = "java-lines", tmp_path / "lines.txt", tmp_path / "copy.txt"
    Topics(broker.bootstrap_servers).create(topic)
    lines.write_text("".join(f"line {number}\n" for number in range(5_000)))
    mark = {
        "transforms": "hoist,extract",
        "transforms.hoist.type": "org.apache.kafka.connect.transforms.HoistField$Value",
        "transforms.hoist.field": "line",
        "transforms.extract.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.extract.field": "line",
    }
    source = {"name": "java-source", "connector.class": SOURCE_CLASS, "file": str(lines), "topic": topic, **mark}
    sink = {"name": "java-sink", "connector.class": SINK_CLASS, "file": str(copy), "topics": topic}
    for config in (source, sink):
        assert worker.rest.create(config).status == 201
    assert eventually(lambda: copy.exists() and copy.read_text() == lines.read_text(), TIMEOUT), worker.last_words()
    status = json.loads(worker.rest.call("GET", "/connectors/java-source/status").text)
    assert status["connector"]["version"] == status["tasks"][0]["version"] == "4.3.1"
    offset = {"partition": {"filename": str(lines)}, "offset": {"position": lines.stat().st_size}}

    def stored() -> bool:
        return bool(
            json.loads(worker.rest.call("GET", "/connectors/java-source/offsets").text) == {"offsets": [offset]}
        )

    assert eventually(stored, TIMEOUT)

    def is_measured() -> bool:
        text = worker.rest.call("GET", "/metrics").text
        found = dict(re.findall(r'^kafka_connect_(\w+)\{connector="java-\w+",task="0"\} (.+)$', text, re.MULTILINE))
        puts, polls = found.get("sink_task_metrics_sink_record_send"), found["source_task_metrics_source_record_poll"]
        times = [found[f"{each}_batch_max_time_ms"] for each in ("source_task_metrics_poll", "sink_task_metrics_put")]
        return (puts, polls) == ("5000", "5000") and all(float(each) > 0 for each in times)

    assert eventually(is_measured, TIMEOUT)
    for config in (source, sink):
        worker.delete(config["name"])
