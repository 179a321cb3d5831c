"""A host from its start to its end, as its command runs it: connectors of files, signals, an orderly end."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

from hearth.cli.connector_file import ConnectorFile
from hearth_api import ConfigError, ConnectError

if TYPE_CHECKING:
    from hearth.cli.host import Host

INTERRUPTED = 130


def run_host(host: Host, files: Sequence[ConnectorFile] = ()) -> None:
    """Start a host, create the connectors of the files, and stop everything in order at the end."""
    interrupt_on_signals()
    try:
        host.start()
        for file in files:
            create(host, file)
        host.health.ready.set_result(None)
        with contextlib.suppress(KeyboardInterrupt):
            host.wait()
    finally:
        host.stop()


def create(host: Host, file: ConnectorFile) -> None:
    """Create a connector; what is wrong with it ends the host, as in Kafka Connect."""
    try:
        host.herder.put(file.name, file.config, file.target, replace=False).result()
    except ConnectError as error:
        trace = getattr(error.__cause__, "trace", None)
        text = f"{file.path}: {error}" + (f"\n{trace.rstrip()}" if trace else "")
        kind = ConfigError if isinstance(error, ConfigError) else ConnectError
        raise kind(text, code=error.code, hint=error.hint) from error


def interrupt_on_signals() -> None:
    """End in order at the first signal, at once at the second.

    A signal that who started this process had it ignore (``nohup``, a shell's background) stays ignored, as in Java.
    """
    seen: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        if seen:
            os._exit(INTERRUPTED)
        seen.append(number)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, interrupt)
