"""Worker plugins are handled by modules that only their stages import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import hearth_stage

LATE = ("hearth_api.worker", "hearth_stage.policy_call", "hearth_stage.worker_plugin")


def test_stage_without_worker_plugins_imports_none_of_their_modules() -> None:
    """There are two stages per connector, and each module costs memory in all of them."""
    path = str(Path(hearth_stage.__file__).parent.parent)
    program = f"import sys; sys.path[0:0] = [{path!r}]; import hearth_stage.program; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-I", "-S", "-c", program], text=True).split()
    assert "hearth_stage.task_call" in loaded
    assert not set(LATE) & set(loaded)
