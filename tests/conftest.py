"""Fixtures and options for all tests."""

from __future__ import annotations

import gc
import logging
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis.strategies import none

from hatch_build import compiled, is_older, parts, sources
from hearth.broker import KafkaBroker
from hearth.foundation.log_level import Levels, levels
from hearth_execution.stack import make_room
from hearth_stage.level import loggers
from tests.profile import LONG, QUICK, SUITE, load_profile
from tests.quick import is_quick
from tests.reservation import reserve_port
from tests.shared_folder import shared_folder
from tests.side_by_side import Together, are_chosen, available_memory, rank, worker_count

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell lets background programs ignore SIGINT, and the programs that tests start would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)


HOST = Path(__file__).parents[1] / "host"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Offer the long search: state machines of 200,000 examples, and the tests marked ``long``."""
    parser.addoption("--long", action="store_true", help="let property tests search for hours, and run long tests")
    parser.addoption("--quick", action="store_true", help="leave out what starts programs, and draw few examples")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose hypothesis's profile and seed; fail if compiled modules are older than their sources.

    The recursion limit is that of plugin processes: hypothesis warns if the limit changes during a test.
    """
    make_room()
    shared_folder()  # before other processes of the run start
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = str(random.getrandbits(32))
    load_profile(LONG if config.getoption("long") else QUICK if config.getoption("quick") else SUITE)
    if old := [each for each in sources(HOST) if is_older(compiled(each), parts(each))]:
        raise pytest.UsageError(f"{old[0].name} has changed since it was compiled: run tools/setup")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the seed of the property tests' examples, which reproduces them."""
    terminalreporter.write_line(f"examples were drawn with --hypothesis-seed={config.option.hypothesis_seed}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out long tests unless they are asked for, and the others that are not quick where these are.

    In parallel runs the slow tests start first; sequential runs keep their order.
    """
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: rank(item.nodeid))
    if config.getoption("long"):
        for item in items:
            item.add_marker(pytest.mark.timeout(0))
        return
    chosen: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        (chosen if _is_chosen(item, quick=config.getoption("quick")) else left_out).append(item)
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen


def _is_chosen(item: pytest.Item, *, quick: bool) -> bool:
    if item.get_closest_marker("long") is not None:
        return False
    return not quick or (item.get_closest_marker("slow") is None and is_quick(item.nodeid, item.fixturenames))  # type: ignore[attr-defined]


@given(none())
def _draw_one(_: None) -> None:
    """Do nothing with an example."""


def pytest_collection_finish() -> None:
    """Exclude ten thousand tests from the garbage collector, which takes a tenth of the state machines' time.

    On Python 3.14 Hypothesis cannot find the owner of its random numbers in frozen objects, and warns, so one example
    is drawn before.
    """
    _draw_one()
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return the number of processes for ``-n auto``."""
    if are_chosen(config.getoption("keyword"), config.args):
        return 0
    return worker_count(len(os.sched_getaffinity(0)), available_memory())


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Together:
    """Return the scheduler that assigns tests to processes."""
    return Together(config, log)


_GROUPS = {
    **{f"group.consumer.{limit}heartbeat.interval.ms": "500" for limit in ("", "min.")},
    **{f"group.consumer.{limit}session.timeout.ms": "120000" for limit in ("", "max.")},
}
"""Heartbeats of consumer groups (KIP-848) every half second instead of every five, so that rebalances are fast.

Sessions last two minutes: a test that waits for one to expire fails by its timeout.
"""


def quick_broker(folder: Path) -> KafkaBroker:
    """Return a broker with small disk usage."""
    return KafkaBroker(folder, reserve_port(), retention_bytes=256 << 20, settings=_GROUPS)


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """Provide one real broker for all tests of this process; a test that damages it uses ``own_broker``."""
    with quick_broker(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[KafkaBroker]:
    """Provide a broker that a test may stop, suspend or kill."""
    with quick_broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def restored_levels() -> Iterator[None]:
    """Put back the levels of all loggers, and what is known of those that were set."""
    before = {name: each.level for name, each in loggers().items()}
    yield
    for name, each in loggers().items():
        each.setLevel(before.get(name, logging.NOTSET))
    vars(levels).update(vars(Levels()))
