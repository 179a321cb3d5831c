"""Bundles are deleted, replaced or added while a host runs: their users follow, or run on unchanged."""

from __future__ import annotations

import json
import os
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.bundles import build
from tests.bundles.hostile import HOSTILE, candidate
from tests.crash.process import await_end, tree
from tests.integration.conftest import STRING
from tests.peer.hearth_connect import HearthConnect
from tests.peer.rest import Answer
from tests.peer.topic import Topics
from tests.timeouts import TIMEOUT, eventually

CASES = ("deleted", "newer", "garbage", "other", "moved", "chain", "lost")
CODE = """
import threading
from hearth_api import STRING_SCHEMA, ConfigDef, ConfigType, Importance, SourceConnector, SourceRecord, SourceTask
from hearth_api import Transformation

VERSION = {version!r}

class Connector(SourceConnector):
    def version(self):
        return VERSION

    def config(self):
        return ConfigDef().define("topic", ConfigType.STRING, importance=Importance.HIGH, doc="Where to.")

    def start(self, props):
        self.props = dict(props)

    def task_class(self):
        return Task

    def task_configs(self, max_tasks):
        return [self.props]

    def stop(self):
        pass

class Task(SourceTask):
    def version(self):
        return VERSION

    def start(self, props):
        self.topic, self.stopped = props["topic"], threading.Event()
        self.count = (self.context.offset_storage_reader().offset({{"of": "all"}}) or {{"count": 0}})["count"]

    def poll(self):
        self.stopped.wait(0.05)
        key, self.count = str(self.count), self.count + 1
        offset = {{"count": self.count}}
        return [SourceRecord({{"of": "all"}}, offset, self.topic, None, STRING_SCHEMA, key, STRING_SCHEMA, VERSION)]

    def stop(self):
        self.stopped.set()

class Same(Transformation):
    def config(self):
        return ConfigDef()

    def configure(self, props):
        pass

    def apply(self, record):
        return record

    def close(self):
        pass
"""


class Upgraded:
    """One bundle on the plugin.path of a running host, a connector from it, and operations on the file."""

    def __init__(self, folder: Path, case: str) -> None:
        self.case = case
        self.file = folder / f"{case}.zip"
        self.class_name = f"org.example.{case}.UpgradedSourceConnector"
        self.change = f"org.example.{case}.Same"

    def put(self, version: str, module: str | None = None, file: Path | None = None) -> None:
        """Put a version of the bundle in place atomically, as a careful operator does."""
        self.file.with_suffix(".new").write_bytes(self.packed(version, module))
        os.replace(self.file.with_suffix(".new"), file or self.file)

    def packed(self, version: str, module: str | None = None) -> bytes:
        """Return the path of a packed version of the bundle."""
        module = module or self.case
        points = {
            "hearth.source_connectors": {f"org.example.{module}.UpgradedSourceConnector": f"{module}:Connector"},
            "hearth.transformations": {f"org.example.{module}.Same": f"{module}:Same"},
        }
        with tempfile.TemporaryDirectory() as scratch:
            wheel = build.plain_wheel(Path(scratch), module, version, points, code=CODE.format(version=version))
            fresh = Path(scratch, "fresh.zip")
            with zipfile.ZipFile(fresh, "w") as archive:
                archive.write(wheel, f"wheels/{wheel.name}")
            return fresh.read_bytes()


class UpgradedHost(HearthConnect):
    """A host with a changing plugin.path, which also has unusable files."""

    def __init__(self, folder: Path, bootstrap_servers: str) -> None:
        self.plugins = folder / "plugins"
        self.plugins.mkdir()
        for case in CASES:
            Upgraded(self.plugins, case).put("1.0")
        for number, name in enumerate(("pipe.zip", "itself.zip", "deep manifest", "checksum", "plugins null")):
            made = candidate(folder / "hostile", number, HOSTILE[name][0])
            (self.plugins / f"{number}-{made.name}").symlink_to(made)
        settings = {"plugin.path": str(self.plugins), "key.converter": STRING, "value.converter": STRING}
        settings["plugin.rest.install.enable"] = "true"
        super().__init__(folder, bootstrap_servers, {**settings, "offset.flush.interval.ms": "200"})


@pytest.fixture(scope="module")
def host(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpgradedHost]:
    """Provide the host; its log may have no traceback of the host's own code."""
    running = UpgradedHost(tmp_path_factory.mktemp("upgraded"), broker.bootstrap_servers)
    with running:
        yield running
        processes = tree(running.pid)
        assert "Traceback" not in running.last_words()
    await_end(processes)


