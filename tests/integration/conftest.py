"""One host and its broker for the tests of a process, and unique names for tests."""

from __future__ import annotations

import itertools
import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hearth.broker import KafkaBroker
from hearth.foundation.certificate import make_identity
from tests.bundles.build import plugin_path
from tests.crash.process import await_end, tree
from tests.peer.hearth_connect import HearthConnect, file_bundle
from tests.peer.topic import Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

STRING = "org.apache.kafka.connect.storage.StringConverter"
SAMPLES = ("greeting_source", "greeting_transform", "misbehaving", "recorder")
_numbers = itertools.count()


@pytest.fixture(scope="session")
def topics(broker: KafkaBroker) -> Topics:
    """Provide the topics of the shared broker."""
    return Topics(broker.bootstrap_servers)


class Host(HearthConnect):
    """A host with the sample bundles and text converters, whose tasks commit often."""

    kept_lines = 10_000
    key_of_the_store = "the-key-of-the-store"
    """The value of one Spark key."""

    def __init__(self, folder: Path, bootstrap_servers: str) -> None:
        (folder / "configurations").mkdir()
        self.secrets = folder / "secrets"
        self.secrets.mkdir()
        identity = make_identity()
        self.certificate = folder / "identity.pem"
        self.certificate.write_text(identity.key + identity.certificate)
        self.https_port = reserve_port()
        spark_port = reserve_port()
        self.plugins = plugin_path(*SAMPLES)
        settings = {
            "plugin.path": f"{file_bundle()},{self.plugins}",
            "key.converter": STRING,
            "value.converter": STRING,
            "offset.flush.interval.ms": "200",
            "connector.client.config.override.policy": "NoZz",
            "rest.extension.classes": "Doorman",
            "listeners.https.ssl.keystore.type": "PEM",
            "listeners.https.ssl.keystore.location": str(self.certificate),
            "worker.configuration.path": str(folder / "configurations"),
            "spark.ui.port": str(spark_port),
            "spark.executor.memroy": "1g",
            "spark.hadoop.fs.s3a.secret.key": self.key_of_the_store,
            "config.providers": "dir",
            "config.providers.dir.class": "org.apache.kafka.common.config.provider.DirectoryConfigProvider",
            "config.providers.dir.param.allowed.paths": str(folder / "secrets"),
        }
        super().__init__(folder, bootstrap_servers, settings)
        self._spark_port = spark_port
        self._settings["listeners"] += f",https://127.0.0.1:{self.https_port}"

    def spark_page(self) -> str:
        """Return the address of Spark's web UI, which opens after the first tasks have started."""
        assert eventually(lambda: listens(self._spark_port), TIMEOUT)
        return f"http://127.0.0.1:{self._spark_port}"


def listens(port: int) -> bool:
    """Return whether a process listens on a port of this machine."""
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(scope="session")
def host(broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Provide a host for all tests of this process; after its stop none of its processes is left."""
    running = Host(tmp_path_factory.mktemp("host"), broker.bootstrap_servers)
    with running:
        yield running
        processes = tree(running.pid)
    await_end(processes)


@pytest.fixture
def name(host: Host) -> Iterator[str]:
    """Provide a name for connectors and topics; everything created under that prefix is removed."""
    prefix = f"test-{next(_numbers)}"
    yield prefix
    for each in host.rest.call("GET", "/connectors").json:
        if each.startswith(prefix):
            host.delete(each)


class Recorder:
    """A configuration of the recording sink and its journal."""

    def __init__(self, name: str, journal: Path, topics: str, **settings: str) -> None:
        self.config = {
            "name": f"{name}-recorder",
            "connector.class": "org.example.RecorderSinkConnector",
            "topics": topics,
            "journal": str(journal),
            **{key.replace("_", "."): value for key, value in settings.items()},
        }
        self._journal = journal

    def calls(self, *kinds: str) -> list[dict[str, Any]]:
        """Return the calls so far, optionally of some kinds only."""
        text = self._journal.read_text() if self._journal.exists() else ""
        calls = [json.loads(each) for each in text.splitlines()]
        return [each for each in calls if not kinds or each["call"] in kinds]

    def taken(self) -> list[tuple[str, int, int, str]]:
        """Return topic, partition, offset and value of all records that a put received."""
        puts = [each for each in self.calls("put") if each["outcome"] == "taken"]
        return [tuple(record) for each in puts for record in each["records"]]

    def values(self) -> list[str]:
        """Return the values of all records that a put received."""
        return [value for *_, value in self.taken()]

    def await_values(self, wanted: list[str], timeout: float = 30.0) -> None:
        """Wait until exactly these values have been received, in this order."""
        eventually(lambda: len(self.values()) >= len(wanted), timeout)
        assert self.values() == wanted


MakeRecorder = Callable[..., Recorder]


@pytest.fixture
def recorder(host: Host, name: str, tmp_path: Path) -> MakeRecorder:
    """Provide a factory of running recording sinks: `recorder(topics, key_with_underscores=value)`."""

    def make(topics: str, **settings: str) -> Recorder:
        made = Recorder(name, tmp_path / "journal", topics, **settings)
        host.run(made.config)
        return made

    return make
