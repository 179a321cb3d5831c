"""Kafka clients that Java plugins open themselves log in as in Java Connect: by their own settings or a JAAS file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import hearth.broker.broker as module
from hearth.broker import KafkaBroker
from hearth.broker.server_properties import broker_settings
from tests.peer.hearth_connect import HearthConnect
from tests.peer.plugin_list import place
from tests.peer.topic import Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USER = f'{MODULE} username="ann" password="right";'
PROTOCOL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
HEARTBEATS = {
    "connector.class": "org.apache.kafka.connect.mirror.MirrorHeartbeatConnector",
    "source.cluster.alias": "near",
    "target.cluster.alias": "far",
    "emit.heartbeats.interval.seconds": "1",
    "heartbeats.topic.replication.factor": "1",
}


@dataclass(frozen=True)
class Brokers:
    """A broker with two listeners: its own, and one that requires a login."""

    own: str
    closed: str


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brokers]:
    """Run the broker."""
    port = reserve_port()

    def listeners(settings: Mapping[str, str]) -> dict[str, str]:
        more = f",CLOSED://127.0.0.1:{port}"
        return {
            **settings,
            "listeners": settings["listeners"] + more,
            "advertised.listeners": settings["advertised.listeners"] + more,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CLOSED:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.closed.plain.sasl.jaas.config": f'{MODULE} user_ann="right";',
        }

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "broker_settings", lambda *given: listeners(broker_settings(*given)))
        with KafkaBroker(tmp_path_factory.mktemp("broker")) as broker:
            yield Brokers(broker.bootstrap_servers, f"127.0.0.1:{port}")


def worker(brokers: Brokers, folder: Path, settings: Mapping[str, str]) -> HearthConnect:
    """Return a worker with MirrorMaker's connectors."""
    plugins = folder / "plugins"
    plugins.mkdir(exist_ok=True)
    if not any(plugins.iterdir()):
        place("connect-mirror", plugins)
    return HearthConnect(folder, brokers.closed, {"plugin.path": str(plugins), **settings}, [])


def heartbeats(brokers: Brokers, name: str, **login: str) -> dict[str, str]:
    """Return a connector whose clients connect to the listener that requires a login."""
    clients = {"bootstrap.servers": brokers.closed, **PROTOCOL, **{key.replace("_", "."): login[key] for key in login}}
    own = {f"{side}.cluster.{key}": value for side in ("source", "target") for key, value in clients.items()}
    return {**HEARTBEATS, **own, "name": name}


def test_plugins_log_in_as_their_configuration_says(brokers: Brokers, tmp_path: Path) -> None:
    """The worker's own login is not theirs; a JAAS file for their JVMs is, as with KAFKA_OPTS of a Java worker."""
    topics, own = Topics(brokers.own), {**PROTOCOL, "sasl.jaas.config": USER}
    logged_in = {**own, **{f"{kind}.{key}": value for kind in ("producer", "consumer") for key, value in own.items()}}
    with worker(brokers, tmp_path, logged_in) as started:
        started.rest.create(heartbeats(brokers, "without"))
        status = "/connectors/without/status"
        assert eventually(lambda: "FAILED" in started.rest.call("GET", status).text, TIMEOUT), started.last_words()
        assert "Could not find a 'KafkaClient' entry in the JAAS config" in started.rest.call("GET", status).text
        started.run(heartbeats(brokers, "with", sasl_jaas_config=USER))
        assert eventually(lambda: topics.count("heartbeats") > 0, TIMEOUT), started.last_words()
    (tmp_path / "jaas.conf").write_text(f"KafkaClient {{\n  {USER}\n}};\n")
    file = {"plugin.java.options": f"-Djava.security.auth.login.config={tmp_path / 'jaas.conf'}"}
    with worker(brokers, tmp_path, {**logged_in, **file}) as started:
        before = topics.count("heartbeats")
        started.run(heartbeats(brokers, "without"))
        assert eventually(lambda: topics.count("heartbeats") > before, TIMEOUT), started.last_words()