class Running:
    """A running connector, and requests about it."""

    def __init__(self, host: UpgradedHost, topics: Topics, case: str) -> None:
        self.host, self.topics, self.name = host, topics, f"upgrade-{case}"
        self.bundle = Upgraded(host.plugins, case)
        self.config = {"name": self.name, "connector.class": self.bundle.class_name, "topic": self.name}

    def start(self, **more: str) -> Running:
        """Create the connector and wait for its first record."""
        self.topics.create(self.name)
        self.config |= {key.replace("_", "."): value for key, value in more.items()}
        self.host.run(self.config)
        self.await_version("1.0")
        return self

    def ask(self, method: str, what: str, body: object = None) -> Answer:
        """Send a request about the connector."""
        return self.host.rest.call(method, f"/connectors/{self.name}{what}", body)

    def await_version(self, version: str) -> None:
        """Wait until records of a version of the bundle arrive, and everything runs."""
        assert eventually(lambda: self.last() == version, TIMEOUT), (self.last(), self.ask("GET", "/status").text)
        self.host.wait_for_state(self.name, "RUNNING")

    def last(self) -> str | None:
        """Return the value of the newest record."""
        found = self.topics.read(self.name)
        return found[-1].value.decode() if found and found[-1].value else None

    def goes_on(self) -> bool:
        """Return whether more records arrive, and everything runs."""
        before = self.topics.count(self.name)
        came = eventually(lambda: self.topics.count(self.name) > before + 3, TIMEOUT)
        return came and set(self.host.rest.states(self.name)) == {"RUNNING"}

    def restarts(self) -> dict[str, Answer]:
        """Send every request that restarts a part of the connector, and return the responses."""
        validate = f"/connector-plugins/{self.bundle.class_name}/config/validate"
        wanted = {
            "task": ("POST", f"/connectors/{self.name}/tasks/0/restart", None),
            "connector": ("POST", f"/connectors/{self.name}/restart", None),
            "both": ("POST", f"/connectors/{self.name}/restart?includeTasks=true", None),
            "config": ("PUT", f"/connectors/{self.name}/config", {**self.config, "extra": "1"}),
            "validate": ("PUT", validate, self.config),
            "keys": ("GET", f"/connector-plugins/{self.bundle.class_name}/config", None),
        }
        answers = {}
        for what, (method, path, body) in wanted.items():
            answers[what] = self.host.rest.call(method, path, body)
            self.host.wait_for_state(self.name, "RUNNING")  # one request after the other
        return answers

    def assert_refused(self, *words: str) -> None:
        """Assert that every restart is refused with the reason, and that running tasks are not touched."""
        for what, answer in self.restarts().items():
            if what == "keys" and answer.status == 404:
                continue  # Kafka Connect's response for a class that is not listed
            assert answer.status == 409, (what, answer)
            message = str(answer.json["message"])
            assert [word for word in words if word not in message] == [], (what, message)
        assert self.goes_on()

    def assert_whole(self) -> None:
        """Assert that every record exists once, in order: each version continues from the previous one's offset."""
        found = [int(record.key or b"") for record in self.topics.read(self.name)]
        assert found == list(range(len(found)))

    def versions(self) -> list[str]:
        """Return the listed versions of the connector."""
        answer = self.host.rest.call("GET", "/connector-plugins")
        assert answer.status == 200
        return [each["version"] for each in answer.json if each["class"] == self.bundle.class_name]


@pytest.fixture
def running(host: UpgradedHost, topics: Topics, request: pytest.FixtureRequest) -> Iterator[Running]:
    """Provide the connector of a case."""
    made = Running(host, topics, request.param)
    yield made
    host.rest.call("DELETE", f"/connectors/{made.name}")


def case(name: str) -> pytest.MarkDecorator:
    """Return a mark that gives a test its own bundle."""
    return pytest.mark.parametrize("running", [name], indirect=True)


@case("deleted")
def test_deleting_a_bundle_ends_no_task(running: Running) -> None:
    """Running tasks keep their environment; the plugin is not listed, and restarts are refused until it is back."""
    running.start()
    running.bundle.file.unlink()
    assert eventually(lambda: running.versions() == [], TIMEOUT)
    assert running.goes_on()
    running.assert_refused(running.bundle.class_name, str(running.bundle.file), "it does not exist")
    assert running.ask("PUT", "/pause").status == 202
    running.host.wait_for_state(running.name, "PAUSED")
    assert running.ask("PUT", "/resume").status == 202
    running.host.wait_for_state(running.name, "RUNNING")
    assert running.goes_on()
    running.bundle.put("1.0")
    assert running.ask("POST", "/tasks/0/restart").status == 204
    running.await_version("1.0")
    assert running.goes_on()


@case("newer")
def test_a_newer_bundle_in_place_is_used_from_then_on(running: Running) -> None:
    """By connector and tasks, from their offsets; an older one is used as well, which is a rollback."""
    running.start()
    for version in ("1.1", "1.0"):
        running.bundle.put(version)
        running.await_version(version)
        assert running.versions() == [version]
    answers = running.restarts()
    statuses = {what: answer.status for what, answer in answers.items()}
    assert statuses == {"task": 204, "connector": 204, "both": 202, "config": 200, "validate": 200, "keys": 200}
    assert running.goes_on()
    running.assert_whole()


