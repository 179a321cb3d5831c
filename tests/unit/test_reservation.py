"""A port is reserved by one test process at a time."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from hearth.foundation.port import is_free
from tests import reservation
from tests.reservation import reserve_port

_ROOT = Path(__file__).resolve().parents[2]


def test_a_port_is_free_and_not_ephemeral() -> None:
    """Ports for tests are below the kernel's ephemeral range, with gaps for a server's second port."""
    port = reserve_port()
    assert is_free(port)
    assert 20000 <= port < 32768
    assert port % 2 == 0


def _unreserved() -> int:
    """Return a port that no process has reserved: neither this one nor another run of this test."""
    port = reserve_port()
    reservation._reservations.pop().close()
    return port


def test_a_port_is_reserved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in this process nor in a concurrent one; a process's ports are free after its end."""
    first, second = reserve_port(), reserve_port()
    other, another = _unreserved(), _unreserved()
    monkeypatch.setattr(reservation, "_PORTS", [first, second, other])
    monkeypatch.setattr(reservation, "_chance", random)
    assert reserve_port() == other
    code = (
        f"from tests import reservation; reservation._PORTS = [{first}, {another}]; print(reservation.reserve_port())"
    )
    for _ in range(2):
        child = subprocess.run(
            [sys.executable, "-c", code],
            cwd=_ROOT,
            env={"PYTHONPATH": f"{_ROOT}:{_ROOT / 'host'}"},
            capture_output=True,
            text=True,
            check=True,
        )
        assert child.stdout == f"{another}\n"
