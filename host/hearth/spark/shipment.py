"""Environments on their way to executors that do not share the host's disk.

Each environment travels once, as a Spark archive; Spark unpacks it into the executor's directory under the name of its
key, with one numbered directory for each of its paths.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from hearth.isolation.environment import Environment


def ship(context: Any, environment: Environment) -> None:
    """Add an environment to a Spark application; executors fetch it before their next task."""
    with tempfile.TemporaryDirectory(prefix="hearth-ship-") as folder:
        content = Path(folder, "content")
        for index, path in enumerate(environment.paths):
            shutil.copytree(path, content / str(index), symlinks=False)
        # executors fetch it as long as the application runs, whose own folder goes when that ends
        archive = shutil.make_archive(str(Path(context._temp_dir, environment.key)), "zip", content)
    context.addArchive(f"{archive}#{environment.key}")


def unpacked(environment: Environment) -> Environment:
    """Return the environment as it is found on this machine: in place where the disk is shared, else unpacked."""
    if all(Path(path).is_dir() for path in environment.paths):
        return environment
    from pyspark import SparkFiles

    root = Path(SparkFiles.getRootDirectory(), environment.key)
    paths = tuple(str(root / str(index)) for index in range(len(environment.paths)))
    python = environment.python if Path(environment.python).exists() else sys.executable
    return dataclasses.replace(environment, python=python, paths=paths)
