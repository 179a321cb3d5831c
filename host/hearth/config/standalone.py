"""The keys of a host that works alone."""

from __future__ import annotations

import os
import socket

from hearth.config.worker import WorkerConfig
from hearth_api import Importance, key


class StandaloneConfig(WorkerConfig):
    """What the properties file of `hearth standalone` may say."""

    offset_file: str = key(
        "offset.storage.file.filename",
        importance=Importance.HIGH,
        doc="The file that keeps the offsets of source connectors.",
    )

    @property
    def identity(self) -> str:
        """Return machine and offset file, which is one host's alone."""
        return f"{socket.gethostname()}:{os.path.realpath(self.offset_file)}"
