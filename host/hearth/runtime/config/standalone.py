"""The keys of a host that works alone."""

from __future__ import annotations

from hearth.runtime.config.worker import WorkerConfig
from hearth_api import Importance, key


class StandaloneConfig(WorkerConfig):
    """What the properties file of `hearth standalone` may say."""

    offset_file: str = key(
        "offset.storage.file.filename",
        importance=Importance.HIGH,
        doc="The file that keeps the offsets of source connectors.",
    )
