"""The README and the guides are correct: their commands, options, keys, files, links and messages exist."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from hearth.cli.exit_code import ExitCode
from hearth.cli.main import COMMANDS, hearth
from hearth.config import (
    ConnectorConfig,
    DistributedConfig,
    SinkConnectorConfig,
    SourceConnectorConfig,
    StandaloneConfig,
)
from hearth.config.tls_key import ServerTlsConfig
from hearth.config.worker_configuration import CHOICE, WorkerConfiguration
from hearth.datasource.option import DataSourceSettings
from hearth.discovery import PluginType
from hearth.foundation.properties import parse
from hearth.herder.validation.override import AllowlistConfig
from hearth.kafka.client.key import RULES
from hearth.rest.listener import ADMIN_KEY, KEY
from hearth_api.java import config_def_to_json
from hearth_api.testing import MemorySourceTaskContext
from hearth_delta.delta_setting import DeltaSinkConfig
from hearth_jdbc.sink_setting import JdbcSinkConfig
from hearth_jdbc.source_setting import JdbcSourceConfig
from hearth_stage.level import LEVELS
from hearth_stage.preload import PRELOADS, agreed
from hearth_storage.sink.azure_setting import AzureBlobSinkConfig, DataLakeSinkConfig
from hearth_storage.sink.google_setting import GcsSinkConfig
from hearth_storage.sink.hdfs_setting import HdfsSinkConfig
from hearth_storage.sink.local_setting import FilesSinkConfig
from hearth_storage.sink.s3_setting import S3SinkConfig
from hearth_storage.source.source_setting import WITHOUT_EFFECT as SOURCE_WITHOUT_EFFECT
from hearth_storage.source.store_setting import (
    AzureBlobSourceConfig,
    DataLakeSourceConfig,
    FilesSourceConfig,
    GcsSourceConfig,
    S3SourceConfig,
)
from tests.bench.__main__ import main as bench
from tests.page import (
    BLOCKS,
    GUIDE,
    PAGES,
    README,
    ROOT,
    TEXT,
    anchors,
    block,
    commands,
    first_cells,
    links,
    request,
    rows,
)
from tests.unit.rest.client import serve

READMES = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("[hp]*/*/README.md")]
"""The packages' own pages, to which the guides link."""
LENGTHS = {README: 200}
GUIDE_LENGTH = 300
RUN_BY = {
    ("python", "CounterConnector"): "tests/integration/test_readme_connector.py",
    ("python", '"FileStreamSource"'): "tests/integration/datasource/test_write.py",
    ("python", '"JdbcSource"'): "tests/integration/datasource/test_jdbc_table.py",
    ("python", "MariaDbConnector"): "tests/crash/test_change_stream.py",
    ("python", "self.context.metrics()"): "tests/unit/hearth_api/test_plugin_metrics.py",
    ("python", "hearth.spark.install"): "tests/integration/spark/test_installation.py",
    ("toml", "hearth.source_connectors"): "tests/integration/test_readme_connector.py",
    ("toml", PRELOADS): "tests/unit/test_guide.py",
    ("sql", "USING hearth"): "tests/integration/datasource/test_write.py",
    ("yaml", "KafkaConnector"): "tests/integration/test_guide.py",
    ("json", "a line"): "tests/integration/test_guide.py",
    ("json", "another line"): "tests/integration/test_guide.py",
    ("json", "issuer"): "tests/unit/discovery/test_trusted_identity.py",
    ("text", "a round trip"): "tests/integration/cli/test_quickstart_command.py",
    ("text", "hearth: ruff"): "tests/unit/test_guide.py",
    ("text", "task-0]"): "tests/unit/test_guide.py",
}
"""The test that runs the blocks of a language with these words, or compares them with the output."""
STORY = (f"{GUIDE}/write-a-plugin.md", f"{GUIDE}/package.md")
"""Pages whose commands, of any program, an integration test runs in order."""
OWN_PREFIXES = (
    "autoscaling.", "capacity.", "errors.task.restart.", "hearth.", "metrics.names", "plugin.", "rest.mask.",
    "task.isolation", "task.link.", CHOICE,
)  # fmt: skip
OF_KAFKA = {"plugin.path", "plugin.discovery"}
"""Prefixes of keys that Kafka Connect also has."""
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
KEY_FORM = re.compile(r"`([a-z]+(?:\.[a-z]+)+)`")
TEXTS = "org.apache.kafka.connect.storage.StringConverter"
WORKER = {
    "bootstrap.servers": "localhost:9092",
    "key.converter": TEXTS,
    "value.converter": TEXTS,
    "offset.storage.file.filename": "offsets",
}
"""A placeholder in excerpts of a worker's file."""


