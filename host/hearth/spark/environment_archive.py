"""Sends environments to executors that do not share the host's disk.

Each environment is sent once, as a Spark archive; Spark unpacks it into the executor's directory under the name of its
key. The interpreter is not sent: on an executor without it the stage fails to start, with a message.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from hearth.isolation.environment import Environment
from hearth.staging.plugin_plan import PluginPlan


def ship(context: Any, environment: Environment) -> None:
    """Add an environment to a Spark application; executors fetch it before their next task."""
    if not environment.paths:
        return
    with tempfile.TemporaryDirectory(prefix="hearth-ship-") as folder:
        content = Path(folder, "content")
        content.mkdir()
        environment.copy_to(content)
        # kept in the application's own folder: executors fetch it as long as the application runs
        archive = shutil.make_archive(str(Path(context._temp_dir, environment.key)), "zip", content)
    context.addArchive(f"{archive}#{environment.key}")


def unpacked(environment: Environment) -> Environment:
    """Return the environment on this machine: in place if the disk is shared, else unpacked."""
    if environment.is_here:
        return environment
    from pyspark import SparkFiles

    return environment.copied(Path(SparkFiles.getRootDirectory(), environment.key))


def here(plan: PluginPlan) -> PluginPlan:
    """Return a plan with the environments of this machine."""
    return replace(plan, environments={key: unpacked(each) for key, each in plan.environments.items()})
