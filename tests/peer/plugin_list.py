"""Records the plugins that Java Connect's tool lists for real bundles: ``python -m tests.peer.plugin_list``."""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from hearth.foundation.java import find_java
from hearth.foundation.user_file import cache_directory
from hearth.maven.ivy import Progress
from hearth.maven.jar import fetch_jars, missing, read_lock
from tests.peer.kept import GOLDEN

LOCK = Path(__file__).with_name("plugins.txt")
LISTS = GOLDEN / "plugin_list.json"
BUNDLES = {
    "connect-file": ("connect-file",),
    "connect-mirror": ("connect-mirror", "connect-mirror-client"),
    "kafka-connect-transform-common": ("kafka-connect-transform-common",),
    "debezium-connector-jdbc": ("debezium-connector-jdbc",),
    "debezium-connector-mariadb": ("debezium-connector-mariadb",),
}
"""The artifacts of each bundle."""
LARGE = ("debezium-connector-jdbc", "debezium-connector-mariadb")


def is_fetched(bundle: str) -> bool:
    """Return whether the files of a bundle are in the cache."""
    wanted = (each for each in read_lock(LOCK) if each.coordinates.artifact in BUNDLES[bundle])
    return not missing(wanted, cache_directory("jars"))


def place(bundle: str, folder: Path) -> Path:
    """Put a bundle into a directory of plugin.path, in the form in which it is published, and return its location."""
    with TemporaryDirectory() as locks:
        lock = Path(locks, "lock.txt")
        rows = LOCK.read_text(encoding="utf-8").splitlines()
        lock.write_text("\n".join(row for row in rows if row.split(":")[1:2] in [[each] for each in BUNDLES[bundle]]))
        files = fetch_jars(lock, progress=Progress(title="Java plugins"))
    if files[0].name.endswith(".tar.gz"):
        (folder / f"{bundle}.tar.gz").symlink_to(files[0])
        return folder / f"{bundle}.tar.gz"
    (folder / bundle).mkdir()
    for file in files:
        os.symlink(file, folder / bundle / file.name)
    return folder / bundle


def java_list(plugin_path: Path) -> list[list[str]]:
    """Return the class, aliases, type and version of each plugin that Java's tool finds, sorted."""
    from tests.peer.java_connect import connect_jars

    tool = ["org.apache.kafka.tools.ConnectPluginPath", "list", "--plugin-path", str(plugin_path)]
    class_path = ":".join(map(str, connect_jars()))
    answer = subprocess.run(
        [str(find_java().executable), "-Xmx512m", "-XX:+UseSerialGC", "-cp", class_path, *tool],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = (line.split("\t") for line in answer.stdout.splitlines()[1:])
    return sorted([row[0], row[1], row[2], row[4], row[3]] for row in rows if len(row) == 8)


def _record() -> None:
    lists = {}
    for bundle in BUNDLES:
        with TemporaryDirectory() as folder:
            location = place(bundle, Path(folder))
            if location.is_file():
                with tarfile.open(location) as archive:
                    archive.extractall(folder, filter="data")
                location.unlink()
            lists[bundle] = java_list(Path(folder))
    LISTS.write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record()
