"""The worker's file of commands that talk to Kafka or run plugins themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from hearth.cli.worker_file import read_worker
from hearth.cli.worker_mode import DISTRIBUTED, STANDALONE
from hearth.config import StandaloneConfig, WorkerConfig
from hearth.foundation.properties import load
from hearth_api import ConfigError

worker_option = click.option(
    "--worker-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A worker's properties: its Kafka cluster, login, plugin.path and converters; default: the context's.",
)


def read_any_worker(path: Path) -> WorkerConfig:
    """Return the settings of a worker's file: of a distributed host if it has a group.id, else of a standalone one."""
    return read_worker(path, DISTRIBUTED) if "group.id" in load(path) else read_worker(path, STANDALONE)


def chosen_worker(path: Path | None, context_name: str | None, servers: str | None = None) -> WorkerConfig:
    """Return the worker of a file, of brokers alone, or of the context; raises ConfigError if none has one."""
    from hearth.client.client_context import choose_context

    if path is None and servers is not None:
        return placeholder_worker({"bootstrap.servers": servers})
    if path is None and (named := choose_context(context_name).worker) is not None:
        path = Path(named)
    if path is None:
        raise ConfigError(
            "no worker's file is named, so Kafka's address is not known",
            code="worker.unnamed",
            hint="--worker-config FILE, --bootstrap-servers, or `hearth context set NAME --worker FILE`",
        )
    return read_any_worker(path)


def placeholder_worker(settings: Mapping[str, str]) -> StandaloneConfig:
    """Return a worker of these settings alone, whose converters are those of texts."""
    import os

    plain: dict[str, Any] = {
        "bootstrap.servers": "localhost:9092",
        "key.converter": "org.apache.kafka.connect.storage.StringConverter",
        "value.converter": "org.apache.kafka.connect.storage.StringConverter",
        "offset.storage.file.filename": os.devnull,
    }
    return StandaloneConfig({**plain, **settings})
