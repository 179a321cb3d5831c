"""plugin.path is scanned repeatedly, whatever the result of a scan."""

from __future__ import annotations

import threading

import pytest

from hearth.herder.plugin.watch import PluginWatch
from tests.timeouts import TIMEOUT


def test_scanning_continues_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """The log has its traceback; later bundles are still found."""
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


def test_a_watch_that_never_started_can_be_closed() -> None:
    """As after a failed startup of the host."""
    PluginWatch(lambda: None).close()
