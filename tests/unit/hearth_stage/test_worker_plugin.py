"""Plugins of the worker in a stage are served by what only their stages load."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hearth_stage

LATE = ("hearth_api.worker", "hearth_stage.policy_call", "hearth_stage.worker_plugin")


def test_a_stage_that_serves_none_loads_nothing_of_them() -> None:
    """There are two stages for each connector, and each module is a part of the memory of all of them."""
    path = str(Path(hearth_stage.__file__).parent.parent)
    program = f"import sys; sys.path[0:0] = [{path!r}]; import hearth_stage.program; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True).split()
    assert "hearth_stage.task_call" in loaded
    assert not set(LATE) & set(loaded)
