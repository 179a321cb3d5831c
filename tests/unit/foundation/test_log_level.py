"""The log levels of a process and of its listeners."""

from __future__ import annotations

import gc
import logging
from collections.abc import Mapping

import pytest

from hearth.foundation.log_level import Levels

pytestmark = pytest.mark.usefixtures("restored_levels")


class Child:
    """A process that records its levels."""

    def __init__(self) -> None:
        self.received: list[dict[str, str]] = []

    def on_levels(self, rules: Mapping[str, str]) -> None:
        """Note it."""
        self.received.append(dict(rules))


@pytest.fixture
def own() -> Levels:
    """Provide levels whose clock says 5 s."""
    return Levels(lambda: 5.0)


def test_level_is_set_here_and_in_listeners(own: Levels) -> None:
    """A later process receives the levels that were set before; one that has ended receives none."""
    child, gone = Child(), Child()
    own.subscribe(child)
    own.subscribe(gone)
    del gone
    gc.collect()
    logging.getLogger("lvl.a.b")
    assert own.set("lvl.a", "DEBUG") == ["lvl.a", "lvl.a.b"]
    assert logging.getLogger("lvl.a.b").level == logging.DEBUG
    late = Child()
    own.subscribe(late)
    assert child.received == late.received == [{"lvl.a": "DEBUG"}]


def test_level_of_a_namespace_replaces_those_below(own: Levels) -> None:
    """Others stay, in the order in which they were set; root takes the place of all."""
    for namespace, level in (("lvl.a.b", "DEBUG"), ("lvl.c", "WARN"), ("lvl.a", "ERROR"), ("lvl.a.x", "TRACE")):
        own.set(namespace, level)
    assert list(own.rules.items()) == [("lvl.c", "WARN"), ("lvl.a", "ERROR"), ("lvl.a.x", "TRACE")]
    own.set("ROOT", "INFO")
    assert own.rules == {"root": "INFO"}


def test_last_modified_is_set_only_for_changed_loggers(own: Levels) -> None:
    """``last_modified`` of Kafka's ``LoggerLevel``, in milliseconds."""
    logging.getLogger("lvl.same").setLevel(logging.INFO)
    own.set("lvl.same", "INFO")
    own.set("lvl.other", "OFF")
    assert own.find("lvl.same") == {"level": "INFO", "last_modified": None}
    assert own.find("lvl.other") == {"level": "OFF", "last_modified": 5000}
    assert own.find("lvl.nobody") is None
    assert own.find("Root") == own.all()["root"]


def test_adopted_levels_are_passed_on_once(own: Levels) -> None:
    """Known levels are not passed on, or two processes that inform each other would never stop."""
    child = Child()
    own.subscribe(child)
    own.take({"lvl": "DEBUG"})
    own.take({"lvl": "DEBUG"})
    assert logging.getLogger("lvl").level == logging.DEBUG
    assert child.received == [{"lvl": "DEBUG"}]
