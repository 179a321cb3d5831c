"""Checks a worker's file and connectors without starting anything but their plugins' processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial

from hearth.cli.exit_code import ExitCode
from hearth.cli.worker_file import plugin_path
from hearth.client.connector_file import ConnectorFile
from hearth.config import WorkerConfig
from hearth.discovery import PluginScanner
from hearth.discovery.refusal import by_reason
from hearth.discovery.trust import trust_of
from hearth.foundation.terminal import printable
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.override import new_policy
from hearth.herder.worker_choice import GovernedVariables, find_converters, find_token_providers
from hearth.isolation.environment_store import user_environments
from hearth_api import ConnectError


def check_worker(worker: WorkerConfig, files: Sequence[ConnectorFile], say: Callable[[str], None]) -> int:
    """Check what a host needs before it meets Kafka and Spark: plugins, converters, logins, and connectors.

    Tells ``say`` each finding. Returns the exit code: 2 if the worker or a connector would be refused. Raises
    ConfigError if the worker would.
    """
    trust = trust_of(worker.originals)
    scanner = PluginScanner(plugin_path(worker.plugin_path), admit=trust.admit)
    directory = PluginDirectory(scanner.look, user_environments(trust))
    with ExitStack() as opened:
        find_converters(worker, directory)
        find_token_providers(worker, directory)
        variables = GovernedVariables(worker, directory)
        opened.callback(variables.close)
        policy = new_policy(worker, directory)
        opened.callback(policy.close)
        pool = StagePool()
        opened.callback(pool.close)
        validator = ConnectorValidator(directory, worker, pool, policy, variables)
        catalogue = scanner.look()
        for (reason, _), locations in by_reason((*catalogue.rejected, *catalogue.shadowed)).items():
            say(printable(f"warning: {', '.join(locations)}: {reason}"))
        say(f"the worker is valid, {len(catalogue.plugins)} plugins")
        checked = [_is_valid(validator, file, partial(_about, say, file)) for file in files]
    return ExitCode.OK if all(checked) else ExitCode.BAD_INPUT


def _is_valid(validator: ConnectorValidator, file: ConnectorFile, say: Callable[[str], None]) -> bool:
    """Return whether a connector is valid, after telling what is wrong with it."""
    try:
        result, warnings = validator.examine(file.config)
    except ConnectError as error:
        say(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""))
        return False
    for each in warnings:
        say(f"warning: {each.name}: {each.message}")
    for config in result["configs"]:
        for message in (config["value"] or {}).get("errors", ()):
            say(f"error: {config['value']['name']}: {message}")
    if not result["error_count"]:
        say("is valid")
    return not result["error_count"]


def _about(say: Callable[[str], None], file: ConnectorFile, text: str) -> None:
    say(printable(f"{file.path}: {text}"))
