"""A port is given to one test process at a time."""

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


def test_port_is_free_and_never_one_of_an_outgoing_connection() -> None:
    """Ports for tests lie below the range that the kernel hands out, and apart, for what listens on a second one."""
    port = reserve_port()
    assert is_free(port)
    assert 20000 <= port < 32768
    assert port % 2 == 0


def _unreserved() -> int:
    """Return a port that nobody has reserved: not this process, nor another run of this test beside it."""
    port = reserve_port()
    reservation._reservations.pop().close()
    return port


def test_no_port_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in this process nor in another at the same time; what a process had is free when it has ended."""
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
