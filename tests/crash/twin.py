"""Java twins of sample bundles' connectors: compiled on demand and packed as plugins for Java Connect."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

from hearth.foundation.java import find_java
from tests.java_sample import QUICKLY
from tests.peer.java_connect import connect_jars

SOURCES = Path(__file__).with_name("java")
_SERVICE = "META-INF/services/org.apache.kafka.connect.{}"
LEDGER = {
    "sink.SinkConnector": "org.example.ledger.LedgerSinkConnector",
    "source.SourceConnector": "org.example.ledger.LedgerSourceConnector",
}


def compiler() -> str | None:
    """Return the JDK's compiler, None if only a runtime is installed."""
    sibling = find_java().executable.resolve().with_name("javac")
    return str(sibling) if sibling.exists() else shutil.which("javac")


def twin_plugins(folder: Path, javac: str, sources: Path = SOURCES, services: Mapping[str, str] = LEDGER) -> Path:
    """Compile the twins, each the one class that implements an interface, and return a plugin.path that holds them."""
    classes, plugins = folder / "classes", folder / "plugins"
    (plugins / "twins").mkdir(parents=True)
    files = map(str, sorted(sources.rglob("*.java")))
    class_path = ":".join(map(str, connect_jars()))
    command = [javac, *QUICKLY, "--release", "17", "-proc:none", "-cp", class_path, "-d", str(classes), *files]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    with zipfile.ZipFile(plugins / "twins" / "twins.jar", "w") as jar:
        for path in sorted(classes.rglob("*.class")):
            jar.write(path, path.relative_to(classes))
        for interface, class_name in services.items():
            jar.writestr(_SERVICE.format(interface), f"{class_name}\n")
    return plugins
