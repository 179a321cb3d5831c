"""Specifications of tasks for the tests of the runtime."""

from __future__ import annotations

from hearth.link.admission import LinkAddress
from hearth.runtime.spec import PluginSpec, TaskSpec


def plugin(
    role: str,
    name: str,
    environment: str | None = None,
    config: dict[str, str] | None = None,
    predicate: str | None = None,
    negate: bool = False,
) -> PluginSpec:
    """Return the specification of a plugin of ``tests/samples``."""
    return PluginSpec(
        role, f"sample.{name}", f"sample_plugins:{name}", "1.0", environment, config or {}, predicate, negate
    )


def task_spec(type_: str, *transformations: PluginSpec, home: str = "bundle", key: str = "Text") -> TaskSpec:
    """Return a task whose connector lives in the environment ``home``, with converters of the host."""
    converters = (
        plugin("key.converter", key),
        plugin("value.converter", "TextBatch"),
        plugin("header.converter", "TextHeader"),
    )
    return TaskSpec(
        connector="c",
        task=0,
        generation=1,
        type=type_,
        connector_class="sample.Connector",
        connector_version="1.0",
        config={},
        task_config={},
        worker={},
        plugins=(plugin("task", "Connector", home), *converters, *transformations),
        environments={},
        link=LinkAddress("127.0.0.1", 1, "token", "certificate"),
    )
