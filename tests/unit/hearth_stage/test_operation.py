"""The operations of the protocol: those that every stage serves, and those about plugins of the worker."""

from __future__ import annotations

import pytest

from hearth_stage import worker_operation
from hearth_stage.call import Operations
from hearth_stage.operation import FROM_STAGE, TO_STAGE, WithWorkers


@pytest.mark.parametrize(
    ("known", "late"),
    [(TO_STAGE, worker_operation.TO_STAGE), (FROM_STAGE, worker_operation.FROM_STAGE)],
    ids=["to", "from"],
)
def test_those_of_the_worker_are_found_like_the_others(known: WithWorkers, late: Operations) -> None:
    """By name, and when all are listed."""
    assert not known.keys() & late.keys()
    assert all(known[op] is kind for op, kind in late.items())
    assert known.all() == {**known, **late}
    for op in ("policy.nothing", "nothing"):
        with pytest.raises(KeyError):
            known[op]
