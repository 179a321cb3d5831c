"""The standard suite: every rule for a plugin of its type, as test cases or as a list of results."""

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
"""The version of the contract; it increases when a plugin that passed may now fail."""

_RULES = (
    (SourceConnector, SOURCE),
    (SinkConnector, SINK),
    (Transformation, TRANSFORMATION),
    (Predicate, PREDICATE),
    (Converter, CONVERTER),
)


@dataclass(frozen=True)
class Verdict:
    """The result of one rule; `fault` is empty if the plugin keeps it, else it describes the violation."""

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

    pytest and unittest find it in a test file. `config` holds working settings, or is a function that prepares the
    external system and returns them, called for each test; without it only rules that need no settings are tested. A
    source must return `count` records, which its external system must contain; a sink receives `records`, or a few
    texts, and `read_back` returns, for a configuration, the values then in the external system. Transformations and
    predicates receive `records`, a converter `values`, pairs of a schema (or None) and a value. No call may take
    longer than `seconds`.
    """
    sample = Sample(plugin, config, records, values, count, seconds, read_back)
    methods = {f"test_{rule.name}": _method(rule, sample) for rule in rules_for(plugin) if rule.is_tried_with(sample)}
    return type(f"{plugin.__name__}AcceptanceTest", (unittest.TestCase,), methods)


def check_plugin(sample: Sample) -> Iterator[Verdict]:
    """Check a plugin and yield the result of each rule; any exception it raises is a fault."""
    for rule in rules_for(sample.plugin):
        if not rule.is_tried_with(sample):
            continue
        try:
            rule.check(sample)
        except Violation as error:
            yield Verdict(rule.name, rule.says, str(error))
        except Exception as error:  # noqa: BLE001 - a plugin may raise anything
            yield Verdict(rule.name, rule.says, "".join(traceback.format_exception_only(type(error), error)).strip())
        else:
            yield Verdict(rule.name, rule.says)


def rules_for(plugin: type) -> list[AcceptanceRule]:
    """Return the rules for a plugin class: those of its type, or those of all plugins if its type has none."""
    return next((rules.all for kind, rules in _RULES if issubclass(plugin, kind)), PLUGIN.all)


def _method(rule: AcceptanceRule, sample: Sample) -> Callable[[unittest.TestCase], None]:
    def test(_: unittest.TestCase) -> None:
        rule.check(sample)

    test.__doc__ = rule.says
    return test
