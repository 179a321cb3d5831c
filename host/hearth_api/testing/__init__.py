"""The author's test kit: a plugin is tried with no host, no Kafka and no Spark.

`acceptance_tests` is the standard suite: one call makes the tests that every plugin of its type has to pass, and
`hearth bundle verify` tries the same rules. `SourceRun` and `SinkRun` call a connector and its tasks as a host does,
for tests of one's own. The memory contexts are what a task is given there; they can be used alone.
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
