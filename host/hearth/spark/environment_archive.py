"""Environments on their way to executors that do not share the host's disk.

Each environment travels once, as a Spark archive; Spark unpacks it into the executor's directory under the name of its
key. An interpreter does not travel: an executor that lacks it does not start the stage, and says so.
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
        # executors fetch it as long as the application runs, whose own folder goes when that ends
        archive = shutil.make_archive(str(Path(context._temp_dir, environment.key)), "zip", content)
    context.addArchive(f"{archive}#{environment.key}")


def unpacked(environment: Environment) -> Environment:
    """Return the environment as it is found on this machine: in place where the disk is shared, else unpacked."""
    if environment.is_here:
        return environment
    from pyspark import SparkFiles

    return environment.copied(Path(SparkFiles.getRootDirectory(), environment.key))


def here(plan: PluginPlan) -> PluginPlan:
    """Return a plan whose environments are those that are found on this machine."""
    return replace(plan, environments={key: unpacked(each) for key, each in plan.environments.items()})
