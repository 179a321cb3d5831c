"""The README tells the truth: its commands, options, keys, files and its connector exist."""

from __future__ import annotations

import importlib
import re
import shlex
import types
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from hearth.cli.main import COMMANDS, hearth
from hearth.config import (
    ConnectorConfig,
    DistributedConfig,
    SinkConnectorConfig,
    SourceConnectorConfig,
    StandaloneConfig,
)
from hearth.config.tls_key import ServerTlsConfig
from hearth.config.worker_configuration import CHOICE
from hearth.datasource.option import DataSourceSettings
from hearth.discovery import PluginType
from hearth.herder.validation.override import AllowlistConfig
from hearth.kafka.client.key import RULES
from hearth.rest.listener import ADMIN_KEY, KEY
from hearth_api.testing import MemorySourceTaskContext

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS: list[tuple[str, str]] = re.findall(r"^```(\w*)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


def block(language: str, words: str) -> str:
    """Return the code block of that language that holds the words."""
    return next(text for kind, text in BLOCKS if kind == language and words in text)


def commands() -> Iterator[list[str]]:
    """Yield the `hearth` command lines of all blocks, without their comments."""
    for _, text in BLOCKS:
        for line in text.splitlines():
            if line.startswith("hearth "):
                yield shlex.split(line, comments=True)[1:]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_commands_and_their_options_exist(words: list[str]) -> None:
    """Each command line resolves to a command that has the options it uses."""
    command: click.Command = hearth
    context = click.Context(hearth)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None
        command = found
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= options


def test_every_command_is_told() -> None:
    """A command that the README does not know is a command nobody finds."""
    assert {words[0] for words in commands()} | {"quickstart"} == set(COMMANDS)


def test_options_of_the_quickstart_are_told() -> None:
    """All of its options are in the text."""
    from hearth.cli.quickstart_command import quickstart

    for parameter in quickstart.params:
        assert f"`{parameter.opts[0]}`" in README or f"quickstart {parameter.opts[0]}`" in README


SPARKS = {
    "spark.master",
    "spark.authenticate",
    "spark.authenticate.secret",
    "spark.cores.max",
    "spark.driver.host",
    "spark.driver.port",
    "spark.executor.cores",
    "spark.executor.instances",
    "spark.network.crypto.enabled",
    "spark.pyspark.python",
    "spark.ui.enabled",
}
"""Keys of Spark 4 in its own documentation."""


def test_keys_exist() -> None:
    """Every name in Kafka's form of a key is one, of a worker, a connector, or a client."""
    known = {
        name
        for settings in (
            StandaloneConfig,
            DistributedConfig,
            AllowlistConfig,
            ConnectorConfig,
            SourceConnectorConfig,
            SinkConnectorConfig,
            DataSourceSettings,
        )
        for name in settings.definition().names
    }
    known |= {f"{place}.https.{name}" for place in (KEY, ADMIN_KEY) for name in ServerTlsConfig.definition().names}
    known |= {key for rules in RULES.values() for key in rules} | {"plugin.path", "listeners", CHOICE} | SPARKS
    found = set(re.findall(r"`([a-z]+(?:\.[a-z]+)+)`", README))
    files = {name for name in found if name.endswith((".properties", ".json", ".py", ".toml"))}
    assert found - files <= known


def test_files_and_folders_exist() -> None:
    """Paths of the checkout are where the README says."""
    paths = re.findall(r"`((?:host|plugins|plugin_path|tools|tests)/[\w./]*)`", README)
    assert len(paths) > 8
    for path in paths:
        assert (ROOT / path).exists() or "-0.1.0" in path, path


def test_refusals_are_worded_as_the_host_words_them() -> None:
    """Whoever searches the README for a message finds it."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "host").rglob("*.py"))
    table = README[README.index("## When something is refused") :]
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    assert len(rows) > 5
    for message in re.findall(r"`([^`]+)`", " ".join(rows)):
        words = message.split()
        runs = [" ".join(words[begin : begin + 2]) for begin in range(max(1, len(words) - 1))]
        assert any(run in sources for run in runs), message  # the rest of a message is names and values


def test_connector_has_twenty_lines_and_counts() -> None:
    """The connector is as short as its heading says, and goes on where its offset says."""
    source = block("python", "CounterConnector")
    code = [line for line in source.splitlines() if line.strip()]
    assert len(code) == 20
    module = types.ModuleType("counter")
    exec(compile(source, "README.md", "exec"), module.__dict__)
    connector = module.CounterConnector()
    connector.start({"topic": "numbers"})
    (config,) = connector.task_configs(1)
    task = connector.task_class()()
    task.initialize(MemorySourceTaskContext(config, [({"counter": 1}, {"number": 41})]))
    task.start(config)
    (record,) = task.poll()
    assert (record.topic, record.value, record.source_offset) == ("numbers", 42, {"number": 42})


def test_every_entry_point_group_is_told_with_its_class() -> None:
    """The author of any kind of plugin finds the group, and the class to derive from, without reading the host."""
    text = (ROOT / "host" / "hearth_api" / "README.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(hearth\.\w+)` \| `([\w.]+)` \|", text, re.MULTILINE))
    assert set(told) == {type_.group for type_ in PluginType}
    for module, _, name in (each.rpartition(".") for each in told.values()):
        assert isinstance(getattr(importlib.import_module(module), name), type)
