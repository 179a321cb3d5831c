"""The operations of the protocol: those that every stage serves, and those about plugins of the worker."""

from __future__ import annotations

import pytest

from hearth_stage.call import Operations
from hearth_stage.operation import FROM_STAGE, TO_STAGE, is_of_worker


@pytest.mark.parametrize("known", [TO_STAGE, FROM_STAGE], ids=["to", "from"])
def test_their_operations_are_found_among_the_others(known: Operations) -> None:
    """By name, and when all are listed."""
    assert {is_of_worker(op) for op in known} == {True, False}
    assert all(known[op].op == op for op in known)
    assert known.get("policy.nothing") is None
