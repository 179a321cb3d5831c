"""Runs a host for a command: starts it, creates connectors from files, stops it in order."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent import futures
from typing import TYPE_CHECKING

from hearth.client.connector_file import ConnectorFile
from hearth.foundation.service_manager import announced
from hearth.storage import TargetState
from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from hearth.cli.host import Host

ALIVE_SECONDS = 10.0
"""Time limit of a check for systemd's watchdog."""
_TARGETS = {"RUNNING": TargetState.STARTED, "PAUSED": TargetState.PAUSED, "STOPPED": TargetState.STOPPED}


def run_host(host: Host, files: Sequence[ConnectorFile] = ()) -> None:
    """Start a host, create the connectors of the files, wait, and stop everything in order."""
    try:
        host.start()
        for file in files:
            create(host, file)
        host.health.ready.set_result(None)
        with announced(lambda: _is_alive(host)), contextlib.suppress(KeyboardInterrupt):
            host.wait()
    finally:
        host.stop()


def _is_alive(host: Host) -> bool:
    try:
        host.herder.liveness.take().result(ALIVE_SECONDS)
    except futures.TimeoutError:
        return False
    return True


def create(host: Host, file: ConnectorFile) -> None:
    """Create a connector; an error ends the host, as in Kafka Connect."""
    target = None if file.initial_state is None else _TARGETS[file.initial_state]
    try:
        host.herder.put(file.name, file.config, target, replace=False).result()
    except ConnectError as error:
        trace = getattr(error.__cause__, "trace", None)
        text = f"{file.path}: {error}" + (f"\n{trace.rstrip()}" if trace else "")
        kind = ConfigError if isinstance(error, ConfigError) else ConnectError
        raise kind(text, code=error.code, hint=error.hint) from error
