"""What a run of a task has counted, as it reports it to its host."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

CHANGES = Mapping[str, float]
"""Counts by name: those that changed since the last report.

Some have further parts in their names, separated by slashes: ``failed/PHASE/CLASS`` is how many records failed so,
``committed/TOPIC/PARTITION`` the offset that a sink has committed of a partition that it owns, or owned, and
``assigned/TOPIC`` how many partitions of a topic it owns.
"""
FAILED, COMMITTED, ASSIGNED = "failed/", "committed/", "assigned/"
MOST_REASONS = 50
"""Records that fail in more ways are counted under the class ``other``."""


@dataclass
class TaskCounts:
    """Counts of a run, from 0 at its start: totals, peaks since the last report, and present values.

    A record that is sent or put again counts again. Polled records that neither failed nor were sent were dropped by a
    transformation. Times are in seconds, ``_ms`` in milliseconds since the epoch.
    """

    polled: int = 0
    """Records that the task's ``poll`` returned."""
    polls: int = 0
    """Polls that returned records."""
    poll_seconds: float = 0.0
    converted: int = 0
    """Records that were transformed and converted outside the task's stage."""
    convert_seconds: float = 0.0
    read: int = 0
    """Records that the consumer returned."""
    sent: int = 0
    """Records handed to the producer."""
    acknowledged: int = 0
    put: int = 0
    """Records handed to ``put``."""
    accepted: int = 0
    """Records whose ``put`` returned."""
    puts: int = 0
    """Puts that returned, empty ones too."""
    put_seconds: float = 0.0
    batches: int = 0
    """Polls that were sent, and puts."""
    batch_records: int = 0
    retried: int = 0
    """Records that were sent or put again."""
    retries: int = 0
    """Attempts of a step after a retriable error."""
    failed: int = 0
    """Records that a step could not process."""
    failures: int = 0
    """Failed attempts, as Kafka Connect counts them: a retriable error that lasts counts once more in the end."""
    errors: int = 0
    """Failed records without the tolerated ones that a sink task reported itself."""
    skipped: int = 0
    """Failed records that were tolerated, without those that a sink task reported itself."""
    logged: int = 0
    """Failed records in the log (``errors.log.enable``)."""
    dead_letters: int = 0
    """Dead letters handed to the producer."""
    dead_lettered: int = 0
    """Dead letters that the broker has."""
    dead_letters_refused: int = 0
    error_ms: int = 0
    """When a record last failed."""
    commits: int = 0
    commits_begun: int = 0
    commits_failed: int = 0
    commits_passed: int = 0
    """Commits that were answered after a later one was sent."""
    commit_seconds: float = 0.0
    transactions: int = 0
    transaction_records: int = 0
    partitions: int = 0
    """Partitions that are assigned now."""
    active: int = 0
    """Records that are read now, and neither acknowledged nor committed."""
    active_sum: int = 0
    active_changes: int = 0
    polled_ms: int = 0
    """When records last came from ``poll`` or the consumer."""
    delivered_ms: int = 0
    """When records were last acknowledged or put."""
    committed_ms: int = 0
    connections: int = 0
    """Connections of the task's client to brokers, as the other numbers of it from librdkafka's statistics."""
    connects: int = 0
    requests: int = 0
    responses: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    stage_cpu_seconds: float = 0.0
    """Processor time of the stage processes of the task, JVMs included, since they began; shared ones as a whole."""
    stage_memory_bytes: int = 0
    poll_longest: float = 0.0
    put_longest: float = 0.0
    commit_longest: float = 0.0
    batch_largest: int = 0
    transaction_largest: int = 0
    transaction_smallest: int = 0
    active_most: int = 0

    def changes(self, reported: CHANGES) -> dict[str, float]:
        """Return the counts that differ from those reported so far, and the peaks that are set."""
        return {
            name: value
            for name, value in asdict(self).items()
            if (value if name in PEAKS else value != reported.get(name, 0))
        }


PEAKS = frozenset(
    {
        "poll_longest",
        "put_longest",
        "commit_longest",
        "batch_largest",
        "transaction_largest",
        "transaction_smallest",
        "active_most",
    }
)
"""Counts that start anew with each report."""


def now_ms() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
