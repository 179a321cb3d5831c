"""Processes that plugins start, reach and signal, in a connector's process and in those of Spark's tasks."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.foundation.properties import render
from tests.crash.process import await_end, tree
from tests.peer.hearth_connect import file_bundle, hearth_environment
from tests.timeouts import eventually

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")]

SOURCE = '''
import multiprocessing, os, re, signal, subprocess, sys, time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from hearth_api import STRING_SCHEMA, SourceConnector, SourceRecord, SourceTask
from hearth_api import Settings, key


def host():
    pid = os.getppid()
    while pid:
        if b"standalone" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\\0"):
            return pid
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return 0


def tell(number):
    """Signal the host and live until it has looked up the sender: it obeys the signals of processes that are gone."""
    pid = host()
    os.kill(pid, number)
    while int(re.search("ShdPnd:(.*)", Path(f"/proc/{pid}/status").read_text())[1], 16) & 1 << number - 1:
        time.sleep(0.05)
    time.sleep(1)


if __name__ == "family" and host():
    tell(signal.SIGTERM)


class FamilyConfig(Settings):
    topic: str = key("topic", doc="Topic of the results.")


class Family(SourceConnector):
    def version(self): return "1"
    def config(self): return FamilyConfig.definition()
    def start(self, props): self.props = dict(props)
    def task_class(self): return FamilyTask
    def task_configs(self, max_tasks): return [self.props]
    def stop(self): pass


def square(number):
    import cousin
    return number * number


def child(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60).returncode


def pool(method):
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as executor:
        return executor.submit(square, 3).result(60)


def send_signal():
    if not host():
        return "unreachable"
    child("import family, signal; family.tell(signal.SIGINT)")
    return "signalled"


def daemon():
    return subprocess.run(["setsid", "-f", "sleep", "1000.51"]).returncode


CHECKS = {
    "fork": lambda: pool("fork"),
    "spawn": lambda: pool("spawn"),
    "forkserver": lambda: pool("forkserver"),
    "bundle": lambda: child("import family, cousin, hearth_api"),
    "host": lambda: child("import pyspark"),
    "signal": send_signal,
    "daemon": daemon,
}


class FamilyTask(SourceTask):
    def version(self): return "1"

    def start(self, props):
        self.topic, self.name, self.left = FamilyConfig(props).topic, props["name"], list(CHECKS)
        if host():
            tell(signal.SIGHUP)

    def poll(self):
        if not self.left:
            time.sleep(0.2)
            return None
        check = self.left.pop(0)
        try:
            said = CHECKS[check]()
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        text = f"{self.name} {check} {said}"
        return [SourceRecord({"of": self.name}, {"check": check}, self.topic, value_schema=STRING_SCHEMA, value=text)]

    def stop(self): pass
'''
EXPECTED = ("fork 9", "spawn 9", "forkserver 9", "bundle 0", "host 1", "signal {reach}", "daemon 0")


def bundle(folder: Path) -> Path:
    """Return a plugin.path with a bundle whose source starts processes of many kinds and reports on each."""
    bundle = folder / "plugins" / "family"
    information = bundle / "family-1.0.dist-info"
    information.mkdir(parents=True)
    (bundle / "family.py").write_text(SOURCE)
    (bundle / "cousin.py").touch()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: family\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[hearth.source_connectors]\norg.example.Family = family:Family\n")
    return bundle.parent


def test_child_processes_see_their_bundle_and_not_the_host(tmp_path: Path, broker: KafkaBroker) -> None:
    """Processes of all kinds find the bundle but not the host; none ends the host, and all end with it.

    With process isolation, a plugin does not see the host at all.
    """
    string = "org.apache.kafka.connect.storage.StringConverter"
    worker = {
        "bootstrap.servers": broker.bootstrap_servers,
        "key.converter": string,
        "value.converter": string,
        "offset.storage.file.filename": str(tmp_path / "offsets"),
        "listeners": "http://127.0.0.1:0",
        "plugin.path": f"{file_bundle()},{bundle(tmp_path)}",
    }
    sink = {"connector.class": "FileStreamSink", "file": str(tmp_path / "out.txt"), "topics": "family"}
    source = {"connector.class": "org.example.Family", "topic": "family"}
    files = {
        "worker": worker,
        "sink": {"name": "family-sink", **sink},
        "shared": {"name": "shared", **source},
        "own": {"name": "own", "plugin.processes": "own", **source},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.properties").write_text(render(content))
    expected = [f"shared {each}".format(reach="signalled") for each in EXPECTED]
    expected += [f"own {each}".format(reach="unreachable") for each in EXPECTED]
    out = tmp_path / "out.txt"
    command = [sys.executable, "-m", "hearth", "standalone", *(str(tmp_path / f"{name}.properties") for name in files)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=hearth_environment()
    ) as host:
        try:
            eventually(lambda: out.exists() and len(out.read_text().splitlines()) >= len(expected), 150)
            written = out.read_text().splitlines() if out.exists() else []
            everyone = tree(host.pid)
            host.send_signal(signal.SIGTERM)
            _, errors = host.communicate(timeout=60)
        finally:
            host.kill()
    assert sorted(written) == sorted(expected), errors
    assert host.returncode == 0, errors
    for number in ("SIGTERM", "SIGHUP", "SIGINT"):
        assert f"ignoring {number}: it was sent by process " in errors
    for stage in ("family", "shared-0 (process"):
        assert f" of the stage {stage}" in errors
    assert "Traceback" not in errors
    await_end(everyone)
    assert "sleep 1000.51" not in subprocess.check_output(["ps", "ax", "-o", "args"], text=True)
