"""What the host remembers: configurations, statuses and source offsets, each behind an interface.

`interface` says what a store promises. `memory` keeps everything in the process, as Kafka Connect's
standalone mode does for configurations and statuses; `file` keeps source offsets in one file that is replaced
as a whole, and with them the number that a host's generations begin with. The herder and the task link know the
interfaces only, so that a mode with shared stores differs in nothing but the store it is given.
"""

from hearth.storage.file import FileOffsetStore, OffsetClaim
from hearth.storage.interface import (
    ConfigListener,
    ConfigState,
    ConfigStore,
    ConfiguredConnector,
    ConnectorStatus,
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
    "ConfiguredConnector",
    "ConnectorStatus",
    "FileOffsetStore",
    "MemoryConfigStore",
    "MemoryOffsetStore",
    "MemoryStatusStore",
    "OffsetClaim",
    "OffsetStore",
    "RestartRequest",
    "State",
    "StatusStore",
    "TargetState",
    "TaskStatus",
]
