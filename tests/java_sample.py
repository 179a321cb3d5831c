"""Java plugins of tests, compiled against Kafka's classes."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hearth.isolation.java_stage import stage_directory

QUICKLY = ("-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC")
"""Options with which the compiler takes half the CPU time."""


def compile_sample(sources: Path, classes: Path) -> Path:
    """Compile all sources in a folder and return the directory of the stage; skips without a compiler."""
    javac = shutil.which("javac")
    if javac is None:
        pytest.skip("there is no javac to compile the sample's plugins")
    stage = stage_directory()
    files = [str(each) for each in sources.rglob("*.java")]
    subprocess.run([javac, *QUICKLY, "--release", "17", "-cp", f"{stage}/*", "-d", classes, *files], check=True)
    return stage
