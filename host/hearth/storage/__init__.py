"""Stores of configurations, statuses and source offsets, each with an interface.

`interface` defines what a store guarantees. `memory` keeps everything in the process, as Kafka Connect's standalone
mode does for configurations and statuses. `file` keeps source offsets, and the number of the host's last term, in one
file that is replaced as a whole. `configuration_folder` reads and writes worker configurations, one file each.
`topic_store` keeps all three in Kafka topics, byte for byte as Kafka Connect's distributed mode does: `config_topic`,
`status_topic` and `offset_topic` are the stores, with their record formats in `config_record`, `status_record` and
`offset_record`; `internal_topic` creates and checks the topics; `fenced_producer` is the exclusive right to write
them. The herder and the task link use only the interfaces, so standalone and distributed mode differ only in their
stores.
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