@case("garbage")
def test_replacing_a_bundle_with_garbage_ends_no_task(running: Running) -> None:
    """A partial copy, for example; the complete one is found as soon as it exists."""
    running.start()
    running.bundle.file.write_bytes(b"PK\3\4 half of it")
    running.assert_refused("it is truncated or not a zip file")
    running.bundle.put("2.0")
    running.await_version("2.0")


@case("other")
def test_replacing_a_bundle_with_another_reports_the_missing_plugin(running: Running) -> None:
    """The file is a valid bundle without this connector."""
    running.start()
    running.bundle.put("1.0", module="quite_another")
    running.assert_refused(running.bundle.class_name, "it no longer declares this plugin")
    running.bundle.put("1.3")
    running.await_version("1.3")


@case("moved")
def test_a_newer_bundle_under_another_file_name_is_used(running: Running) -> None:
    """The usual upgrade: a file with the new version in its name is added, then the old one is deleted."""
    running.start()
    pinned = {**running.config, "name": "upgrade-pinned", "connector.plugin.version": "[1.0]"}
    running.host.run(pinned)
    process = running.host.rest.call("GET", "/connectors/upgrade-pinned/status").json["tasks"]
    running.bundle.put("1.1", file=running.host.plugins / "moved-1.1.zip")
    assert eventually(lambda: running.versions() == ["1.0", "1.1"], TIMEOUT)
    running.await_version("1.1")
    running.bundle.file.unlink()
    assert eventually(lambda: running.versions() == ["1.1"], TIMEOUT)
    assert running.ask("POST", "/restart?includeTasks=true").status == 202
    running.await_version("1.1")
    status = running.host.rest.call("GET", "/connectors/upgrade-pinned/status").json
    assert (status["connector"]["version"], status["tasks"]) == ("1.0", process)
    running.host.rest.call("DELETE", "/connectors/upgrade-pinned")


@case("chain")
def test_a_transformation_whose_bundle_is_deleted_keeps_its_tasks_running(running: Running) -> None:
    """Every plugin of a pipeline is checked before a task is stopped."""
    lost = Upgraded(running.host.plugins, "lost")
    running.start(transforms="same", transforms_same_type=lost.change)
    lost.file.unlink()
    for what in ("/tasks/0/restart", "/restart", "/restart?includeTasks=true"):
        answer = running.ask("POST", what)
        assert (answer.status, lost.change in answer.json["message"]) == (409, True), answer
    answer = running.ask("PUT", "/config", {**running.config, "extra": "1"})
    assert answer.status in (400, 409)
    assert lost.change in answer.json["message"]
    assert running.goes_on()


def test_an_added_bundle_is_listed_immediately(host: UpgradedHost) -> None:
    """It is usable without a prior request."""
    added = Upgraded(host.plugins, "added")
    listed = host.rest.call("GET", "/connector-plugins")
    assert added.class_name not in json.dumps(listed.json)
    added.put("1.0")
    assert eventually(lambda: added.class_name in host.rest.call("GET", "/connector-plugins").text, TIMEOUT)
    config = {"name": "added", "connector.class": added.class_name, "topic": "added"}
    checked = host.rest.call("PUT", f"/connector-plugins/{added.class_name}/config/validate", config)
    assert (checked.status, checked.json["error_count"]) == (200, 0)


def test_a_bundle_is_installed_upgraded_and_rolled_back_by_requests(host: UpgradedHost, topics: Topics) -> None:
    """A connector from it runs throughout, each version continuing from the previous one's offset."""
    sent = Running(host, topics, "sent")
    answer = post_bundle(host, sent.bundle.packed("1.0"))
    assert (answer.status, answer.json["action"]) == (201, "install"), answer
    sent.start()
    answer = post_bundle(host, sent.bundle.packed("1.1"))
    assert (answer.status, answer.json["before"], answer.json["after"]) == (200, "1.0", "1.1"), answer
    assert sent.versions() == ["1.1"]
    sent.await_version("1.1")
    answer = host.rest.call("POST", f"/plugins/{answer.json['name']}/rollback")
    assert (answer.status, answer.json["after"]) == (200, "1.0"), answer
    sent.await_version("1.0")
    sent.assert_whole()
    assert post_bundle(host, b"PK half of it").status == 400
    listed = host.rest.call("GET", "/plugins").json
    assert [each["version"] for each in listed["bundles"] if each["name"] == "sent"] == ["1.0"]
    host.rest.call("DELETE", f"/connectors/{sent.name}")


def post_bundle(host: UpgradedHost, content: bytes) -> Answer:
    """Send a bundle."""
    address = f"http://127.0.0.1:{host.rest.port}/plugins?file=sent.zip"
    request = urllib.request.Request(address, content, {"Content-Type": "application/zip"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return Answer(answer.status, {}, answer.read().decode())
    except urllib.error.HTTPError as error:
        return Answer(error.code, {}, error.read().decode())