SETTINGS = (
    StandaloneConfig,
    DistributedConfig,
    AllowlistConfig,
    ConnectorConfig,
    SourceConnectorConfig,
    SinkConnectorConfig,
    DataSourceSettings,
)

BUNDLES = (
    JdbcSourceConfig, JdbcSinkConfig, S3SinkConfig, GcsSinkConfig, AzureBlobSinkConfig, DataLakeSinkConfig,
    HdfsSinkConfig, FilesSinkConfig, S3SourceConfig, GcsSourceConfig, AzureBlobSourceConfig, DataLakeSourceConfig,
    FilesSourceConfig, DeltaSinkConfig,
)  # fmt: skip
"""Settings of connectors that are no part of the host."""


def known_keys() -> set[str]:
    """Return the keys of workers, connectors, clients and data sources."""
    known = {name for settings in SETTINGS for name in settings.definition().names}
    known |= {name for settings in BUNDLES for name in settings.definition().names} | {*SOURCE_WITHOUT_EFFECT}
    known |= {f"{place}.https.{name}" for place in (KEY, ADMIN_KEY) for name in ServerTlsConfig.definition().names}
    return known | {key for rules in RULES.values() for key in rules} | {"plugin.path", "listeners", CHOICE} | SPARKS


def key_rows() -> Iterator[str]:
    """Yield the keys and options that tables describe."""
    for text in PAGES.values():
        for head in ("key", "option", "setting"):
            for cell in first_cells(text, head):
                yield from re.findall(r"`([^`]+)`", cell)


def resolve(words: list[str]) -> str:
    """Return the path of the command in a `hearth` line; fail for an unknown option."""
    command: click.Command = hearth
    path, words = [], words[1:]
    while isinstance(command, click.Group):
        path.append(words.pop(0))
        found = command.get_command(click.Context(hearth), path[-1])
        assert found is not None, path
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known
    return " ".join(path)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_short(page: str) -> None:
    """The README is read in five minutes, and a guide next to the work."""
    assert len(PAGES[page].splitlines()) <= LENGTHS.get(page, GUIDE_LENGTH)


@pytest.mark.parametrize("page", [*PAGES, *READMES])
def test_links_resolve_to_files_and_headings(page: str) -> None:
    """Within the checkout; external addresses are not fetched."""
    for target in links((ROOT / page).read_text("utf-8")):
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent / name if name else ROOT / page
        if not target.startswith("https://"):
            assert path.exists(), target
            assert not anchor or anchor in anchors(path.read_text("utf-8")), target


def test_the_readme_links_all_guides() -> None:
    """Every guide is reachable from the README."""
    assert {target.partition("#")[0] for target in links(PAGES[README])} >= PAGES.keys() - {README}


def test_each_block_has_a_test() -> None:
    """Commands and properties have one test for all, others the one in `RUN_BY`; drawings have none."""
    used = set()
    for each in BLOCKS:
        if each.language not in ("sh", "properties") and "─" not in each.text:
            (found,) = [key for key in RUN_BY if key[0] == each.language and key[1] in each.text]
            used.add(found)
    assert used == RUN_BY.keys()
    assert all((ROOT / test).exists() for test in RUN_BY.values())
    assert TEXT.count("```") == 2 * len(BLOCKS)


@pytest.mark.parametrize(("page", "line"), [(page, line) for page in PAGES for line in dict.fromkeys(commands(page))])
def test_command_lines_are_valid(page: str, line: str) -> None:
    """Programs, subcommands and options exist."""
    words = [word for word in shlex.split(line) if not word.startswith("PYTHON=")]
    if words[0] == "hearth":
        resolve(words)
    elif words[0] == "tools/quickstart":
        resolve(["hearth", "quickstart", *words[1:]])
    elif words[0] == "tools/bench":
        bench.make_context("bench", words[1:])
    elif words[0] == "curl":
        assert request(line).path.startswith("/")
    else:
        assert words[0] == "tools/test" or page in STORY


