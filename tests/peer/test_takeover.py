"""Hearth takes over a cluster of Java's Kafka Connect, and gives it back: with one file and without loss."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed, JavaDistributed
from tests.peer.worker import Worker
from tests.timeouts import TIMEOUT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.long]
GROUP = "takeover"
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "500"}


def test_a_cluster_moves_from_java_to_hearth_and_back(tmp_path: Path, broker: KafkaBroker) -> None:
    """Paused connectors stay paused, stopped ones stopped, and the others continue from their offsets, both ways."""
    java = JavaDistributed(tmp_path / "java", broker.bootstrap_servers, GROUP, SETTINGS)
    hearth = HearthDistributed(tmp_path / "hearth", broker.bootstrap_servers, GROUP, SETTINGS)
    with NumberedLines(tmp_path, GROUP) as lines:
        with java:
            for config in lines.configs():
                java.run(config)
            for name, act in (("paused", "pause"), ("stopped", "stop")):
                java.run(resting(tmp_path, name))
                assert java.rest.call("PUT", f"/connectors/{GROUP}-{name}/{act}").status in (202, 204)
            assert lines.flows(), java.last_words()
            assert eventually(partial(as_they_were, java), TIMEOUT), java.last_words()
            with pytest.raises(AssertionError, match="has members of another type"):
                hearth.start()
            assert "stop all its workers first" in hearth.last_words()
            hearth.stop()
        for worker in (hearth, java, hearth):
            before = lines.arrivals.repeats
            with worker:
                assert lines.flows(90), worker.last_words()
                assert eventually(partial(as_they_were, worker), TIMEOUT), worker.last_words()
                print(f"{worker.side}: {lines.arrivals.repeats - before} lines came again")
                if worker is hearth:
                    refuses_java(java)
        assert lines.arrivals.faults == []


def resting(folder: Path, name: str) -> dict[str, str]:
    """Return a connector that will be paused or stopped."""
    topic = f"{GROUP}-{name}"
    return {"name": topic, "connector.class": "FileStreamSource", "file": str(folder / "rest"), "topic": topic}


def as_they_were(worker: Worker) -> bool:
    """Return whether all connectors are in the states that their user set."""
    found = {each: worker.rest.states(f"{GROUP}-{each}") for each in ("source", "sink", "paused", "stopped")}
    running, paused = ["RUNNING", "RUNNING"], ["PAUSED", "PAUSED"]
    return found == {"source": running, "sink": running, "paused": paused, "stopped": ["STOPPED"]}


def refuses_java(java: JavaDistributed) -> None:
    """Check that Java's worker detects the foreign group: it stops its work, though not its process."""
    java.start(wait=False)
    assert eventually(lambda: "runtime.Worker Worker stopped" in java.last_words(), TIMEOUT), java.last_words()
    java.stop()
