"""Tests beside each other: in how many processes, which of them begin first, and which stay together.

The tests of a file stay in one process, with the fixtures they share, and so do files that share a host; every
process has a broker of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

LONGEST_FIRST = (
    "tests/peer/",
    "tests/crash/",
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
"""Where tests take longest. How long the last one keeps the others waiting decides how well all share the work."""

_OF_ONE_HOST = (
    "commit", "dead_letter", "failure", "lifecycle", "other_python", "pipeline", "real_package",
    "reconfigured_sink", "registry", "rest_server", "shared_tasks", "spark_secret",
    "validation", "variable", "worker_configuration",
)  # fmt: skip
TOGETHER = (
    ("tests/crash/lasting/",),
    ("tests/integration/datasource/",),
    tuple(f"tests/integration/test_{each}.py" for each in _OF_ONE_HOST),
)
"""Files, and folders of them, that share what each of them would start for itself."""

_GIBIBYTES_OF_A_WORKER = 2.5  # a broker, a host with its Spark, Java's Connect beside it


class Together(LoadFileScheduling):  # type: ignore[misc]
    """Gives each process whole files, or whole folders of them."""

    def _split_scope(self, nodeid: str) -> str:
        return scope(nodeid)


def scope(test: str) -> str:
    """Return the file that a test stays together with, or the first place of those that share something."""
    return next((places[0] for places in TOGETHER if test.startswith(places)), test.partition("::")[0])


def rank(test: str) -> int:
    """Return the number of a test's place among those that begin first; what is not among them comes behind."""
    return next((number for number, place in enumerate(LONGEST_FIRST) if test.startswith(place)), len(LONGEST_FIRST))


def worker_count(cores: int, memory: float) -> int:
    """Return how many processes a machine carries, two at least.

    Three more than there are cores: tests wait for sessions, silences and other processes half of their time.
    """
    return max(2, min(cores + 3, int(memory / _GIBIBYTES_OF_A_WORKER)))


def are_chosen(keyword: str, places: Sequence[str]) -> bool:
    """Return whether somebody asks for single tests or files: they are through before other processes have begun."""
    return bool(keyword) or any(place.partition("::")[0].endswith(".py") for place in places)


def available_memory(told: Path = Path("/proc/meminfo")) -> float:
    """Return how many GiB the kernel says may be used without swapping."""
    found = re.search(r"MemAvailable: *(\d+) kB", told.read_text())
    assert found is not None
    return int(found[1]) / (1 << 20)