def test_the_api_has_the_requests_of_the_pages(tmp_path: Path) -> None:
    """Method, path, parameters and the presence of a body match the API's own document."""
    ((described, _),) = ((client.call("GET", "/openapi.json").json, client) for client in serve(tmp_path))
    lines = {line for line in commands(*PAGES) if line.startswith("curl ")}
    assert len(lines) > 20
    for line in lines:
        assert request(line).path == "/openapi.json" or takes(described, line), line


def takes(described: dict[str, Any], line: str) -> bool:
    """Return whether an API accepts the request of a line."""
    sent = request(line)
    (operation,) = (
        methods[sent.method.lower()]
        for path, methods in described["paths"].items()
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), sent.path) and sent.method.lower() in methods
    )
    media_types = operation.get("requestBody", {}).get("content", {})
    if "application/json" in media_types:
        assert sent.media_type == "application/json"
        assert isinstance(json.loads(sent.body or ""), dict)
    known = {each["name"] for each in operation.get("parameters", ())}
    return sent.parameters.keys() <= known and bool(sent.body) == bool(media_types)


def test_every_command_is_documented() -> None:
    """Every command is on a page."""
    documented = {resolve(shlex.split(line)) for line in commands(*PAGES) if line.startswith("hearth ")}
    documented |= {" ".join(words) for words in re.findall(r"`hearth ([a-z]+) ([a-z]+)\b", TEXT)}
    known = set()
    for name in COMMANDS:
        command = hearth.get_command(click.Context(hearth), name)
        known |= {f"{name} {each}" for each in command.commands} if isinstance(command, click.Group) else {name}
    assert known - documented == set()


def test_options_of_the_quickstart_are_documented() -> None:
    """Its table has all of them."""
    command = hearth.get_command(click.Context(hearth), "quickstart")
    assert command is not None
    assert sorted(first_cells(PAGES[f"{GUIDE}/start.md"], "option")) == sorted(
        f"`{each.opts[0]}`" for each in command.params
    )


def test_exit_codes_are_documented() -> None:
    """With their numbers."""
    assert first_cells(PAGES[f"{GUIDE}/start.md"], "exit code") == [str(int(code)) for code in ExitCode]


def test_keys_exist() -> None:
    """A name in the form of a Kafka key is a worker's, connector's or client's key, or a module or group of Hearth."""
    known = known_keys() | {type_.group for type_ in PluginType} | {PRELOADS}
    found = {re.sub(r"^(producer|consumer|admin)\.override\.", "", name) for name in KEY_FORM.findall(TEXT)} - known
    for name in found:
        is_file = name.endswith((".properties", ".json", ".jsonl", ".py", ".toml", ".conf", ".txt"))
        assert is_file or (name.startswith("hearth.") and importlib.util.find_spec(name) is not None), name


def test_each_key_is_explained_in_one_place() -> None:
    """A reader finds everything about a key in one place."""
    assert {name: count for name, count in Counter(key_rows()).items() if count > 1} == {}


def documented_defaults() -> Iterator[tuple[str, str]]:
    """Yield each key of a table with the default in its column or in the text of its row."""
    for text in PAGES.values():
        for head in ("key", "option"):
            for row in rows(text, head):
                given = re.fullmatch(r"`([^`]+)`", row.get("default", ""))
                given = given or re.search(r"[Dd]efault:? `([^`]+)`", " ".join(row.values()))
                if given and re.fullmatch(r"`[^`]+`", row[head]):
                    yield row[head].strip("`"), given[1]


def test_defaults_match_the_code() -> None:
    """If a table has a default; Spark's keys are excluded."""
    defaults = {
        key["name"]: str(key["default_value"])
        for settings in (*SETTINGS, FilesSourceConfig)
        for key in config_def_to_json(settings.definition())
    }
    documented = {name: default for name, default in documented_defaults() if not name.startswith("spark.")}
    assert len(documented) > 24
    assert documented == {name: defaults[name] for name in documented}


def test_all_keys_of_hearth_are_explained() -> None:
    """Kafka Connect's documentation lacks them."""
    own = {key for key in known_keys() if key.startswith(OWN_PREFIXES)}
    assert own - OF_KAFKA - set(key_rows()) == set()


