"""Writes the list of the worker's own Connect classes: ``python -m tests.peer.connect_classes``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hearth.discovery.java.class_file import ClassHeader, read_header
from hearth.discovery.java.connect_class import CONNECT_CLASSES, INTERFACES
from hearth.discovery.java.java_archive import CLASS, JavaArchive
from hearth.discovery.java.plugin_class import types_of
from hearth.discovery.tree import open_file
from tests.peer.java_connect import connect_jars

_HEAD = "# Classes of Kafka Connect and their plugin types; written by python -m tests.peer.connect_classes"


def connect_classes_of(jars: Iterable[Path]) -> str:
    """Return the lines for the plugin classes in jars, their ancestors and the interfaces themselves."""
    classes: dict[str, ClassHeader] = {}
    for jar in jars:
        archive = JavaArchive(jar.name, open_file(jar))
        for name in archive.names:
            if name.endswith(CLASS) and name.startswith("org/apache/kafka/"):
                header = read_header(archive.read(name))
                classes[header.name] = header
        archive.close()
    types = {name.replace(".", "/"): {type_} for name, type_ in INTERFACES.items()}
    for name, found in types_of(classes, {name: [type_] for name, type_ in INTERFACES.items()}).items():
        types.setdefault(name, set()).update(found)
    lines = (f"{name.replace('/', '.')} {' '.join(sorted(types[name]))}" for name in sorted(types))
    return "\n".join([_HEAD, *lines, ""])


if __name__ == "__main__":
    CONNECT_CLASSES.write_text(connect_classes_of(connect_jars()), encoding="utf-8")
