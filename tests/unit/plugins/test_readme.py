"""The READMEs of the bundles tell the truth: their examples are valid, their keys exist with these defaults.

So do the guides, as to their examples of connectors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hearth.config import WorkerConfig
from hearth.discovery import Catalogue, discover
from hearth.foundation.properties import parse
from hearth.herder.plugin.directory import PluginDirectory
from hearth.herder.plugin.pool import StagePool
from hearth.herder.validation.connector_validator import ConnectorValidator
from hearth.herder.validation.result import complaint
from hearth.isolation.environment_store import EnvironmentStore
from hearth_api import ConfigDef
from hearth_api.java import config_def_to_json
from hearth_execution.load import load_class
from hearth_file.setting import LARGE_BATCH
from hearth_file.source import FileStreamSourceConnector
from hearth_json.converter import JsonConverter
from tests.page import BLOCKS
from tests.unit.herder.catalogue import WORKER, catalogue

ROOT = Path(__file__).parents[3]
READMES = {path.parent.name: path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("plugins/*/README.md"))}
EXAMPLES = [
    pytest.param(text, id=f"{bundle}-{number}")
    for bundle, readme in READMES.items()
    for number, text in enumerate(re.findall(r"^```properties\n(.*?)^```", readme, re.MULTILINE | re.DOTALL))
]
OF_GUIDES = [
    pytest.param(each.text, id=f"{Path(each.page).stem}-{number}")
    for number, each in enumerate(BLOCKS)
    if each.language == "properties" and "connector.class=FileStreamSource" in each.text
]
REST = {"name": "n", "connector.class": "FileStreamSource", "topic": "t"}
"""What an example leaves out because it is about something else."""
TRANSFORMS = ("org.apache.kafka.connect.transforms.", "io.confluent.connect.transforms.")
FILE_SOURCE = FileStreamSourceConnector.__module__ + ":FileStreamSourceConnector"


def real_plugins() -> Catalogue:
    """Return the plugins that are installed with the host, and the file source as if it were."""
    source = next(each for each in catalogue().plugins if each.reference.endswith(":Source"))
    return Catalogue([*discover([]).plugins, replace(source, reference=FILE_SOURCE)])


@pytest.fixture(scope="module")
def validator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConnectorValidator]:
    """Make a validator over the real plugins."""
    pool, known = StagePool(), real_plugins()
    environments = EnvironmentStore(tmp_path_factory.mktemp("environments"))
    yield ConnectorValidator(PluginDirectory(lambda: known, environments), WorkerConfig(WORKER), pool)
    pool.close()


@pytest.mark.parametrize("text", [*EXAMPLES, *OF_GUIDES])
def test_an_example_is_a_valid_configuration(validator: ConnectorValidator, text: str) -> None:
    """A connector accepts the example."""
    assert complaint(validator.validate({**REST, **parse(text.encode())})) is None


def test_every_block_of_settings_is_an_example() -> None:
    """None is left out above because it is fenced in another way."""
    fences = "".join(READMES.values()).count("```")
    assert fences == 2 * len(EXAMPLES) >= 6


@pytest.mark.parametrize(
    ("bundle", "definition"), [("file", FileStreamSourceConnector().config()), ("json", JsonConverter().config())]
)
def test_a_table_of_keys_has_their_defaults(bundle: str, definition: ConfigDef) -> None:
    """All keys in their order, but for the one that the host itself sets for a converter."""
    rows = re.findall(r"^\| `([a-z.]+)` \| `?([^|`]+)`? \|", READMES[bundle], re.MULTILINE)
    keys = [key for key in config_def_to_json(definition) if key["name"] != "converter.type"]
    assert rows == [(key["name"], shown_default(key)) for key in keys]


def shown_default(key: dict[str, Any]) -> str:
    """Return a default as the tables have it."""
    if key["required"]:
        return "required"
    return "none" if key["default_value"] is None else str(key["default_value"])


def test_the_batch_size_is_documented() -> None:
    """The key's documentation and the README name the figure that the code uses."""
    (key,) = [
        each for each in config_def_to_json(FileStreamSourceConnector().config()) if each["name"] == "batch.size"
    ]
    assert f"up to {LARGE_BATCH:,} " in key["documentation"]
    assert f"up to {LARGE_BATCH:,}," in READMES["file"]


@pytest.mark.parametrize("package", TRANSFORMS)
def test_the_table_of_transformations_has_their_classes_and_keys(package: str) -> None:
    """Every class that the bundle declares, with every key it has."""
    documented: dict[str, set[str]] = {}
    table = READMES["transforms"].partition(f"| class `{package}…` |")[2].partition("\n\n")[0]
    for names, keys in re.findall(r"^\| (`[^|]*?`) \| [^|]* \|([^|]*)\|$", table, re.MULTILINE):
        first, *others = re.findall(r"`([^`]+)`", names)
        for name in (first, *(first.partition("$")[0] + other for other in others)):
            documented[package + name] = set(re.findall(r"`([a-z.]+)`", re.sub(r"``.*?``", "", keys)))
    declared = {
        each.class_name: set(load_class(each.reference)().config().names)
        for each in real_plugins().plugins
        if each.class_name.startswith(package)
    }
    assert documented == declared