@pytest.mark.parametrize("text", [each.text for each in BLOCKS if each.language == "properties"])
def test_properties_are_accepted(text: str) -> None:
    """As a worker's, as a worker configuration, or as log levels; the tests of plugins validate connectors' keys."""
    found = parse(text.encode("latin-1"))
    if "description" in found:
        WorkerConfiguration("texts", found.pop("description"), found).refuse()
    elif "root" in found:
        assert set(found.values()) <= set(LEVELS)
    elif "connector.class" not in found:
        (DistributedConfig if "group.id" in found else StandaloneConfig)({**WORKER, **found})
        clients = ("producer.", "consumer.", "config.providers.", "value.converter.", "openlineage.")
        assert {key for key in found if not key.startswith(clients)} <= known_keys()


def test_files_and_folders_exist() -> None:
    """Paths of the checkout are correct."""
    paths = re.findall(r"`((?:host|plugins|plugin_path|tools|tests)/[\w./]*)`", TEXT)
    assert len(paths) > 20
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_quoted_messages_match_the_code() -> None:
    """A search of the guides for a message finds it."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "host").rglob("*.py"))
    cells = [cell for cell in first_cells(PAGES[f"{GUIDE}/log.md"], "message") if cell.startswith("`")]
    assert len(cells) > 25
    for message in re.findall(r"`([^`]+)`", " ".join(cells)):
        words = message.split()
        runs = [" ".join(words[begin : begin + 2]) for begin in range(max(1, len(words) - 1))]
        assert any(run in sources for run in runs), message  # the rest of a message are names and values


def test_log_lines_match_the_log_format() -> None:
    """Time, level, context, text, logger."""
    form = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\+0000\] [A-Z]+ \[[\w-]+\|[\w-]+\] .+ \([\w.]+\)"
    assert all(re.fullmatch(form, line) for line in block("text", "task-0]").splitlines())


def test_the_readme_shows_what_the_test_script_prints() -> None:
    """Its steps in order, where every test passes."""
    passing, _, _ = (ROOT / "tools" / "test").read_text("utf-8").partition("&& exit\n")
    steps = re.findall(r'^say "(.*?)"', passing, re.MULTILINE)
    assert block("text", "hearth: ruff").splitlines() == [f"hearth: {each}" for each in steps]


def test_the_worst_row_of_the_benchmark_comes_first() -> None:
    """Rows about varied data are sorted by ratio, and the README names the worst."""
    ratios = [row["ratio"] for row in rows(PAGES[f"{GUIDE}/benchmark.md"], "row")]
    assert len(ratios) > 40
    assert ratios == sorted(ratios, key=float)
    assert f"{ratios[0]} times" in PAGES[README]


def test_figures_of_the_readme_are_in_the_benchmarks() -> None:
    """All six pairs."""
    figures = [row[side].removesuffix(" s") for row in rows(PAGES[README], "case") for side in ("Java", "Hearth")]
    assert len(figures) == 12
    for figure in figures:
        assert figure in PAGES[f"{GUIDE}/benchmark.md"], figure


def test_connector_has_twenty_lines_and_counts() -> None:
    """The connector has the length that its heading states, and continues from its offset."""
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


def test_a_dataframe_has_five_lines() -> None:
    """As its heading states."""
    assert len([line for line in block("python", 'format("hearth")', README).splitlines() if line]) == 5


def test_a_preload_is_an_entry_point_that_stages_read(tmp_path: Path) -> None:
    """In the form that a wheel has."""
    text = block("toml", PRELOADS).replace(f'project.entry-points."{PRELOADS}"', PRELOADS).replace('"', "")
    (tmp_path / "orders-1.0.dist-info").mkdir()
    (tmp_path / "orders-1.0.dist-info" / "entry_points.txt").write_text(text)
    assert agreed([str(tmp_path)]) == ["vendor_client.protocol"]


def test_every_entry_point_group_is_documented_with_its_class() -> None:
    """Authors of every kind of plugin find the group and the base class without reading the host."""
    text = (ROOT / "host" / "hearth_api" / "README.md").read_text(encoding="utf-8")
    documented = dict(re.findall(r"^\| `(hearth\.\w+)` \| `([\w.]+)` \|", text, re.MULTILINE))
    assert set(documented) == {type_.group for type_ in PluginType}
    for module, _, name in (each.rpartition(".") for each in documented.values()):
        assert isinstance(getattr(importlib.import_module(module), name), type)
