"""The two modes of a host, and which keys belong to which."""

from __future__ import annotations

import logging

from hearth.cli.worker_file import Mode
from hearth.config import DistributedConfig, StandaloneConfig

STANDALONE = Mode(
    StandaloneConfig,
    logging.getLogger("hearth.standalone"),
    foreign=(
        "group.id", "config.storage.", "offset.storage.topic", "offset.storage.partitions", "status.storage.",
        "offset.storage.replication.factor", "inter.worker.", "connect.protocol", "exactly.once.source.support",
        "scheduled.rebalance.", "worker.sync.", "worker.unsync.",
    ),
    other="these are keys of connect-distributed and have no effect on a standalone host",
    hint="this is a file for connect-distributed: use `hearth distributed`, or write one for a standalone host",
)  # fmt: skip

DISTRIBUTED = Mode(
    DistributedConfig,
    logging.getLogger("hearth.distributed"),
    foreign=("offset.storage.file.filename",),
    other="this is a key of connect-standalone; a distributed host keeps offsets in a topic",
    hint="this is a file for connect-standalone: use `hearth standalone`, or write one for a distributed host",
    idle=DistributedConfig.idle_keys,
)
