"""What the host remembers: configurations, statuses and source offsets, each behind an interface.

`interface` says what a store promises. `memory` keeps everything in the process, as Kafka Connect's
standalone mode does for configurations and statuses; `file` keeps source offsets in one file that is replaced
as a whole, and with them the number that a host's generations begin with; `configuration_folder` reads and writes
worker configurations, which are files of their own. The herder and the task link know the
interfaces only, so that a mode with shared stores differs in nothing but the store it is given.
"""

from hearth.storage.configuration_folder import ConfigurationFolder
from hearth.storage.file import FileOffsetStore, OffsetClaim
from hearth.storage.interface import (
    ConfigListener,
    ConfigState,
    ConfigStore,
    ConfiguredConnector,
    ConnectorStatus,
    NotLeading,
    OffsetStore,
    RestartRequest,
    State,
    StatusStore,
    TargetState,
    TaskStatus,
)
from hearth.storage.memory import MemoryConfigStore, MemoryOffsetStore, MemoryStatusStore

__all__ = [
    "ConfigListener",
    "ConfigState",
    "ConfigStore",
    "ConfigurationFolder",
    "ConfiguredConnector",
    "ConnectorStatus",
    "FileOffsetStore",
    "MemoryConfigStore",
    "MemoryOffsetStore",
    "MemoryStatusStore",
    "NotLeading",
    "OffsetClaim",
    "OffsetStore",
    "RestartRequest",
    "State",
    "StatusStore",
    "TargetState",
    "TaskStatus",
]
