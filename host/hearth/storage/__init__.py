"""What the host remembers: configurations, statuses and source offsets, each behind an interface.

`interface` says what a store promises. `memory` keeps everything in the process, as Kafka Connect's
standalone mode does for configurations and statuses; `file` keeps source offsets in one file that is replaced
as a whole, and with them the number that a host's generations begin with; `configuration_folder` reads and writes
worker configurations, which are files of their own. `topic_store` keeps all three in Kafka topics, byte for byte as
Kafka Connect's distributed mode does: `config_topic`, `status_topic` and `offset_topic` are the stores, each with the
form of its records beside it, `internal_topic` makes and checks the topics, and `fenced_producer` is the right to
write them, which one host at a time has. The herder and the task link know the interfaces only, so that a mode with
shared stores differs in nothing but the store it is given.
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
    SessionKey,
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
    "SessionKey",
    "State",
    "StatusStore",
    "TargetState",
    "TaskStatus",
]
