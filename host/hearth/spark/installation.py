"""Adds bundles and Hearth itself to the executors of a running session.

Spark unpacks an archive of a session under its name in a directory on the import path of Python workers, so a package
that is sent as an archive can be imported as if it were installed. pyarrow and numpy are already there for Spark.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hearth.discovery import Catalogue, PluginScanner, split_plugin_path
from hearth.isolation.environment_store import user_environments

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OWN = ("pyspark_hearth", "hearth", "hearth_api", "hearth_execution", "hearth_stage")
_NEEDED = ("orjson",)
"""Other packages that tasks import on executors and that Spark's users do not have."""


def install_into(spark: SparkSession, plugin_path: str | Sequence[str]) -> list[str]:
    """Send the bundles of plugin.path, and Hearth, to all executors of a session; returns the names of the bundles.

    Missing environments are built, for the Python and the platform of this machine. An executor that shares the disk
    uses them in place. With Spark Connect, they are added to the server's session; plugin.path of a read or write is
    always a path on the server.
    """
    paths = plugin_path if isinstance(plugin_path, str) else ",".join(plugin_path)
    catalogue = PluginScanner(split_plugin_path(paths)).look()
    bundles = {each.bundle.location: each.bundle for each in catalogue.plugins if each.bundle is not None}
    environments = [user_environments().ensure(bundle) for bundle in bundles.values()]
    add, folder = _adding(spark)
    for environment in {each.key: each for each in environments if each.paths}.values():
        with tempfile.TemporaryDirectory(prefix="hearth-install-") as content:
            environment.copy_to(Path(content))
            add(_packed(Path(content), folder / environment.key), environment.key)
    for name, package in _packages(catalogue):
        add(_packed(package, folder / f"package-{name}"), name)
    return [bundle.name for bundle in bundles.values()]


def _adding(spark: SparkSession) -> tuple[Callable[[str, str], None], Path]:
    """Return a function that adds an archive to a session under a name, and a folder for archives of the session."""
    connect: Any = spark
    if hasattr(connect, "_client"):  # a session of Spark Connect, which uploads files
        folder = tempfile.mkdtemp(prefix="hearth-install-")
        return lambda archive, name: connect.addArtifacts(f"{archive}#{name}", archive=True), Path(folder)
    context: Any = spark.sparkContext
    return lambda archive, name: context.addArchive(f"{archive}#{name}"), Path(context._temp_dir)


def _packages(catalogue: Catalogue) -> Iterator[tuple[str, Path]]:
    """Yield name and path of the packages that tasks import on executors, with those of installed plugins."""
    installed = {
        each.reference.partition(":")[0].partition(".")[0] for each in catalogue.plugins if each.bundle is None
    }
    for name in dict.fromkeys((*_OWN, *_NEEDED, *sorted(installed))):
        found = importlib.util.find_spec(name)
        if found is not None and found.origin is not None:
            yield name, Path(found.origin).parent


def _packed(content: Path, archive: Path) -> str:
    """Pack a directory into an archive, without compiled Python files."""
    with tempfile.TemporaryDirectory(prefix="hearth-install-") as folder:
        copy = Path(folder, "content")
        shutil.copytree(content, copy, ignore=shutil.ignore_patterns("__pycache__"))
        return shutil.make_archive(str(archive), "zip", copy)
