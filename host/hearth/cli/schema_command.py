"""`hearth schemas`: which schemas a source connector would register, and whether the registry would accept them."""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from hearth.cli.exit_code import ExitCode
from hearth.cli.json_option import json_option
from hearth.cli.worker_file import plugin_path
from hearth.cli.worker_option import placeholder_worker, read_any_worker
from hearth.client.connector_file import ConnectorFile, read_connector_file
from hearth.config import WorkerConfig
from hearth.discovery import PluginScanner
from hearth.discovery.trust import trust_of
from hearth.foundation.terminal import printable
from hearth.herder.planner import Planner
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.source_sample import first_task_plan, sampled
from hearth.herder.worker_choice import GovernedVariables
from hearth.isolation.environment_store import user_environments
from hearth.staging.plugin_plan import PluginPlan
from hearth_api import ConfigError, ConnectError, RegisteringConverter, Schema, SchemaOutlook
from hearth_api.batch import Batch
from hearth_execution.plugins import Plugins

_SIDES = ("key", "value")
_SETTLED_SECONDS = 1.0
"""Sampling ends after this time without a new schema."""

_worker_config = click.option(
    "--worker-config",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The worker's properties: plugin.path, and the converters if the connector has none.",
)
_wait = click.option(
    "--wait",
    type=click.FloatRange(0.1, 3600),
    default=10.0,
    show_default=True,
    help="Seconds to wait for the first record.",
)
_connector = click.argument("connector", metavar="CONNECTOR.json", type=click.Path(path_type=Path))


@dataclass(frozen=True)
class _Finding:
    """The schema that keys or values of a topic would register."""

    topic: str
    side: str
    outlook: SchemaOutlook

    @property
    def verdict(self) -> str:
        """Return what the registry would do."""
        if self.outlook.version is not None:
            return f"is version {self.outlook.version}"
        if self.outlook.against:
            return "is rejected"
        return "is new" if self.outlook.latest_version is None else "is compatible"


@click.group()
def schemas() -> None:
    """Show which schemas a source connector would register, before it runs.

    Starts the connector's first task without Kafka, polls until no new schema has appeared for a second, applies the
    transformations, and asks the registry about the schemas. Nothing is registered and no offset is committed, but
    polling may have side effects on the external system.
    """


@schemas.command()
@_connector
@_worker_config
@_wait
@json_option
def check(connector: Path, worker_config: Path | None, wait: float, as_json: bool) -> int:
    """Ask the registry whether it would accept the schemas; exit code 1 if not.

    CONNECTOR.json has the REST API's format; Java properties work, too.
    """
    findings = list(_findings(read_connector_file(connector), worker_config, wait))
    if as_json:
        rows = [{"topic": each.topic, "side": each.side, **asdict(each.outlook)} for each in findings]
        click.echo(json.dumps(rows, indent=2))
    else:
        for finding in findings:
            _print(finding)
    return ExitCode.RUNTIME if any(each.outlook.against for each in findings) else ExitCode.OK


@schemas.command()
@_connector
@_worker_config
@_wait
def diff(connector: Path, worker_config: Path | None, wait: float) -> None:
    """Show how the schemas differ from the latest versions of their subjects."""
    for finding in _findings(read_connector_file(connector), worker_config, wait):
        outlook = finding.outlook
        before, after = (_lines(text) for text in (outlook.latest, outlook.text))
        version = "nothing" if outlook.latest_version is None else f"version {outlook.latest_version}"
        names = f"{outlook.subject} {version}", f"{outlook.subject} {finding.topic} {finding.side}"
        lines = list(difflib.unified_diff(before, after, *names, lineterm=""))
        click.echo(printable("\n".join(lines) or f"{outlook.subject}: no difference to {version}"))


def _print(finding: _Finding) -> None:
    outlook = finding.outlook
    latest = "no version yet" if outlook.latest_version is None else f"latest version {outlook.latest_version}"
    facts = f"{outlook.schema_type}, {latest}, compatibility {outlook.compatibility}"
    use = (
        "" if outlook.is_registered_by_use else "; auto.register.schemas is false, so it is looked up, not registered"
    )
    click.echo(printable(f"{finding.topic} {finding.side}: {finding.verdict} for {outlook.subject} ({facts}{use})"))
    for reason in outlook.against:
        click.echo(printable(f"  {reason}"))
    for warning in outlook.warnings:
        click.echo(printable(f"  some consumers may not be able to read it: {warning}"))


def _lines(text: str | None) -> list[str]:
    """Split a schema's text into lines: JSON with one member per line, any other text unchanged."""
    if text is None:
        return []
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).splitlines()
    except ValueError:
        return text.splitlines()


# Schemas of a sample ---------------------------------------------------------------------------------------------


def _findings(file: ConnectorFile, worker_config: Path | None, wait: float) -> Iterator[_Finding]:
    """Yield what each topic would register: each schema of a key or value once."""
    worker = placeholder_worker({}) if worker_config is None else read_any_worker(worker_config)
    trust = trust_of(worker.originals)
    scanner = PluginScanner(plugin_path(worker.plugin_path), admit=trust.admit)
    directory = PluginDirectory(scanner.look, user_environments(trust))
    with closing(GovernedVariables(worker, directory)) as variables:
        config = variables.of(file.config).resolve(file.config).config
        plan = _source_plan(worker, directory, {**config, "name": file.name})
    plugins, converters = _converters(plan)
    with closing(plugins):
        seen: set[tuple[str, str, Schema | None]] = set()
        until = time.monotonic() + wait
        for batch in sampled(plan, wait, _SETTLED_SECONDS):
            for side in converters:
                if (kind := _kind(batch, side)) is not None and kind not in seen:
                    seen.add(kind)
                    yield _Finding(kind[0], side, converters[side].outlook(kind[0], kind[2]))
                    until = time.monotonic() + _SETTLED_SECONDS
            if time.monotonic() > until:
                break
        if not seen:
            raise ConnectError(f"{file.name} returned no records within {wait:g} s", hint="wait longer with --wait")


def _kind(batch: Batch, side: str) -> tuple[str, str, Schema | None] | None:
    """Return topic, side and schema of a batch's keys or values; None if all of them are null."""
    column = batch.column(side)
    if column is None or column.null_count == len(column):
        return None
    return str(batch.topic), side, batch.key_schema if side == "key" else batch.value_schema


def _converters(plan: PluginPlan) -> tuple[Plugins, dict[str, RegisteringConverter]]:
    """Return the converters that register schemas, by side; raises ConfigError if there is none."""
    specs = [plan.plugin(f"{side}.converter") for side in _SIDES]
    plugins = Plugins("source")
    found: dict[str, RegisteringConverter] = {}
    for side, spec in zip(_SIDES, specs):
        if spec.environment is None:
            plugins.load(spec.role, spec.class_name, spec.reference, spec.config)
            if isinstance(converter := plugins[spec.role], RegisteringConverter):
                found[side] = converter
    if not found:
        plugins.close()
        names = " and ".join(spec.class_name for spec in specs)
        raise ConfigError(
            f"{names} do not register schemas", hint="set key.converter or value.converter to one that does"
        )
    return plugins, found


def _source_plan(worker: WorkerConfig, directory: PluginDirectory, config: dict[str, str]) -> PluginPlan:
    """Return the plan of a source connector's first task."""
    connector = directory.connector(config)
    if connector.type.value != "source":
        raise ConfigError(f"{connector.class_name} is a sink and registers no schemas", hint="use a source connector")
    return first_task_plan(Planner(directory, worker), connector, config)
