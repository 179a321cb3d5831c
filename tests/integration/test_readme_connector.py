"""The connector of the README works as it stands there: run while it is edited, packed, installed, run again."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import confluent_kafka
import pytest

from hearth.broker import KafkaBroker
from hearth.cli.local import LocalHost
from tests.reservation import reserve_port

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
TOPIC = "counted-numbers"


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    """Write the project as the README shows it, and run the README's commands."""
    for name, text in re.findall(r"^`counter/(\S+)`:\n\n```\w+\n(.*?)^```", README, re.MULTILINE | re.DOTALL):
        path = tmp_path / "counter" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    folder = tmp_path / "plugin_path"
    folder.mkdir()
    hearth = [sys.executable, "-m", "hearth", "bundle"]
    subprocess.run([*hearth, "pack", str(tmp_path / "counter"), "--output", str(folder)], check=True)
    subprocess.run([*hearth, "verify", *map(str, folder.iterdir())], check=True)
    return folder


def test_readme_connector_counts_and_goes_on_after_an_edit_and_on_another_host(
    tmp_path: Path, plugin_path: Path, broker: KafkaBroker
) -> None:
    """Numbers arrive from 1 on without a gap; those after the edit are negative, and all from the host after it.

    The first host is that of `hearth run`, which packs the project again when it is edited.
    """
    project = tmp_path / "counter"
    config = project / "numbers.properties"
    config.write_text(f"name=numbers\nconnector.class=CounterConnector\ntopic={TOPIC}\n")
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": str(project / ".hearth" / "connect.offsets"),
        "plugin.path": str(plugin_path),
    }
    seen: list[int] = []
    with closing(_reader(broker)) as reader:
        command = [sys.executable, "-m", "hearth", "run", str(project), "--config", str(config)]
        with subprocess.Popen([*command, "--bootstrap-servers", broker.bootstrap_servers]) as run:
            while len(seen) < 5:
                seen += _read(reader)
            code = project / "src" / "counter.py"
            code.write_text(code.read_text().replace("value=n)", "value=-n)"))
            while len(seen) < 10 or seen[-1] > 0:
                seen += _read(reader)
            run.send_signal(signal.SIGINT)
        assert run.returncode == 0
        edited = len(seen)
        with _host(tmp_path, settings) as host:
            body = {"name": "numbers", "config": {"connector.class": "CounterConnector", "topic": TOPIC}}
            host.request("POST", "/connectors", body)
            while seen[-1] < 0 or len(seen) < edited + 5:
                seen += _read(reader)
    assert [abs(each) for each in seen] == list(range(1, len(seen) + 1))
    first, second = ([each < 0 for each in seen].index(value, begin) for value, begin in ((True, 0), (False, edited)))
    assert all(each < 0 for each in seen[first:second])


@contextmanager
def _host(folder: Path, settings: dict[str, str]) -> Iterator[LocalHost]:
    host = LocalHost(folder, reserve_port(), settings)
    try:
        host.start()
        yield host
    finally:
        host.stop()


def _reader(broker: KafkaBroker) -> confluent_kafka.Consumer:
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": "readme",
            "auto.offset.reset": "earliest",
            "topic.metadata.refresh.interval.ms": "500",
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def _read(consumer: confluent_kafka.Consumer) -> list[int]:
    message = consumer.poll(1.0)
    return [int(message.value())] if message is not None and not message.error() else []
