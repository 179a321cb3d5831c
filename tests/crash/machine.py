"""A second machine, simulated by a network namespace, and the link to it, which can be cut."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_NETWORK = f"10.213.{os.getpid() % 256}"  # another test run has another number
HERE, THERE = f"{_NETWORK}.1", f"{_NETWORK}.2"


class Machine:
    """A network namespace and the link between it and this machine."""

    def __init__(self, name: str) -> None:
        self.name, self._near, self._far = name, f"{name}-a", f"{name}-b"

    @property
    def through(self) -> list[str]:
        """Return the command that runs another command there."""
        return ["ip", "netns", "exec", self.name]

    def __enter__(self) -> Machine:
        ip("netns", "add", self.name)
        ip("link", "add", self._near, "type", "veth", "peer", "name", self._far, "netns", self.name)
        ip("addr", "add", f"{HERE}/24", "dev", self._near)
        ip("-n", self.name, "addr", "add", f"{THERE}/24", "dev", self._far)
        ip("-n", self.name, "link", "set", "lo", "up")
        ip("-n", self.name, "link", "set", self._far, "up")
        self.carry(True)
        return self

    def carry(self, carries: bool) -> None:
        """Let the link carry everything or nothing."""
        ip("link", "set", self._near, "up" if carries else "down")

    def __exit__(self, *_error: object) -> None:
        ip("link", "del", self._near)
        ip("netns", "del", self.name)


def ip(*arguments: str) -> None:
    """Run `ip`."""
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


@contextmanager
def other_machine() -> Iterator[Machine]:
    """Provide a machine; skip the test if the user may not create one."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("a network namespace requires root and iproute2")
    with Machine(f"h{os.getpid()}") as made:
        yield made
