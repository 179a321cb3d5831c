"""The standard suite: every rule for a plugin of its type, as tests of an author's or as a list of outcomes."""

from __future__ import annotations

import traceback
import unittest
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hearth_api.connector import SinkConnector, SourceConnector
from hearth_api.converter import Converter
from hearth_api.record import ConnectRecord
from hearth_api.testing.acceptance_rule import AcceptanceRule, Sample, Violation
from hearth_api.testing.connector_rule import SINK, SOURCE
from hearth_api.testing.plugin_rule import PLUGIN
from hearth_api.testing.value_rule import CONVERTER, PREDICATE, TRANSFORMATION
from hearth_api.transformation import Predicate, Transformation

CONTRACT = 1
"""The number of the contract that the rules are; it grows when a plugin that passed may pass no more."""

_RULES = (
    (SourceConnector, SOURCE),
    (SinkConnector, SINK),
    (Transformation, TRANSFORMATION),
    (Predicate, PREDICATE),
    (Converter, CONVERTER),
)


@dataclass(frozen=True)
class Verdict:
    """What came of one rule; `fault` is empty where the plugin keeps it, else says how it does not."""

    rule: str
    says: str
    fault: str = ""


def acceptance_tests(
    plugin: type,
    config: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
    *,
    records: Sequence[ConnectRecord] = (),
    values: Sequence[tuple[Any, Any]] = (),
    count: int = 2,
    seconds: float = 10.0,
    read_back: Callable[[Mapping[str, str]], Iterable[Any]] | None = None,
) -> type[unittest.TestCase]:
    """Return the standard suite for a plugin, a test for each rule: `OrdersTest = acceptance_tests(Orders, {...})`.

    pytest and unittest find it in a test file. `config` are settings that work, or a function that makes the world
    they need and returns them, called for each test; without it only what needs no settings is tried. A source is
    asked for `count` records, which have to be in its world; a sink is given `records`, or a few texts, and
    `read_back` returns, for a configuration, the values that are in the other system then. Transformations and
    predicates are given `records`, a converter `values`, pairs of a schema (or None) and a value. No call may take
    longer than `seconds`.
    """
    sample = Sample(plugin, config, records, values, count, seconds, read_back)
    methods = {f"test_{rule.name}": _method(rule, sample) for rule in rules_for(plugin) if rule.is_tried_with(sample)}
    return type(f"{plugin.__name__}AcceptanceTest", (unittest.TestCase,), methods)


def check_plugin(sample: Sample) -> Iterator[Verdict]:
    """Try a plugin and yield what came of each rule; whatever it raises is a fault of it."""
    for rule in rules_for(sample.plugin):
        if not rule.is_tried_with(sample):
            continue
        try:
            rule.check(sample)
        except Violation as error:
            yield Verdict(rule.name, rule.says, str(error))
        except Exception as error:  # noqa: BLE001 - it is somebody's plugin
            yield Verdict(rule.name, rule.says, "".join(traceback.format_exception_only(type(error), error)).strip())
        else:
            yield Verdict(rule.name, rule.says)


def rules_for(plugin: type) -> list[AcceptanceRule]:
    """Return the rules for plugins of a class: those of its type, and for a type without any those of all plugins."""
    return next((rules.all for kind, rules in _RULES if issubclass(plugin, kind)), PLUGIN.all)


def _method(rule: AcceptanceRule, sample: Sample) -> Callable[[unittest.TestCase], None]:
    def test(_: unittest.TestCase) -> None:
        rule.check(sample)

    test.__doc__ = rule.says
    return test
