"""The operations of the protocol: each family is imported on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import hearth_stage
from hearth_stage.call import operations
from hearth_stage.operation import FROM_STAGE, TO_STAGE, Hello, StageOperations


@pytest.mark.parametrize("side", ["TO_STAGE", "FROM_STAGE"])
def test_operation_is_found_by_name(side: str) -> None:
    """In any order of use; an unknown name is not found, in a known family or not."""
    every = StageOperations(side, operations()).all()
    assert every
    for op, kind in every.items():
        assert StageOperations(side, operations())[op] is kind
    for op in ("policy.nothing", "nothing", "source", ""):
        with pytest.raises(KeyError):
            StageOperations(side, operations())[op]


def test_sides_share_no_operation() -> None:
    """Otherwise a side would be asked to answer its own question."""
    assert not TO_STAGE.all().keys() & FROM_STAGE.all().keys()
    assert FROM_STAGE["hello"] is Hello


def test_host_imports_no_task_operations() -> None:
    """It handles their offsets and logs, but neither puts nor polls; each module costs memory."""
    path = str(Path(hearth_stage.__file__).parent.parent)
    program = "import sys; import hearth.cli.host; from hearth_stage.operation import FROM_STAGE; "
    program += "FROM_STAGE['offsets.read'], FROM_STAGE['raise_error']; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True, cwd=path).split()
    assert "hearth_stage.connector_call" in loaded
    families = ("task", "transformation", "conversion", "extension", "policy")
    assert not {f"hearth_stage.{family}_call" for family in families} & set(loaded)
