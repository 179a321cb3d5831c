"""A Spark that does not start, or whose Python workers do not: an error instead of endless retries."""

from __future__ import annotations

from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.peer.hearth_connect import HearthConnect
from tests.timeouts import TIMEOUT, eventually


@pytest.mark.slow
def test_a_task_that_no_python_worker_can_run_fails_with_the_reason(tmp_path: Path, broker: KafkaBroker) -> None:
    """As on a cluster whose machines lack Hearth: ten failed launches in a row suffice."""
    settings = {"spark.python.daemon.module": "no_such_daemon"}
    source = {"connector.class": "FileStreamSource", "file": str(tmp_path / "in.txt"), "topic": "no-worker"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        assert host.rest.create({"name": "source", **source}).status == 201
        host.wait_for_state("source", "FAILED", 90)
        trace = host.rest.status("source")["tasks"][0]["trace"]
    assert "lost 11 times in a row" in trace
    assert "no_such_daemon" in trace
    assert "at org.apache.spark" not in trace


@pytest.mark.slow
def test_a_host_whose_spark_does_not_start_exits_with_the_reason(tmp_path: Path, broker: KafkaBroker) -> None:
    """The host gets the reason from the JVM before it ends it."""
    settings = {"spark.scheduler.mode": "no-such-mode"}
    with HearthConnect(tmp_path, broker.bootstrap_servers, settings) as host:
        assert eventually(lambda: not host.is_running, TIMEOUT)
        output = host.last_words()
    assert "error: Spark did not start: " in output
    assert "no-such-mode" in output.partition("error: Spark did not start: ")[2].splitlines()[0].lower()
    assert "Traceback" not in output
