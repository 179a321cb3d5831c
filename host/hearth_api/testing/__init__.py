"""The test kit for plugin authors: runs a plugin without host, Kafka or Spark.

`acceptance_tests` is the standard suite: one call creates the tests that every plugin of its type must pass; `hearth
bundle verify` checks the same rules. `SourceRun` and `SinkRun` call a connector and its tasks as a host does, for an
author's own tests. The memory contexts are the contexts of those tasks; they can be used alone.
"""

from hearth_api.testing.acceptance import CONTRACT, Verdict, acceptance_tests, check_plugin
from hearth_api.testing.acceptance_rule import Sample, Violation
from hearth_api.testing.memory_context import (
    MemoryErrantRecordReporter,
    MemoryOffsetStorageReader,
    MemorySinkTaskContext,
    MemorySourceTaskContext,
)
from hearth_api.testing.task_run import MemoryConnectorContext, SinkRun, SourceRun

__all__ = [
    "CONTRACT",
    "MemoryConnectorContext",
    "MemoryErrantRecordReporter",
    "MemoryOffsetStorageReader",
    "MemorySinkTaskContext",
    "MemorySourceTaskContext",
    "Verdict",
    "Sample",
    "SinkRun",
    "SourceRun",
    "Violation",
    "acceptance_tests",
    "check_plugin",
]
