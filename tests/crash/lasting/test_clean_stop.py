"""SIGTERM to the host, or to all its processes at once as a service manager sends it: the host drains."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from tests.crash.pipeline import Pipeline, pass_time
from tests.profile import crashes
from tests.timeouts import TIMEOUT, eventually


@pytest.mark.slow
def test_a_stop_in_order_repeats_nothing(pipeline: Pipeline) -> None:
    """Invariant 8: stop drains. After a restart in the middle of the flow, every line arrives exactly once."""
    with pipeline.ledger.flowing():
        for _ in range(crashes()):
            pass_time(1.0)
            pipeline.stop()
            pipeline.start()
    pipeline.ledger.prove_exactly_once()
    print(pipeline.ledger)


@pytest.mark.slow
def test_a_signal_to_every_process_of_a_host_repeats_nothing(pipeline: Pipeline) -> None:
    """Invariant 8: stop drains. JVM, Python daemon, workers and stages live as long as the host needs them."""
    with pipeline.ledger.flowing():
        for _ in range(crashes()):
            pass_time(1.0)
            for process in pipeline.seen():
                with contextlib.suppress(ProcessLookupError):  # a process that was about to end
                    os.kill(process.pid, signal.SIGTERM)
            assert eventually(lambda: not pipeline.host.is_running, TIMEOUT), pipeline.host.last_words()
            words = pipeline.host.last_words()
            pipeline.stop()
            for trace in ("Traceback", "Exception", " ERROR "):
                assert trace not in words, words
            pipeline.start()
    pipeline.ledger.prove_exactly_once()
    print(pipeline.ledger)
