"""The operations of the protocol: each family is loaded when one of it is asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hearth_stage
from hearth_stage.call import operations
from hearth_stage.operation import FROM_STAGE, TO_STAGE, Hello, StageOperations


@pytest.mark.parametrize("side", ["TO_STAGE", "FROM_STAGE"])
def test_each_is_found_by_its_name_alone(side: str) -> None:
    """Whatever was asked for before; what nobody knows is nothing, of a known family or of none."""
    every = StageOperations(side, operations()).all()
    assert every
    for op, kind in every.items():
        assert StageOperations(side, operations())[op] is kind
    for op in ("policy.nothing", "nothing", "source", ""):
        with pytest.raises(KeyError):
            StageOperations(side, operations())[op]


def test_no_side_says_what_the_other_does() -> None:
    """Else an answer would be asked of who waits for it."""
    assert not TO_STAGE.all().keys() & FROM_STAGE.all().keys()
    assert FROM_STAGE["hello"] is Hello


def test_a_host_loads_nothing_of_tasks() -> None:
    """It is told of their offsets and logs, and neither puts nor polls; each module is a part of its memory."""
    path = str(Path(hearth_stage.__file__).parent.parent)
    program = "import sys; import hearth.cli.host; from hearth_stage.operation import FROM_STAGE; "
    program += "FROM_STAGE['offsets.read'], FROM_STAGE['raise_error']; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=path).split()
    assert "hearth_stage.connector_call" in loaded
    families = ("task", "transformation", "conversion", "extension", "policy")
    assert not {f"hearth_stage.{family}_call" for family in families} & set(loaded)
