"""Names of what connectors read and write, by OpenLineage's naming conventions for datasets."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hearth.config.variable import has_variable

_DATABASES = {
    "postgresql": ("postgres", 5432, True),
    "mysql": ("mysql", 3306, False),
    "mariadb": ("mysql", 3306, False),
}
"""By the name in a JDBC URL: the scheme of the namespace, the default port, and whether tables have a schema."""
_URL = re.compile(r"jdbc:(\w+)://(?:[^@/]*@)?([^:/,?]+)(?::(\d+))?/([^?;]+)")
_PARTS = re.compile(r"[^.]+")
_PARTS_OF_LIST = re.compile(r"\s*,\s*")


@dataclass(frozen=True)
class DatasetName:
    """A dataset: where it is, and its name there."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Wiring:
    """What a connector is configured to move: its configuration, those of its tasks, and the topics it uses."""

    config: Mapping[str, str]
    tasks: Sequence[Mapping[str, str]]
    topics: Sequence[str]


def topics(bootstrap_servers: str, names: Iterable[str]) -> list[DatasetName]:
    """Return topics, at the first broker of a list."""
    return [DatasetName(f"kafka://{bootstrap_servers.partition(',')[0].strip()}", each) for each in names]


def outside(wiring: Wiring) -> list[DatasetName]:
    """Return what a connector has on the side that is not Kafka; none for connectors of unknown classes.

    Names that a variable hides are left out.
    """
    class_name = wiring.config.get("connector.class", "").rpartition(".")[2].removesuffix("Connector")
    named = _NAMED.get(class_name)
    found = [] if named is None else named(wiring)
    return [each for each in found if not has_variable(each.namespace) and not has_variable(each.name)]


def _file(wiring: Wiring) -> list[DatasetName]:
    path = wiring.config.get("file")
    return [DatasetName("file", os.path.abspath(path))] if path else []


def _written_tables(wiring: Wiring) -> list[DatasetName]:
    form = wiring.config.get("table.name.format", "${topic}")
    return _tables(wiring, [form.replace("${topic}", each) for each in wiring.topics])


def _read_tables(wiring: Wiring) -> list[DatasetName]:
    listed = (_PARTS_OF_LIST.split(task.get("tables", "")) for task in wiring.tasks)
    return _tables(wiring, [each for names in listed for each in names if each])


def _tables(wiring: Wiring, names: Iterable[str]) -> list[DatasetName]:
    found = _URL.match(wiring.config.get("connection.url", ""))
    if found is None or found[1] not in _DATABASES:
        return []
    scheme, port, has_schemas = _DATABASES[found[1]]
    namespace, database = f"{scheme}://{found[2]}:{found[3] or port}", found[4]
    return [DatasetName(namespace, _qualified(name, database, has_schemas)) for name in dict.fromkeys(names)]


def _qualified(table: str, database: str, has_schemas: bool) -> str:
    """Return a table's name with its database and schema, as far as it does not have them."""
    parts = _PARTS.findall(table.replace('"', "").replace("`", ""))
    if has_schemas and len(parts) == 1:
        parts.insert(0, "public")
    return ".".join(parts if parts[:1] == [database] and len(parts) > 1 + has_schemas else [database, *parts])


def _objects(scheme: str, bucket: str) -> Callable[[Wiring], list[DatasetName]]:
    def named(wiring: Wiring) -> list[DatasetName]:
        folder = wiring.config.get("topics.dir", "topics").strip("/")
        if bucket not in wiring.config:
            return []
        names = [f"{folder}/{each}".strip("/") for each in wiring.topics]
        return [DatasetName(f"{scheme}://{wiring.config[bucket]}", each) for each in names]

    return named


_S3, _GOOGLE = _objects("s3", "s3.bucket.name"), _objects("gs", "gcs.bucket.name")
_NAMED: Mapping[str, Callable[[Wiring], list[DatasetName]]] = {
    "FileStreamSource": _file,
    "FileStreamSink": _file,
    "JdbcSource": _read_tables,
    "JdbcSink": _written_tables,
    "S3Source": _S3,
    "S3Sink": _S3,
    "GcsSource": _GOOGLE,
    "GcsSink": _GOOGLE,
}
"""By the simple name of a connector's class, without Connector."""
