"""A leading host is cut off from the network: another takes over, and the first one's actions have no effect."""

from __future__ import annotations

import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.machine import HERE, THERE, Machine, other_machine
from tests.integration.numbered_lines import NumberedLines
from tests.peer.distributed import HearthDistributed
from tests.peer.rest import RestClient
from tests.reservation import reserve_port
from tests.timeouts import TIMEOUT, eventually

pytestmark = [pytest.mark.slow, pytest.mark.long]
STRING = "org.apache.kafka.connect.storage.StringConverter"
SETTINGS = {"key.converter": STRING, "value.converter": STRING, "offset.flush.interval.ms": "300"}
GROUP = "cut-off"


class FarRestClient(RestClient):
    """A client for an unreachable host, which is observed through the others and its log."""

    def is_up(self) -> bool:
        """Return whether the log says that the host has joined."""
        return True


class FarHost(HearthDistributed):
    """A host on the other machine."""

    def __init__(self, folder: Path, port: int, machine: Machine) -> None:
        super().__init__(folder, f"{HERE}:{port}", GROUP, SETTINGS)
        self.through = machine.through
        self._settings["listeners"] = f"http://{THERE}:{self.port}"
        self.rest = FarRestClient(self.port)

    def close(self) -> None:
        """Stop it."""
        self.stop()

    @property
    def address(self) -> str:
        """Return its worker id in statuses."""
        return f"{THERE}:{self.port}"

    def has_logged(self, text: str) -> bool:
        """Return whether a line of its log contains a text."""
        return text in self.last_words()


def test_a_leader_without_network_is_fenced(tmp_path: Path) -> None:
    """During a minute without network and after it, lines flow; the host comes back as a follower."""
    near, far, controller = (reserve_port() for _ in range(3))
    names = {"PLAINTEXT": f"127.0.0.1:{near}", "FAR": f"{HERE}:{far}"}
    advertised = ",".join(f"{name}://{address}" for name, address in names.items())
    settings = {
        "listeners": f"{advertised},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": advertised,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,FAR:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
    }
    with (
        other_machine() as machine,
        KafkaBroker(tmp_path / "broker", near, retention_bytes=256 << 20, settings=settings) as broker,
        ExitStack() as stack,
    ):
        first = stack.enter_context(closing(FarHost(tmp_path / "far", far, machine)))
        first.start()
        assert eventually(lambda: first.has_logged("this host leads its cluster"), TIMEOUT), first.last_words()
        second = HearthDistributed(tmp_path / "near", broker.bootstrap_servers, GROUP, SETTINGS)
        with second, NumberedLines(tmp_path, GROUP) as lines:
            for config in lines.configs():
                created = second.rest.create(config)
                assert created.status == 201, created.text
            assert lines.flows(), first.last_words()
            assert workers(second) == {first.address}
            lines.arrivals.forget_gaps()
            machine.carry(False)
            cut = time.monotonic()
            assert eventually(lambda: workers(second) == {f"127.0.0.1:{second.port}"}, TIMEOUT), second.last_words()
            assert lines.flows(), second.last_words()
            print(f"lines {time.monotonic() - cut:.1f} s after the cut, a gap of {lines.arrivals.longest_gap:.1f} s")
            assert eventually(lambda: first.has_logged("this host no longer leads"), TIMEOUT), first.last_words()
            time.sleep(60)
            machine.carry(True)
            assert eventually(lambda: workers(second) == {f"127.0.0.1:{second.port}"}, 1)
            time.sleep(10)
            assert workers(second) == {f"127.0.0.1:{second.port}"}, first.last_words()
            assert lines.is_complete(), second.last_words()
            assert lines.arrivals.faults == []
            print(f"{lines.arrivals.repeats} of {lines.written} lines came again")


def workers(host: HearthDistributed) -> set[str]:
    """Return the worker ids of all connectors and tasks."""
    found: set[str] = set()
    for name in (f"{GROUP}-source", f"{GROUP}-sink"):
        status = host.rest.status(name)
        parts = [status["connector"], *status["tasks"]]
        found |= {part["worker_id"] if part["state"] == "RUNNING" else part["state"] for part in parts}
    return found
