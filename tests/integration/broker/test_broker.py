"""The real broker starts, ends in every way, and keeps its data."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from hearth.broker.broker import broker_jars
from hearth.broker.process import BrokerUnavailable
from hearth.foundation.class_archive import ClassArchive
from hearth.foundation.java import find_java
from hearth.foundation.port import LOOPBACK, PortTaken, next_free
from hearth_api import ConflictError
from tests.peer.topic import Record, Topics
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

pytestmark = pytest.mark.slow
_ROOT = Path(__file__).resolve().parents[3]
_OWNER = """
import sys, time
from hearth.broker import KafkaBroker
broker = KafkaBroker(sys.argv[1], int(sys.argv[2])).start()
print(broker.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """Provide a broker that a test may damage."""
    broker = KafkaBroker(tmp_path / "broker", reserve_port())
    try:
        yield broker.start()
    finally:
        broker.stop()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_records_survive_a_kill_and_a_stop(own_broker: KafkaBroker) -> None:
    """After SIGKILL, and after a stop, the broker serves the same records on the same port."""
    port = own_broker.port
    Topics(own_broker.bootstrap_servers).create("kept")
    Topics(own_broker.bootstrap_servers).produce("kept", [Record(b"k", b"v")])
    for end in (own_broker.kill, own_broker.stop):
        end()
        assert not own_broker.is_running
        own_broker.start()
        assert own_broker.port == port
        assert Topics(own_broker.bootstrap_servers).read("kept") == [Record(b"k", b"v")]


def test_start_of_a_running_broker_does_nothing(broker: KafkaBroker) -> None:
    """A second start keeps the one broker."""
    pid = broker.pid
    assert broker.start().pid == pid


def test_a_broker_uses_its_class_data_archive(broker: KafkaBroker) -> None:
    """A JVM ignores an archive made for another class path without a message."""
    archive = ClassArchive(find_java().executable, broker_jars()).path  # made by the set-up
    assert str(archive) in Path(f"/proc/{broker.pid}/maps").read_text()


def test_explicit_port_that_is_taken_is_an_error(broker: KafkaBroker, tmp_path: Path) -> None:
    """A port set explicitly is used, or an error names it."""
    with pytest.raises(PortTaken, match=f"port {broker.port} is taken"):
        KafkaBroker(tmp_path / "other", broker.port).start()


def test_a_controller_port_taken_meanwhile_is_chosen_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was chosen automatically and was free then; the explicit port stays."""
    with socket.create_server((LOOPBACK, 0)) as other_server:
        taken = iter([other_server.getsockname()[1]])
        monkeypatch.setattr("hearth.broker.broker.next_free", lambda port: next(taken, None) or next_free(port))
        with KafkaBroker(tmp_path / "broker", port := reserve_port()) as broker:
            assert broker.port == port
            assert broker.is_running


def test_a_port_taken_meanwhile_is_not_replaced_by_the_controllers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next free port may be the one chosen for the controller before."""
    with socket.create_server((LOOPBACK, 0)) as other_server:
        other = reserve_port()
        chosen = iter([other_server.getsockname()[1], other, other])
        for module in ("java_server", "broker"):  # the first chooses the port, the second the controller's
            monkeypatch.setattr(
                f"hearth.broker.{module}.next_free", lambda port: next(chosen, None) or next_free(port)
            )
        with KafkaBroker(tmp_path / "broker") as broker:
            assert broker.port == other


def test_the_directory_of_a_running_broker_is_refused(broker: KafkaBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two brokers never write to one directory."""
    monkeypatch.setattr("hearth.broker.data_directory._LOCK_TIMEOUT", 0.2)
    with pytest.raises(ConflictError, match=f"another broker uses {broker.folder}"):
        KafkaBroker(broker.folder, reserve_port()).start()
    assert broker.is_running


def test_invalid_settings_show_the_brokers_output(tmp_path: Path) -> None:
    """A broker that ends immediately raises an error with its own output, and leaves no process."""
    broker = KafkaBroker(tmp_path / "broker", reserve_port(), settings={"num.io.threads": "many"})
    with pytest.raises(BrokerUnavailable, match=r"num\.io\.threads"):
        broker.start()
    assert not broker.is_running


def test_broker_dies_with_its_owner(tmp_path: Path) -> None:
    """When the process that started the broker is killed, the broker ends as well."""
    command = [sys.executable, "-c", _OWNER, str(tmp_path / "broker"), str(reserve_port())]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "host")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert _is_alive(pid)
        owner.send_signal(signal.SIGKILL)
    assert eventually(lambda: not _is_alive(pid), TIMEOUT)


def test_log_and_output_stay_small(broker: KafkaBroker) -> None:
    """Its logging configuration bounds the broker's own files."""
    configuration = (broker.folder / "broker.logging").read_text()
    assert "FileHandler.limit=5000000" in configuration
    assert "FileHandler.count=2" in configuration
    assert broker.log.stat().st_size > 0
    assert (broker.folder / "broker.out").stat().st_size < 10_000
