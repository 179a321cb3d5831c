"""SIGKILL of the host while records flow."""

from __future__ import annotations

import random

import pytest

from tests.crash.pipeline import Pipeline, pass_time
from tests.profile import crashes

MOST_SECONDS_TO_FLOW = 42.0
"""The benchmark (case h) measures it; here a host only must not wait until a session of 45 s expires."""


@pytest.mark.slow
def test_a_killed_host_loses_nothing_and_resumes_quickly(pipeline: Pipeline, chance: random.Random) -> None:
    """Invariant 8: kill loses nothing. After kills at random moments the next host continues from the last commit."""
    for number in range(crashes()):
        with pipeline.ledger.flowing():
            pass_time(chance.uniform(0.3, 3.0))
            pipeline.kill()
            seconds = pipeline.start()
        print(f"round {number}: lines flow {seconds:.2f} s after the start of a host whose predecessor was killed")
        assert seconds < MOST_SECONDS_TO_FLOW
    pipeline.ledger.prove()
    print(pipeline.ledger)
