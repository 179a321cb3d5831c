"""Parallel tests: the number of processes, the tests that start first, and those that share a process.

The tests of a file share a process, with its fixtures, and so do files that share a host; every process has its own
broker.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

_OF_ONE_HOST = {
    "tests/integration/cli/test_": "apply_command completion_command connectors_command context_command "
    "convert_command dlq_command doctor_command explain_command export_command hosts_command loggers_command "
    "logs_command offsets_command preview_command records_command status_command top_command",
    "tests/integration/test_": "commit dead_letter delta failure jdbc lifecycle other_python pipeline real_package "
    "reconfigured_sink registry rest_server shared_tasks spark_secret storage_source trace_context validation "
    "variable worker_configuration",
}
TOGETHER = (
    ("tests/crash/lasting/",),
    ("tests/integration/datasource/",),
    ("tests/unit/plugins/jdbc/",),
    tuple(f"{place}{name}.py" for place, names in _OF_ONE_HOST.items() for name in names.split()),
)
"""Files, and folders of files, that share expensive fixtures."""

LONGEST_FIRST = (
    "tests/integration/datasource/",
    *TOGETHER[-1],
    "tests/peer/",
    "tests/crash/",
    "tests/unit/plugins/jdbc/",
    "tests/integration/",
    "tests/unit/runtime/",
    "tests/unit/kafka/",
    "tests/unit/herder/test_interruption.py",
    "tests/unit/herder/test_reconciler_machine.py",
    "tests/unit/rest/test_attack.py",
    "tests/unit/discovery/test_hostile.py",
    "tests/unit/plugins/test_two_forms.py",
    "tests/unit/spark/test_scaling.py",
)
"""Places of the slowest tests. They start first, so that no process is left with a long test at the end."""

_GIBIBYTES_OF_A_WORKER = 2.5  # a broker, a host with its Spark, Java's Connect


class Together(LoadFileScheduling):  # type: ignore[misc]
    """Assigns whole files, or whole folders of them, to processes."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(test: str) -> str:
    """Return the file of a test, or the first place of its group."""
    return next((places[0] for places in TOGETHER if test.startswith(places)), test.partition("::")[0])


def rank(test: str) -> int:
    """Return the rank of a test's place among those that start first; other places follow."""
    return next((number for number, place in enumerate(LONGEST_FIRST) if test.startswith(place)), len(LONGEST_FIRST))


def worker_count(cores: int, memory: float) -> int:
    """Return how many processes fit a machine, two at least.

    Three more than there are cores: tests wait for sessions, timeouts and other processes half of their time.
    """
    return max(2, min(cores + 3, int(memory / _GIBIBYTES_OF_A_WORKER)))


def are_chosen(keyword: str, places: Sequence[str]) -> bool:
    """Return whether single tests or files are selected: they finish before other processes have started."""
    return bool(keyword) or any(place.partition("::")[0].endswith(".py") for place in places)


def available_memory(meminfo: Path = Path("/proc/meminfo")) -> float:
    """Return how many GiB can be used without swapping, according to the kernel."""
    found = re.search(r"MemAvailable: *(\d+) kB", meminfo.read_text())
    assert found is not None
    return int(found[1]) / (1 << 20)
