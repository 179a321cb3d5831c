"""Connectors of one host with index packages that conflict: each has its own versions."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from hearth.cli.main import run
from tests.bundles import build
from tests.integration.conftest import Host
from tests.peer.topic import Record, Topics
from tests.timeouts import TIMEOUT, eventually

ENVIRONS, DATACLASSES_JSON = "environs==15.2.0", "dataclasses-json==0.6.7"
"""The newer version requires marshmallow 4, which the other package does not support."""
LANCE = "pylance==0.10.18"
"""It requires a pyarrow before 15.0.1; the host, like Spark, has a newer one."""
ORDERS = [{"orderId": number, "unitPrice": number / 2} for number in range(3)]


def pip(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pip with its configured index, for wheels only."""
    command = [sys.executable, "-m", "pip", *arguments, "--only-binary", ":all:"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Wrapped:
    """An index package in a project that `hearth bundle new` created and a user has changed."""

    def __init__(self, folder: Path, name: str, kind: str, package: str) -> None:
        module = name.replace("-", "_")
        self.project, self.wheels = folder / name, folder / f"{name}-wheels"
        self.bundle = folder / "bundles" / f"{module}-0.1.0.zip"
        self._lock = build.SOURCES / "real" / f"{module}.txt"
        self.class_name = f"org.example.real.{name.title().replace('-', '')}Connector"
        assert run(["bundle", "new", str(self.project), "--type", kind, "--package", "org.example.real"]) == 0
        plugin = build.SOURCES / "real" / f"{module}.py"
        (self.project / "src" / module / f"{kind}.py").write_bytes(plugin.read_bytes())
        settings = self.project / "pyproject.toml"
        text = settings.read_text().replace("dependencies = [", f'dependencies = [\n    "{package}",')
        settings.write_text(text)

    def declare(self, group: str, name: str, reference: str) -> None:
        """Declare one more plugin of the project."""
        with (self.project / "pyproject.toml").open("a") as settings:
            settings.write(f'\n[project.entry-points."{group}"]\n"{name}" = "{reference}"\n')

    def install(self, folder: Path) -> None:
        """Fetch the locked wheels by their hashes, and install the bundle from these alone."""
        fetched = pip("download", "-q", "--require-hashes", "--no-deps", "-r", str(self._lock), "-d", str(self.wheels))
        assert fetched.returncode == 0, fetched.stderr
        links = ["--find-links", str(self.wheels), "--offline"]
        assert run(["bundle", "pack", str(self.project), "-o", str(self.bundle.parent), *links]) == 0
        assert run(["bundle", "install", str(self.bundle), "--plugin-path", str(folder)]) == 0


Install = Callable[[Wrapped], None]


@pytest.fixture
def install(host: Host) -> Iterator[Install]:
    """Provide a function that installs bundles on the plugin.path of the running host."""
    installed: list[str] = []

    def install(wrapped: Wrapped) -> None:
        wrapped.install(host.plugins)
        installed.append(wrapped.project.name)
        assert eventually(lambda: wrapped.class_name in host.rest.call("GET", "/connector-plugins").text, TIMEOUT)

    yield install
    for name in installed:
        assert run(["bundle", "remove", name, "--plugin-path", str(host.plugins)]) == 0


def test_pip_cannot_install_the_two_packages_together() -> None:
    """No single environment can hold both, which is why they are the test case."""
    refused = pip("install", "--dry-run", "--ignore-installed", ENVIRONS, DATACLASSES_JSON)
    assert refused.returncode == 1
    assert "ResolutionImpossible" in refused.stderr


def test_conflicting_packages_work_in_one_pipeline_and_two_connectors(
    host: Host, install: Install, name: str, tmp_path: Path
) -> None:
    """Each record carries the versions it met: environs with its marshmallow, dataclasses-json with another, twice."""
    install(Wrapped(tmp_path, "dotenv-source", "source", ENVIRONS))
    orders = Wrapped(tmp_path, "order-sink", "sink", DATACLASSES_JSON)
    orders.declare("hearth.transformations", "org.example.real.ReadOrder", "order_sink.sink:ReadOrder")
    install(orders)
    variables, written = tmp_path / ".env", tmp_path / "orders.jsonl"
    names = [f"ORDER_{order['orderId']}" for order in ORDERS]
    lines = [f"{each}='{json.dumps(order)}'\n" for each, order in zip(names, ORDERS, strict=True)]
    variables.write_text("".join(lines))
    source = {"connector.class": "DotenvSource", "topic": name, "file": str(variables), "names": ",".join(names)}
    reading = {"transforms": "read", "transforms.read.type": "ReadOrder"}
    host.run({"name": f"{name}-source", **source, **reading})
    host.run({"name": f"{name}-sink", "connector.class": "OrderSink", "topics": name, "file": str(written)})
    assert eventually(lambda: written.exists() and written.read_text().count("\n") == len(ORDERS), TIMEOUT)
    statuses = [host.rest.status(f"{name}-{each}") for each in ("source", "sink")]
    assert [each["tasks"][0]["state"] for each in statuses] == ["RUNNING"] * 2
    assert [each["tasks"][0]["version"] for each in statuses] == ["15.2.0", "0.6.7"]
    assert len({each["tasks"][0]["worker_id"] for each in statuses}) == 1
    found = [json.loads(line) for line in written.read_text().splitlines()]
    assert [each["id"] for each in found] == [order["orderId"] for order in ORDERS]
    for each in found:
        (environs, newer), (dataclasses_json, older) = each["headers"][:2], each["headers"][2:]
        assert (environs, dataclasses_json) == (["environs", "15.2.0"], ["dataclasses-json", "0.6.7"])
        assert (newer[0], newer[1][:2], older, each["marshmallow"]) == (
            "marshmallow", "4.", ["marshmallow", "3.26.2"], "3.26.2"
        )  # fmt: skip


@pytest.mark.long  # 80 MB come from the index, and 400 MB are on the disk
@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there are no wheels of this pyarrow for a newer Python")
def test_a_package_with_an_older_arrow_receives_columns(
    host: Host, install: Install, topics: Topics, name: str, tmp_path: Path
) -> None:
    """Its stage has the Arrow version that it requires; the host and Spark have theirs, and they exchange columns."""
    install(Wrapped(tmp_path, "lance-sink", "sink", LANCE))
    dataset, journal = tmp_path / "numbers.lance", tmp_path / "journal.json"
    topics.create(name)
    topics.produce(name, [Record(None, b"number %d" % number) for number in range(1000)])
    to = {"dataset": str(dataset), "journal": str(journal)}
    host.run({"name": f"{name}-sink", "connector.class": "LanceSink", "topics": name, **to})
    wanted = [f"number {number}" for number in range(1000)]
    assert eventually(lambda: journal.exists() and wanted[-1] in journal.read_text(), TIMEOUT)
    found = json.loads(journal.read_text())
    assert found["values"] == wanted
    assert (found["lance"], found["pyarrow"]) == ("0.10.18", "15.0.0")
    assert int(version("pyarrow").split(".")[0]) > 15
