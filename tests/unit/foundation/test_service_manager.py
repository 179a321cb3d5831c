"""What systemd hears of a host."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from hearth.foundation.service_manager import announced, notify


@pytest.fixture(params=["file", "abstract"])
def manager(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    """Provide the service manager's socket."""
    name = str(tmp_path / "notify") if request.param == "file" else f"@{tmp_path}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as found:
        found.bind(name if request.param == "file" else "\0" + name[1:])
        found.settimeout(5)
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield found


def test_a_host_is_ready_and_stops(manager: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a watchdog nothing else is sent, and an error does not hide the end."""
    monkeypatch.delenv("WATCHDOG_USEC", raising=False)
    with contextlib.suppress(ZeroDivisionError), announced(lambda: True):
        raise ZeroDivisionError
    assert [manager.recv(100) for _ in range(2)] == [b"READY=1", b"STOPPING=1"]


def test_the_watchdog_hears_a_host_while_it_works(manager: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that hangs is silent."""
    monkeypatch.setenv("WATCHDOG_USEC", "40000")
    answers = iter([True, True])
    with announced(lambda: next(answers, False)):
        assert [manager.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        manager.settimeout(0.2)
        with pytest.raises(TimeoutError):
            manager.recv(100)
    manager.settimeout(5)
    assert manager.recv(100) == b"STOPPING=1"


def test_without_a_manager_nothing_happens(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Neither where there is none nor where it has gone."""
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    notify("READY=1")
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    notify("READY=1")
