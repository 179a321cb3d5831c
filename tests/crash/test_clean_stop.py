"""SIGTERM: the host drains."""

from __future__ import annotations

import pytest

from tests.crash.pipeline import Pipeline, pass_time
from tests.profile import crashes


@pytest.mark.slow
def test_a_stop_in_order_repeats_nothing(pipeline: Pipeline) -> None:
    """Invariant 8: stop drains. Stopped and started in the middle of the flow, every line arrives exactly once."""
    pipeline.start()
    with pipeline.ledger.flowing():
        for _ in range(crashes()):
            pass_time(1.0)
            pipeline.stop()
            pipeline.start()
    pipeline.ledger.prove(60)
    pipeline.stop()
    pipeline.ledger.prove_exactly_once()
    print(pipeline.ledger)
