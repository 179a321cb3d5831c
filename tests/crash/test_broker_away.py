"""The broker goes away while records flow, and comes back."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from hearth.broker import KafkaBroker
from tests.crash.pipeline import Pipeline, pass_time
from tests.peer.topic import Topics


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.long)])
def test_a_broker_that_comes_back_finds_every_line(tmp_path: Path, own_broker: KafkaBroker, seconds: int) -> None:
    """Tasks neither fail nor lose anything while their broker is dead, and commit again when it is back."""
    with closing(Pipeline(tmp_path, Topics(own_broker.bootstrap_servers))) as pipeline:
        pipeline.start()
        with pipeline.ledger.flowing():
            pass_time(1.0)
            own_broker.kill()
            pass_time(seconds)
            own_broker.start()
            back = pipeline.await_new_line()
        print(f"lines flow {back:.2f} s after a broker is back that was away for {seconds} s")
        for config in pipeline.connectors():
            assert pipeline.host.rest.states(config["name"]) == ["RUNNING", "RUNNING"]
        pipeline.ledger.prove()
        pipeline.stop()
        pipeline.ledger.prove_all_committed()
        print(pipeline.ledger)
