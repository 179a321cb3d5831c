"""The connector of the README works as printed: run while it is edited, packed, installed, run again."""

from __future__ import annotations

import json
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
from tests.page import README, commands, file, request
from tests.reservation import reserve_port

TOPIC = "counted-numbers"


@pytest.fixture
def plugin_path(tmp_path: Path) -> Path:
    """Write the project from the README, and run the README's commands."""
    for name in ("counter/src/counter.py", "counter/pyproject.toml"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file(name))
    folder = tmp_path / "plugin_path"
    folder.mkdir()
    hearth = [sys.executable, "-m", "hearth", "bundle"]
    subprocess.run([*hearth, "pack", str(tmp_path / "counter"), "--output", str(folder)], check=True)
    subprocess.run([*hearth, "verify", *map(str, folder.iterdir())], check=True)
    return folder


def test_readme_connector_continues_after_an_edit_and_on_another_host(
    tmp_path: Path, plugin_path: Path, broker: KafkaBroker
) -> None:
    """Numbers arrive from 1 on without a gap; negative ones after the edit and on the next host.

    The first host is that of `hearth run`, which packs the project again when it is edited.
    """
    project = tmp_path / "counter"
    config = project / "numbers.properties"
    config.write_text(file("numbers.properties").replace("topic=numbers", f"topic={TOPIC}"))
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
        command += ["--bootstrap-servers", broker.bootstrap_servers]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            while len(seen) < 5:
                seen += _read(reader)
            code = project / "src" / "counter.py"
            code.write_text(code.read_text().replace("value=n)", "value=-n)"))
            while len(seen) < 10 or seen[-1] > 0:
                seen += _read(reader)
            run.send_signal(signal.SIGINT)
            output, _ = run.communicate()
        assert run.returncode == 0
        assert re.search(rf"^{TOPIC}: \d+$", output, re.MULTILINE), output
        edited = len(seen)
        with _host(tmp_path, settings) as host:
            (sent,) = (request(line) for line in commands(README) if "CounterConnector" in line)
            body = json.loads(sent.body or "")
            host.request(sent.method, sent.target, {**body, "config": {**body["config"], "topic": TOPIC}})
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
