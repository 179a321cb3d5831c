"""Fences the transactional producers of a source's earlier tasks before new tasks start (KIP-618)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hearth.config.connector_key import NAME
from hearth.herder.planner import Planner
from hearth.storage import ConfigStore

log = logging.getLogger(__name__)


def fence_earlier_tasks(configs: ConfigStore, planner: Planner, config: Mapping[str, str], tasks: int) -> None:
    """Fence the producers that earlier tasks of a source may have left, and record the number of present tasks.

    As in Kafka Connect, this runs once per set of tasks. A single restarted task has the same transactional id and
    fences its predecessor itself. Raises ``ConnectError`` if fencing fails. Runs on the connector's queue, so that
    none of its tasks starts meanwhile.
    """
    name, state = config[NAME], configs.snapshot()
    fencing = planner.fencing(config)
    if fencing is None or name not in state.pending_fencing:
        return
    earlier = state.task_counts.get(name, 0)
    if earlier and (earlier, tasks) != (1, 1):
        from hearth.kafka.fence import fence_producers  # loads confluent-kafka's own clients: 6 MB

        settings, prefix = fencing
        log.info("fenced the producers of %d earlier tasks", earlier)
        fence_producers(settings, [f"{prefix}-{number}" for number in range(earlier)])
    configs.put_task_count(name, tasks)
