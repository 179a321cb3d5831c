"""Makes the plans of a connector's tasks from options, on the driver, as a host does but without Kafka."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from hearth.config import ConnectorConfig, PluginConfig
from hearth.config.connector_key import NAME
from hearth.config.variable import Variables
from hearth.datasource.option import Options
from hearth.datasource.option_name import in_own_case
from hearth.discovery import Plugin, PluginScanner, PluginType, default_plugin_path, split_plugin_path
from hearth.discovery.trust import trust_of
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.plugin.provider_stage import PROVIDERS, open_providers
from hearth.herder.plugin_planner import PluginPlanner
from hearth.herder.sharing_history import SharingHistory
from hearth.herder.validation.plugin_definition import Describer
from hearth.isolation.environment_store import user_environments
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConfigError

_CONVERTERS = {
    "key.converter": "org.apache.kafka.connect.json.JsonConverter",
    "key.converter.schemas.enable": "false",
    "value.converter": "org.apache.kafka.connect.json.JsonConverter",
    "value.converter.schemas.enable": "false",
}
"""Default converters, in place of a worker's."""
_MOST_KNOWN = 16
_KNOWN_SECONDS = 60.0
"""How long a plan is cached: a query needs one for each micro-batch."""
_INSTEAD = {
    PluginType.SINK: "a sink: write to it with df.write or df.writeStream",
    PluginType.SOURCE: "a source: read it with spark.read or spark.readStream",
}


class WrongDirection(ConfigError):
    """A write to a source, or a read from a sink."""

    code = "datasource.direction"


@dataclass(frozen=True)
class Planned:
    """The plan for options: the connector, its configuration with names in their declared case, and its tasks.

    ``keys`` are the names of the keys that the connector declares. Tasks have no Kafka clients.
    """

    connector: Plugin
    config: Mapping[str, str] = field(repr=False)
    plans: tuple[PluginPlan, ...]
    keys: tuple[str, ...]


def planned(options: Options, *types: PluginType) -> Planned:
    """Return the plan for options of a connector of these types, cached for a while unless its bundle changes.

    Starts the connector to get its task configurations, and stops it. Raises ConfigError for the first setting that
    the connector rejects.
    """
    key = tuple(sorted(options.settings.originals.items())), tuple(sorted(options.config.items())), types
    until, known = _known.get(key, (0.0, None))
    if known is None or time.monotonic() >= until or not _is_current(known.connector):
        known = _planned(options, types)
        _known[key] = time.monotonic() + _KNOWN_SECONDS, known
        while len(_known) > _MOST_KNOWN:
            _known.popitem(last=False)
    return known


_known: OrderedDict[Any, tuple[float, Planned]] = OrderedDict()


def _is_current(plugin: Plugin) -> bool:
    return plugin.bundle is None or plugin.bundle.is_current


def directory_of(options: Options) -> PluginDirectory:
    """Return the plugins of the plugin.path among the options, or of the default directory."""
    trust = trust_of(options.config)
    given = options.settings.plugin_path
    paths = [default_plugin_path()] if given is None else split_plugin_path(",".join(given))
    scanner = PluginScanner([path for path in paths if given is not None or path.is_dir()], admit=trust.admit)
    return PluginDirectory(scanner.look, user_environments(trust))


def _planned(options: Options, types: tuple[PluginType, ...]) -> Planned:
    directory = directory_of(options)
    connector = directory.connector(options.config)
    if connector.type not in types:
        raise WrongDirection(f"{connector.class_name} is {_INSTEAD[connector.type]}")
    definition_of = Describer(directory).definition
    named = in_own_case(options, directory, definition_of)
    with _resolved(named, directory) as config:
        config.setdefault(NAME, connector.class_name.rpartition(".")[2])
        parsed = ConnectorConfig(config)
        worker = PluginConfig({**_CONVERTERS, **config})
        version, tasks = _asked(connector, config, parsed.tasks_max, worker, directory)
        parsed.refuse_too_many(len(tasks))
        plan = PluginPlanner(directory, worker).plan(connector, version, parsed)
    plans = tuple(replace(plan, task=number, task_config=own) for number, own in enumerate(tasks))
    return Planned(connector, config, plans, tuple(definition_of(connector).keys))


@contextmanager
def _resolved(named: Mapping[str, str], directory: PluginDirectory) -> Iterator[dict[str, str]]:
    """Provide a configuration with its variables resolved by the config providers among the options."""
    own = {name: value for name, value in named.items() if name == PROVIDERS or name.startswith(f"{PROVIDERS}.")}
    with closing(Variables(open_providers(own, directory))) as variables:
        config = variables.resolve({name: value for name, value in named.items() if name not in own}).config
        yield dict(config)


def _asked(
    connector: Plugin, config: Mapping[str, str], most: int, worker: PluginConfig, directory: PluginDirectory
) -> tuple[str | None, list[dict[str, str]]]:
    """Return a connector's version and task configurations, after validating its configuration."""
    seconds = worker.call_seconds(config)
    environment = directory.environment(connector).confined(worker.confinement(config))
    with closing(StagePool()) as pool:
        validated = pool.ask(
            connector, environment, seconds, lambda stage, limit: stage.validate(connector, config, limit)
        )
        for value in validated.values or ():
            if value["errors"]:
                raise ConfigError("; ".join(value["errors"]), hint=f"set the option {value['name']}")
        instance = pool.take(connector, environment, seconds, SharingHistory())
        try:
            instance.start(config, SilentListener())
            tasks = instance.task_configs(most).configs
        finally:
            instance.end()
    return instance.version, tasks


class SilentListener:
    """Ignores a connector's notifications: it runs only until its task configurations are known."""

    def on_task_reconfiguration(self) -> None:
        """Ignore it: the next plan asks again."""

    def on_error(self, trace: str) -> None:
        """Ignore it: the call for the task configurations fails as well, or succeeds."""

    def on_loss(self) -> None:
        """Ignore it: the next call fails."""

    def read_offsets(self, partitions: list[dict[str, Any]]) -> list[dict[str, Any] | None]:
        """Return no offsets."""
        return [None] * len(partitions)
