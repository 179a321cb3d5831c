"""Runs drawn pipelines on Java's Kafka Connect 4.3.1: its own classes, in a separate process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from hearth.foundation.java import find_java
from tests.peer.java_connect import connect_jars

PROGRAM = Path(__file__).parents[2] / "unit" / "plugins" / "Pipelines.java"
LEAST_JAVA = 22
"""The first Java that runs a program of two source files, and prints floats without superfluous digits."""


def answers(drawn: Iterable[Any]) -> list[list[dict[str, Any]]]:
    """Return the outcomes of each pipeline's records, as ``Pipelines.java`` prints them."""
    java = find_java(minimum=LEAST_JAVA).executable
    jars = ":".join(map(str, connect_jars()))
    command = [str(java), "-Duser.timezone=UTC", "-Duser.language=en", "-cp", jars, str(PROGRAM)]
    lines = "".join(json.dumps(each) + "\n" for each in drawn)
    with TemporaryFile() as errors:
        ended = subprocess.run(
            command, input=lines, stdout=subprocess.PIPE, stderr=errors, encoding="utf-8", check=False
        )
        errors.seek(0)
        assert ended.returncode == 0, errors.read().decode(errors="replace")[-5000:]
    return [json.loads(line) for line in ended.stdout.rstrip("\n").split("\n")]
