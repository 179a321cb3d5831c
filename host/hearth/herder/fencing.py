"""Before tasks with transactions begin, those of the set before them can write no more (KIP-618)."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from hearth.config.connector_key import NAME
from hearth.herder.planner import Planner
from hearth.storage import ConfigStore

log = logging.getLogger(__name__)


def fence_earlier_tasks(configs: ConfigStore, planner: Planner, config: Mapping[str, str], tasks: int) -> None:
    """Fence the producers that tasks of a source may have left, and note how many the present ones have.

    As in Kafka Connect that is done once for a set of tasks, and not where one task follows one: it has the same
    transactional id, and fences for itself. Raises ``ConnectError`` where it could not be done; called on the
    connector's queue, so that nothing of it begins meanwhile.
    """
    name, state = config[NAME], configs.snapshot()
    fencing = planner.fencing(config)
    if fencing is None or name not in state.pending_fencing:
        return
    earlier = state.task_counts.get(name, 0)
    if earlier and (earlier, tasks) != (1, 1):
        from hearth.kafka.fence import fence_producers  # with confluent-kafka's own clients: 6 MB

        settings, prefix = fencing
        log.info("the producers of %d earlier tasks are fenced", earlier)
        fence_producers(settings, [f"{prefix}-{number}" for number in range(earlier)])
    configs.put_task_count(name, tasks)
