"""plugin.path is looked at again and again, whatever a look comes to."""

from __future__ import annotations

import threading

import pytest

from hearth.herder.plugin.watch import PluginWatch
from tests.timeouts import TIMEOUT


def test_a_look_that_fails_is_not_the_last(caplog: pytest.LogCaptureFixture) -> None:
    """The log has its trace; what comes to plugin.path later is seen all the same."""
    third = threading.Event()
    looks: list[int] = []

    def look() -> None:
        looks.append(len(looks))
        if len(looks) == 1:
            raise OSError("the disk is away")
        if len(looks) == 3:
            third.set()

    watch = PluginWatch(look, seconds=0.001)
    watch.start()
    assert third.wait(TIMEOUT)
    watch.close()
    count = len(looks)
    assert "the disk is away" in caplog.text
    assert not threading.Event().wait(0.02)
    assert len(looks) == count


def test_a_watch_that_never_began_can_be_closed() -> None:
    """As a host does whose start fails."""
    PluginWatch(lambda: None).close()
