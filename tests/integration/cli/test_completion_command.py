"""`hearth completion`: the scripts, and what they complete."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.integration.cli.conftest import Cli
from tests.integration.conftest import Host
from tests.peer.hearth_connect import hearth_environment


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(program: Cli, shell: str) -> None:
    """Which asks this program."""
    script = program("completion", shell)
    assert script.code == 0
    assert "_HEARTH_COMPLETE" in script.out


def completed(words: str, **environment: str) -> list[str]:
    """Return what bash's script is answered for the last of some words."""
    variables = {"_HEARTH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    program = "import sys; sys.argv = ['hearth']; from hearth.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **hearth_environment(), **variables, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_commands_options_and_names_are_completed(host: Host, pair: tuple[str, str], name: str) -> None:
    """Names are those of the worker; one that does not answer adds nothing."""
    assert sorted(completed("hearth con")) == ["connectors", "consume", "context", "convert"]
    assert completed("hearth connectors re") == ["restart", "resume"]
    assert "--context" in completed("hearth status --c")
    url = f"http://127.0.0.1:{host.port}"
    assert completed(f"hearth status {name}-", HEARTH_URL=url) == list(pair)
    assert completed(f"hearth status {name}-", HEARTH_URL="http://127.0.0.1:9") == []
